"""Mutating networks: new parameter values for every layer, valid ones, or one that is not."""
