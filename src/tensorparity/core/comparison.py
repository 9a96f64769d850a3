"""Comparison: one output of one model on a pair of targets, and the layers on the way to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .jsontext import Json
from .verdict import Verdict


@dataclass(frozen=True, slots=True)
class Distance:
    """One of CRADLE's two distances over all instances of a pair.

    Args:
        name: ``class`` or ``mad``.
        largest: over all instances.
        triggered: how many instances reach the threshold.
        pattern: instances per bin, as ``{"16": 10, "15-8": 202, ...}``.
    """

    name: str
    largest: float
    threshold: float
    triggered: int
    inconsistent: bool
    pattern: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "largest": self.largest,
            "threshold": self.threshold,
            "triggered": self.triggered,
            "inconsistent": self.inconsistent,
            "pattern": dict(self.pattern),
        }


@dataclass(frozen=True, slots=True)
class LayerDeviation:
    """One node of the localization map of a pair.

    Args:
        deviation: CRADLE's delta, the mean absolute difference of the two hidden states.
        rate: CRADLE's introduction rate R_L.
        highlighted: the rate is strictly above the third quartile.
        isolated_error: the larger of the two targets' error e when the node runs alone on identical
            inputs; None where it could not be measured.
        inputs: what flows in: the ``key`` of a node, or the name of a graph input.
        parameters: how the layer is configured, where that is not the default.
    """

    name: str
    call: int
    type: str
    deviation: float | None = None
    rate: float | None = None
    highlighted: bool = False
    isolated_error: float | None = None
    inputs: tuple[str, ...] = ()
    parameters: Mapping[str, Json] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.name}#{self.call}"

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "call": self.call,
            "type": self.type,
            "deviation": self.deviation,
            "rate": self.rate,
            "highlighted": self.highlighted,
            "isolated_error": self.isolated_error,
            "inputs": list(self.inputs),
            "parameters": dict(self.parameters),
        }


@dataclass(frozen=True, slots=True)
class Picture:
    """A small picture of an array: rows of red, green and blue bytes, in base64."""

    width: int
    height: int
    pixels: str

    def to_json(self) -> Json:
        return {"width": self.width, "height": self.height, "pixels": self.pixels}


@dataclass(frozen=True, slots=True)
class ExampleInput:
    """One array of the input at the head of a map, without the batch axis.

    Args:
        low: smallest finite value, ``high`` the largest; None where there is no number.
        picture: where it looks like an image.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: float | None = None
    high: float | None = None
    picture: Picture | None = None

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "low": self.low,
            "high": self.high,
            "picture": self.picture.to_json() if self.picture else None,
        }


#: Class (or position) and confidence (or value), the most confident first.
Prediction = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Example:
    """The input a map was drawn for, and what came of it on either side.

    Args:
        index: of the instance.
        label: the truth in words; empty where it is not known.
        classes: the predictions are classes with their confidence; otherwise positions with their value.
    """

    index: int
    inputs: tuple[ExampleInput, ...]
    label: str
    classes: bool
    a: Prediction
    b: Prediction

    def to_json(self) -> Json:
        return {
            "index": self.index,
            "inputs": [item.to_json() for item in self.inputs],
            "label": self.label,
            "classes": self.classes,
            "a": [list(entry) for entry in self.a],
            "b": [list(entry) for entry in self.b],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer for one pair and one output; ``to_json`` is an entry of the contract's ``comparisons``.

    Args:
        verdict: its measure and threshold are what decided.
        max_rel: largest difference of an instance relative to that instance's largest magnitude.
        top1_agreement: share of instances with the same arg max; None where there are no classes.
        worst_input: index of the instance that differs most.
        distances: CRADLE's, where there are labels.
        accuracy: of a and of b, where there are labels.
        example: the input that ``layers`` belong to.
        accused: by localizing rule, the keys of the nodes it accuses, the most suspicious first.
        accusable: everybody whose fault a difference of this pair can be: they, the code they share, the exporter
            between them; no part of the contract.
    """

    a: str
    b: str
    output: str
    verdict: Verdict
    instances: int
    max_abs: float | None = None
    max_rel: float | None = None
    top1_agreement: float | None = None
    labels_changed: int | None = None
    worst_input: int | None = None
    distances: tuple[Distance, ...] = ()
    accuracy: tuple[float, float] | None = None
    layers: tuple[LayerDeviation, ...] = ()
    example: Example | None = None
    accused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accusable: tuple[str, ...] = ()

    def to_json(self) -> Json:
        verdict = self.verdict
        return {
            "a": self.a,
            "b": self.b,
            "output": self.output,
            "verdict": verdict.judgement.value,
            "reason": verdict.reason,
            "measure": verdict.measure.to_json() if verdict.measure else None,
            "threshold": verdict.threshold,
            "instances": self.instances,
            "max_abs": self.max_abs,
            "max_rel": self.max_rel,
            "top1_agreement": self.top1_agreement,
            "labels_changed": self.labels_changed,
            "worst_input": self.worst_input,
            "distances": [distance.to_json() for distance in self.distances],
            "accuracy": list(self.accuracy) if self.accuracy else None,
            "layers": [layer.to_json() for layer in self.layers],
            "example": self.example.to_json() if self.example else None,
            "accused": {rule: list(keys) for rule, keys in self.accused.items()},
        }
