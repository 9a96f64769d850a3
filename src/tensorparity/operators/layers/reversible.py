"""ReversibleEmbedding: rows of a table, or the way back from rows to logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import flag, number, positive
from ..reference.rounding import growth
from ..spec import Domain, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, WeightSpec
from .embedding import EMBEDDING, zeros_hidden


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    flag(params, "tie_weights")
    if not flag(params, "reverse"):
        return EMBEDDING.shape(params, shapes)
    size = positive(params, "output_dim")
    if len(shapes[0]) < 2 or shapes[0][-1] != size:
        raise ShapeError(f"Expected rows of {size} in reverse. Received: shape={shapes[0]}")
    return ((*shapes[0][:-1], positive(params, "input_dim")),)


def _weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    found = dict(EMBEDDING.weights(params, shapes))
    if not flag(params, "tie_weights"):
        table = (positive(params, "output_dim"), positive(params, "input_dim"))
        found["reverse_embeddings"] = WeightSpec(table, "kernel", fan_in=table[0])
    return found


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    if not params["reverse"]:
        return EMBEDDING.reference(params, inputs, weights)
    kernel = weights["embeddings"].T if params["tie_weights"] else weights["reverse_embeddings"]
    logits, sizes = inputs[0] @ kernel, growth(len(kernel)) * (np.abs(inputs[0]) @ np.abs(kernel))
    cap = params["logit_soft_cap"]
    if cap is None:
        return (Evaluation(logits, sizes),)
    bent = np.tanh(logits / number(params, "logit_soft_cap"))
    return (Evaluation(cap * bent, (sizes + np.abs(logits)) * (1.0 - bent**2) + np.abs(cap * bent)),)


REVERSIBLE_EMBEDDING = LayerSpec(
    name="ReversibleEmbedding",
    api="keras.layers.ReversibleEmbedding",
    arity=(1, 1),
    ranks=(2, 3),
    parameters=(
        *(parameter for parameter in EMBEDDING.parameters if not parameter.rare),
        Parameter("tie_weights", True, (True, False)),
        Parameter("logit_soft_cap", None, (None, 2.0)),
    ),
    shape=_shape,
    weights=_weights,
    reference=_reference,
    formula="output = the row of the table that each index names; in reverse, rows times the table's transpose",
    call_parameters=(Parameter("reverse", False, (False, True)),),
    domain=lambda params: Domain() if params.get("reverse") else EMBEDDING.domain(params),
    discontinuous=True,
    masks=lambda params, inputs, masks: () if params["reverse"] else zeros_hidden(params, inputs, masks),
    hazards=EMBEDDING.hazards,
)
