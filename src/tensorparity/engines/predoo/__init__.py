"""Predoo: the largest precision error of one operator, by search (Zhang et al., ISSTA 2021)."""
