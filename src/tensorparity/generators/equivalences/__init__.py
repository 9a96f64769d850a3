"""Equivalences: two computations of one library that must agree. One rule per file, by name."""
