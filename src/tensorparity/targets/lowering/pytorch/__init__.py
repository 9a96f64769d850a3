"""A LayerGraph as calls of torch's own functions: an implementation that owes nothing to Keras."""

from __future__ import annotations

from .graph import lower_to_torch

__all__ = ["lower_to_torch"]
