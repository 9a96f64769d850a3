"""Nodes of torch programs that the catalogue's operators say the value of."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node
from tensorparity.core.jsontext import Json
from tensorparity.operators.functions.aten import evaluate_aten

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
WIDE = X.astype(np.float64)


def node(name: str, **params: Json) -> Node:
    return Node("node", f"torch.ops.aten.{name}", (), params)


@pytest.mark.parametrize(
    ("called", "value"),
    [
        (node("silu.default"), WIDE / (1 + np.exp(-WIDE))),
        (node("tanh.default"), np.tanh(WIDE)),
        (node("mean.dim", dim=[-1]), WIDE.mean(axis=-1)),
        (node("softmax.int", dim=1), np.exp(WIDE) / np.exp(WIDE).sum(axis=1, keepdims=True)),
        (node("special_i0e.default"), np.exp(-np.abs(WIDE)) * np.i0(WIDE)),
    ],
    ids=lambda item: item.op if isinstance(item, Node) else "",
)
def test_what_an_operator_of_the_catalogue_gives(called: Node, value: np.ndarray) -> None:  # type: ignore[type-arg]
    found = evaluate_aten(called, [X])
    assert found is not None
    assert np.allclose(found.value, value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "called",
    [
        node("silu.default", inplace=2),  # an argument that no declaration has
        node("gelu.default"),  # its default is nowhere said
        node("rms_norm.default", normalized_shape=[4]),  # it may have a weight of the program
        node("div.Tensor"),  # of two tensors, one of them the program's
        node("no_such_function.default"),
        Node("node", "torch.ops.prims.silu.default", ()),
        Node("node", "silu", ()),
    ],
    ids=lambda called: called.op,
)
def test_what_is_not_surely_an_operator_has_no_value(called: Node) -> None:
    assert evaluate_aten(called, [X]) is None
