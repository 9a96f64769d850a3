"""Optimizers: documented defaults, options and one step of each, in float64."""
