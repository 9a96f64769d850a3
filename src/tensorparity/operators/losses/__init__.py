"""Losses: labels and predictions in, one number out, with the rounding it may have."""
