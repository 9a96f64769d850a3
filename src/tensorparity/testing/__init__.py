"""Shipped for tests, ours and others': conformance suites, adapters that misbehave, planted faults."""
