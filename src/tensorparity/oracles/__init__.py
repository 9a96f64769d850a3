"""Oracles: pure functions from outcomes to verdicts. They never run anything."""
