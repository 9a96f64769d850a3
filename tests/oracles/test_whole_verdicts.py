"""The verdict of a pair by its layers: what was not run alone, and when that matters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tensorparity.core.comparison import Comparison
from tensorparity.core.graph import Node
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.oracles.whole.verdicts import _first_unmeasured_layer, _who_agrees

A, B = "torch:eager", "onnxruntime"
NODES = [Node("mask", "torch.ops.aten.ge.Scalar", ()), Node("dense", "torch.ops.aten.linear.default", ())]


def sight(measured: int, *exact: str) -> Any:
    """The layers from ``measured`` on were run alone on both."""
    errors = [NodeErrors(node, {A: 0.1, B: 0.2}) for node in NODES[measured:]]
    return SimpleNamespace(nodes=NODES, measured=errors, exact=frozenset(exact))


def compared(relative: float, changed: int = 0) -> Comparison:
    undecided = Verdict(Judgement.UNDECIDED, (A, B), "")
    return Comparison(A, B, "y", undecided, 8, max_rel=relative, labels_changed=changed)


@pytest.mark.parametrize(
    ("at", "pair", "named"),
    [
        (sight(0), compared(1e-6), ""),
        (sight(1), compared(1e-6), "mask (torch.ops.aten.ge.Scalar)"),
        (sight(1, "mask#0"), compared(1e-6), ""),
        (sight(1, "mask#0"), compared(1e-2), "mask (torch.ops.aten.ge.Scalar)"),
        (sight(1, "mask#0"), compared(1e-6, changed=1), "mask (torch.ops.aten.ge.Scalar)"),
        (sight(2, "mask#0"), compared(1e-6), "dense (torch.ops.aten.linear.default)"),
    ],
    ids=["all", "a layer is missing", "an exact one", "far apart", "another label", "one that rounds"],
)
def test_a_layer_of_whole_numbers_explains_no_difference_in_the_last_digits(
    at: Any, pair: Comparison, named: str
) -> None:
    assert _first_unmeasured_layer(at, pair) == named


def test_what_was_not_run_alone_is_said() -> None:
    assert _who_agrees(sight(0), compared(1e-6)) == "every layer agrees alone"
    assert _who_agrees(sight(1, "mask#0"), compared(1e-6)) == (
        "every layer that rounds agrees alone "
        "(1 other gives whole numbers or truth values and was not run alone on both)"
    )
