"""The verdict of a pair by its layers: what was not run alone, and when that matters."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.comparison import Comparison
from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class
from tensorparity.core.graph import Node
from tensorparity.core.outcome import Failure
from tensorparity.core.verdict import Judgement, Kind, Verdict
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.oracles.whole.failures import _pair_found, _said_place
from tensorparity.oracles.whole.verdicts import _first_unmeasured_layer, _who_agrees
from tensorparity.reporting.words import sentence

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


@pytest.mark.parametrize(
    ("measured", "exact", "relative", "klass", "code", "said"),
    [
        (0, (), 1e-2, Class.PRECISION, "rounding-carried", "every layer agrees, on identical inputs"),
        (1, ("mask#0",), 1e-6, Class.PRECISION, "rounding-carried", "every layer that was run alone agrees (1 of 2)"),
        (1, (), 1e-2, Class.DEFECT, "layers-unknown", "only 1 of 2 layers of the model could be run alone on both"),
        (2, (), 1e-2, Class.DEFECT, "layers-unknown", "the layers of the model could not be run alone"),
    ],
    ids=["all", "all that round", "some", "none"],
)
def test_a_pair_is_called_rounding_only_where_every_layer_that_rounds_was_run_alone(
    measured: int, exact: tuple[str, ...], relative: float, klass: Class, code: str, said: str
) -> None:
    at = sight(measured, *exact)
    at.settings = SimpleNamespace(needs_labels=False, oracle="cradle", batch=None)
    at.inputs, at.own_case = {"x": np.zeros((4, 1))}, lambda *given: given
    failed = Verdict(Judgement.FAIL, (A, B), "too far", kind=Kind.INCONSISTENCY)
    diagnosis = _pair_found(at, replace(compared(relative), verdict=failed)).suspicion.diagnosis
    assert (diagnosis.klass, diagnosis.observations[-1].code) == (klass, code)
    assert sentence(diagnosis.observations[-1]).startswith(said)


def test_older_stores_counted_no_layers() -> None:
    assert "1 of" not in sentence(observed("rounding-carried")) + sentence(observed("layers-unknown"))
    assert sentence(observed("layers-unknown", measured=2, layers=2)).startswith(
        "every layer of the model agrees alone"
    )


@pytest.mark.parametrize(
    ("ops", "key", "api"),
    [
        (("Dense",), None, "keras.layers.Dense"),
        (("mine.Dense",), None, "mine.Dense"),
        (("mine.Dense", "Dense"), "layer_1#0", "keras.layers.Dense"),
        (("mine.Dense", "Dense"), "layer_0#0", "mine.Dense"),
        (("mine.Dense", "Dense"), None, "Dense"),
        ((), None, "keras.layers.Dense"),
    ],
)
def test_a_class_of_the_users_is_not_taken_for_the_layer_of_that_name(
    ops: tuple[str, ...], key: str | None, api: str
) -> None:
    nodes = [Node(f"layer_{place}", op, ()) for place, op in enumerate(ops)]
    at: Any = SimpleNamespace(nodes=nodes, model=SimpleNamespace(file=None))
    said = "Exception encountered when calling Dense.call().\n\nno"
    assert _said_place(at, Failure("ValueError", said, node=key)) == (key, api)


def test_what_was_not_run_alone_is_said() -> None:
    assert _who_agrees(sight(0), compared(1e-6)) == "every layer agrees alone"
    assert _who_agrees(sight(1, "mask#0"), compared(1e-6)) == (
        "every layer that rounds agrees alone "
        "(1 other gives whole numbers or truth values and was not run alone on both)"
    )
