"""Documented freedoms: what libraries may answer as they like, as data, with the words of the documentation.

A difference that one of these explains is a ``specification``: nobody is wrong. Each entry says for which layers or
functions it holds and when: a difference elsewhere, or on other values, stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, ArrayArg, Case
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.jsontext import Json
from ..operators.catalogue import has_layer, layer

#: From parameters (complete) and inputs in order: do these values fall under the freedom?
Applies = Callable[[Mapping[str, Json], Sequence[Array]], bool]


@dataclass(frozen=True, slots=True)
class Freedom:
    """One freedom.

    Args:
        apis: public names, or their last part (``fmod`` stands for every library's).
        words: of the documentation, quoted.
        source: where they stand.
    """

    name: str
    apis: tuple[str, ...]
    applies: Applies
    words: str
    source: str


def _never(params: Mapping[str, Json], inputs: Sequence[Array]) -> bool:
    return False


def _index_out_of_range(params: Mapping[str, Json], inputs: Sequence[Array]) -> bool:
    indices = inputs[0]
    return bool(((indices < 0) | (indices >= params["input_dim"])).any())


def _integer_by_zero(params: Mapping[str, Json], inputs: Sequence[Array]) -> bool:
    return (
        len(inputs) > 1
        and inputs[0].dtype.kind in "iu"
        and inputs[1].dtype.kind in "iu"
        and bool((inputs[1] == 0).any())
    )


def _halves_in_nearest(params: Mapping[str, Json], inputs: Sequence[Array]) -> bool:
    """Some output pixel's centre falls exactly between two input pixels."""
    if params.get("interpolation") != "nearest":
        return False
    first = 2 if params.get("data_format") == "channels_first" else 1
    sizes = zip(inputs[0].shape[first : first + 2], (params["height"], params["width"]), strict=True)
    return any(
        (Fraction(2 * index + 1, 2) * before / after).denominator == 1
        for before, after in sizes
        for index in range(after)
    )


def _tied_order(params: Mapping[str, Json], inputs: Sequence[Array]) -> bool:
    return inputs[0].size > len(np.unique(inputs[0]))


#: Applied by the rule of one-sided derivatives (``kinks``), which needs more than the values to decide.
GRADIENTS_AT_KINKS = Freedom(
    "gradients at kinks and ties",
    (),
    _never,
    "amax/amin evenly distribute gradients between equal values; max/min over one axis only propagate to the indexed "
    "element",
    "torch.max",
)

FREEDOMS: tuple[Freedom, ...] = (
    Freedom(
        "indices out of range",
        ("keras.layers.Embedding",),
        _index_out_of_range,
        "on CPU, if an out of bound index is found, an error is raised; on GPU a 0 is stored",
        "tf.gather; jax.lax.GatherScatterMode clamps or fills instead",
    ),
    Freedom(
        "integer division by zero",
        ("fmod", "remainder", "floor_divide", "mod", "divide_no_nan"),
        _integer_by_zero,
        "raises RuntimeError for integer division by zero on CPU; integer division by zero on GPU may return any value",
        "torch.fmod",
    ),
    Freedom(
        "halves in nearest-neighbour interpolation",
        ("keras.layers.Resizing",),
        _halves_in_nearest,
        "mode='nearest-exact' matches Scikit-Image and PIL nearest neighbours interpolation algorithms and fixes known "
        "issues with mode='nearest'",
        "torch.nn.functional.interpolate",
    ),
    Freedom(
        "order of ties",
        ("argmax", "argmin", "argsort", "top_k", "topk"),
        _tied_order,
        "if there are multiple maximal values then the indices of the first are returned; other libraries return any",
        "torch.argmax",
    ),
)


def freedom_of(case: Case, api: str | None) -> Freedom | None:
    """The freedom that covers a one-layer case or a call; None where none does."""
    params, inputs = _values(case)
    if api is None or not inputs:
        return None
    names = {api, api.rpartition(".")[2]}
    return next((f for f in FREEDOMS if names & set(f.apis) and f.applies(params, inputs)), None)


def _values(case: Case) -> tuple[Mapping[str, Json], list[Array]]:
    subject = case.subject
    if isinstance(subject, ApiCall):
        return subject.kwargs, [case.inputs[item.name] for item in subject.args if isinstance(item, ArrayArg)]
    if isinstance(subject, LayerGraph) and len(subject.nodes) == 1 and has_layer(subject.nodes[0].op):
        node = subject.nodes[0]
        params = layer(node.op).complete({**node.params, **node.call_params})
        return params, [case.inputs[ref.node] for ref in node.inputs if ref.node in case.inputs]
    return {}, []


def excused(diagnosis: Diagnosis, freedom: Freedom) -> Diagnosis:
    """The diagnosis as a specification: nobody is a suspect, and the documentation's words are the evidence."""
    said = f"documented freedom ({freedom.name}): {freedom.words} ({freedom.source})"
    return replace(diagnosis, klass=Class.SPECIFICATION, suspects=(), evidence=(*diagnosis.evidence, said))
