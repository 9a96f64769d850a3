"""Seed models and the data they are trained on."""
