"""Searching inputs and weights: Audee's Algorithm 1 over populations that are run as one case."""
