"""All metrics by name, and cases of them: labels and predictions that fit, in two batches."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, ArrayArg, Case
from ...core.jsontext import Json
from ...core.procedure import Goal, Procedure
from ..functions import draws
from .confusion import CONFUSIONS
from .means import MEANS
from .overlaps import OVERLAPS
from .palettes import count_of, draw_numbers
from .spec import MetricSpec

METRICS: dict[str, MetricSpec] = {spec.name: spec for spec in (*MEANS, *CONFUSIONS, *OVERLAPS)}

PREFIX = "keras.metrics."
_CLASSES, _POSITIONS = 4, 3
#: Arguments of ``update_state``, in their order.
_NAMES = ("y_true", "y_pred", "sample_weight")


def metric_of(api: str) -> MetricSpec | None:
    """The metric a call names, if it names one."""
    return METRICS.get(api.removeprefix(PREFIX)) if api.startswith(PREFIX) else None


def draw_params(spec: MetricSpec, rng: np.random.Generator) -> dict[str, Json]:
    """Required parameters always, others every second time, with what they need."""
    return spec.fitting(draws.draw_params(spec.parameters, rng))


def metric_case(
    spec: MetricSpec,
    params: dict[str, Json],
    rng: np.random.Generator,
    *,
    weighted: bool,
    style: str = "normal",
    by_element: bool = False,
) -> Case:
    """One metric on labels and predictions of its kind, in one of its styles; along axis 1, positions come last.

    Args:
        by_element: every prediction has a weight of its own, of a metric that takes such.
    """
    samples = count_of(style)
    if params.get("axis") == 1:
        several = [_draw_operands(spec, params, rng, style) for _ in range(_POSITIONS)]
        drawn = [np.stack(parts, -1) for parts in zip(*several, strict=True)]
    else:
        drawn = _draw_operands(spec, params, rng, style)
    if weighted and spec.weights:
        each = not spec.labels or (by_element and spec.by_element)
        shape_of = drawn[-1].shape if each else drawn[-1].shape[:1]
        if params.get("axis") == 1 and (spec.weights == "whole" or params.get("ignore_class") is not None):
            shape_of = (samples, _POSITIONS)
        if spec.weights == "whole":
            drawn.append(np.asarray(rng.integers(0, 4, shape_of), dtype=np.int32))
        else:
            drawn.append(np.asarray(rng.uniform(0.1, 2.0, shape_of), dtype=np.float32))
    names = _NAMES if spec.labels else ("values", "sample_weight")
    inputs = dict(zip(names, drawn, strict=False))
    call = ApiCall(spec.api, tuple(ArrayArg(name) for name in inputs), params)
    return Case(call, Procedure(goal=Goal.CALL), inputs=inputs, seed=int(rng.integers(2**31)))


def _draw_operands(spec: MetricSpec, params: dict[str, Json], rng: np.random.Generator, style: str) -> list[Array]:
    samples = count_of(style)
    classes = rng.integers(0, _CLASSES, samples)
    logits = draw_numbers(style, (samples, _CLASSES), rng)
    labels, predictions = _kinds(spec, params)
    drawn = [_labels(labels, classes, rng)] if labels else []
    return [*drawn, _predictions(predictions, logits, classes, rng)]


def _kinds(spec: MetricSpec, params: dict[str, Json]) -> tuple[str, str]:
    """What labels and predictions are, where parameters say otherwise than the metric."""
    labels, predictions = spec.labels, spec.predictions
    if params.get("from_logits"):
        predictions = "logits"
    if params.get("from_sorted_ids"):
        predictions = "ranked"
    if "sparse_y_true" in params:
        labels = "indices" if params["sparse_y_true"] else "classes"
    if "sparse_y_pred" in params:
        predictions = "indices" if params["sparse_y_pred"] else "scores"
    return labels, predictions


def _labels(kind: str, classes: Array, rng: np.random.Generator) -> Array:
    shape = (len(classes), _CLASSES)
    if kind == "indices":
        return classes.astype(np.int32)
    if kind == "bits":
        return np.asarray(classes % 2, dtype=np.int32)
    shares = rng.random(shape) + 0.05
    found = {
        "classes": np.eye(_CLASSES)[classes],
        "binary": rng.integers(0, 2, shape),
        "grid": rng.integers(0, 3, shape),
        "distribution": shares / shares.sum(axis=1, keepdims=True),
        "positive": rng.gamma(2.0, 1.0, shape) + 0.1,
        "values": rng.normal(0.0, 2.0, shape),
    }
    return np.asarray(found[kind], dtype=np.float32)


def _predictions(kind: str, logits: Array, classes: Array, rng: np.random.Generator) -> Array:
    if kind == "indices":
        others = rng.integers(0, _CLASSES, len(classes))
        return np.where(rng.random(len(classes)) < 0.5, classes, others).astype(np.int32)
    if kind == "ranked":
        return np.argsort(-logits, axis=1).astype(np.int32)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    with np.errstate(over="ignore"):
        chances = 1.0 / (1.0 + np.exp(-logits))
    found = {
        "probabilities": powers / powers.sum(axis=1, keepdims=True),
        "chances": chances,
        "flat chances": chances[:, 0],
        "grid": rng.integers(0, 3, logits.shape),
        "positive": np.abs(logits) + 0.1,
        "logits": logits,
        "scores": logits,
        "values": logits,
    }
    return np.asarray(found[kind], dtype=np.float32)
