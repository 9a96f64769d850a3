"""Layers: arguments, shapes, weights and the documented formula of each family."""
