"""Examining one model, step by step: ``examination`` puts the steps together."""

from __future__ import annotations

from .cases import model_of, one_layer_case
from .examination import Examination
from .instances import named_labels
from .setting import Examined, Rules

__all__ = [
    "Examination",
    "Examined",
    "Rules",
    "model_of",
    "named_labels",
    "one_layer_case",
]
