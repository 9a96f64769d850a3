"""Arguments that say what is added to the loss for a layer, and what its weights are held to, declared once for all."""

from __future__ import annotations

from dataclasses import replace

from ...core.jsontext import Json
from ..spec import LayerSpec, Parameter, Params

#: By name with Keras' own factor, or with factors that every dtype holds exactly.
REGULARIZERS: tuple[Json, ...] = (None, "l1", "l2", {"class_name": "L1L2", "config": {"l1": 0.03125, "l2": 0.125}})
CONSTRAINTS: tuple[Json, ...] = (
    None,
    "non_neg",
    "unit_norm",
    {"class_name": "MaxNorm", "config": {"max_value": 0.5, "axis": 0}},
    {"class_name": "MinMaxNorm", "config": {"min_value": 0.25, "max_value": 0.75, "rate": 0.5, "axis": 0}},
)


def governed(spec: LayerSpec, *, activity: bool = False, **weights: str) -> LayerSpec:
    """The layer with ``NAME_regularizer`` and ``NAME_constraint`` for each of its weights.

    Args:
        activity: it has ``activity_regularizer`` as well.
        weights: by what the arguments call it, the name of the weight inside of the layer.
    """
    penalties = [Parameter(f"{name}_regularizer", None, REGULARIZERS, rare=True) for name in weights]
    limits = [Parameter(f"{name}_constraint", None, CONSTRAINTS, rare=True) for name in weights]
    own = [Parameter("activity_regularizer", None, REGULARIZERS, rare=True)] if activity else []
    return replace(
        spec,
        parameters=(*spec.parameters, *penalties, *own, *limits),
        governed=weights,
        activity=_activity if activity else spec.activity,
    )


def _activity(params: Params) -> Json:
    return params["activity_regularizer"]
