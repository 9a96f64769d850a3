"""Audee: mutated networks, then a search of inputs and weights on those that have not failed."""
