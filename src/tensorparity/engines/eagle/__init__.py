"""EAGLE: two computations of one library that must agree."""
