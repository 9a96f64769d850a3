"""Muffin: generated networks, one training step of each."""
