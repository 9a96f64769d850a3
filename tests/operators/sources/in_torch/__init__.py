"""Layers, losses and optimizers in torch's own functions, in float64: written from Keras' documentation."""
