"""Layers and losses in TensorFlow's own functions, in float64: written from Keras' documentation, without Keras."""
