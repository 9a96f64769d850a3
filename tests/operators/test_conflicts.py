"""Combinations of values that are ruled out: what the shape rules say of them, and what Keras does."""

from __future__ import annotations

import pytest

from tensorparity.core.case import Case
from tensorparity.core.procedure import Recipe
from tensorparity.generators.single_cases.invalid import layer_case, step_case
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.optimizers.options import OPTION_CONFLICTS
from tensorparity.operators.page import page
from tensorparity.operators.reference.evaluate import infer_shapes
from tensorparity.operators.ruled_out import ruled_out
from tensorparity.operators.spec import Conflict, LayerSpec, Parameter, ShapeError
from tensorparity.operators.spec import ruled_out as values_ruled_out
from tensorparity.targets.runner import open_runner

from ..judging import judge

CONFLICTS = [(name, conflict) for name in layer_names() for conflict in layer(name).conflicts]
COMBINED = [layer_case(name, dict(conflict.params), 0) for name, conflict in CONFLICTS]
OPTIONS = [step_case(Recipe("MeanSquaredError"), Recipe("SGD", item.params)) for item in OPTION_CONFLICTS]


def _label(case: Case) -> str:
    node, params = ruled_out(case)
    return f"{node.op}-{'-'.join(params)}"


def test_there_are_some_of_every_family_that_has_any():
    assert {name for name, _ in CONFLICTS} >= {
        "Conv1D", "Conv2DTranspose", "ConvLSTM3D", "GroupQueryAttention",
        "IntegerLookup", "Normalization", "MelSpectrogram", "STFTSpectrogram", "Bidirectional", "EinsumDense",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "conflict"), CONFLICTS, ids=lambda item: item if isinstance(item, str) else "")
def test_values_of_a_conflict_are_declared_and_not_wrong_alone(name: str, conflict: Conflict):
    spec = layer(name)
    assert len(conflict.params) > 1
    assert set(conflict.params) <= {parameter.name for parameter in spec.parameters}
    assert not values_ruled_out(spec.parameters, conflict.params)
    assert spec.invalid(conflict.params) == dict(conflict.params)
    assert conflict.reason in page()


@pytest.mark.parametrize("case", COMBINED, ids=_label)
def test_the_shape_rule_refuses_every_conflict(case: Case):
    with pytest.raises(ShapeError):
        infer_shapes(case.subject, 2)


def test_what_is_tried_has_the_whole_conflict():
    for case, (name, conflict) in zip(COMBINED, CONFLICTS, strict=True):
        node, params = ruled_out(case)
        assert (node.op, params) == (name, dict(conflict.params))
    assert [ruled_out(case)[1] for case in OPTIONS] == [dict(item.params) for item in OPTION_CONFLICTS]


def test_a_conflict_needs_all_of_its_values():
    conv: LayerSpec = layer("Conv2D")
    assert conv.invalid({"strides": 2, "dilation_rate": 2}) == {"strides": 2, "dilation_rate": 2}
    assert conv.invalid({"strides": 2}) == conv.invalid({"dilation_rate": 2}) == {}
    assert layer("Normalization").invalid({"mean": 0.5})  # the variance is at its default


def test_what_is_wrong_alone_is_named_alone():
    parameters = (Parameter("a", 1, (1,), (0,)), Parameter("b", 2, (2,)))
    conflict = Conflict({"a": 0, "b": 2}, "never")
    assert values_ruled_out(parameters, {"a": 0, "b": 2}, [conflict]) == {"a": 0}
    assert values_ruled_out(parameters, {"a": 3}, [Conflict({"a": 3, "b": 2}, "never")]) == {"a": 3, "b": 2}


@pytest.mark.torch
def test_keras_refuses_every_conflict():
    with open_runner(["keras:torch"]) as runner:
        outcomes = runner.run_pairs([(case, "keras:torch") for case in (*COMBINED, *OPTIONS)])
    pairs = zip((*COMBINED, *OPTIONS), outcomes, strict=True)
    suspicions = [judge(case, {"keras:torch": one})[0] for case, one in pairs]
    accepted = {ruled_out(item.case)[0].op for item in suspicions if item is not None}
    assert not accepted
