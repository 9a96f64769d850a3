"""Documentation outranks the words of an exception: a documented layer that is refused is a defect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Mode, Procedure
from tensorparity.oracles.measure.support import classify_failure, is_documented, is_lack
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)


def _refused(target: str = "keras:tensorflow", node: str | None = None, stage: str = "forward") -> Outcome:
    said = Failure("UnimplementedError", "The op is currently not supported on this device", node=node, stage=stage)
    return Outcome(target, Status.RAISED, failure=said)


def _layer(op: str = "Conv2D", shape: tuple[int, ...] = (6, 6, 3), **params: Any) -> Case:
    build = GraphBuilder("one")
    given = {"filters": 2, "kernel_size": 2, **params} if "Conv" in op else params
    graph = build.build(build.add(op, build.input("x", shape), name="layer", **given))
    return Case(graph, inputs={"x": np.ones((1, *shape), np.float32)})


def test_a_documented_layer_is_no_lack() -> None:
    case = _layer(data_format="channels_first")
    assert is_documented(case, _refused(), TRAITS)
    assert not is_lack(_refused(), case, TRAITS)


@pytest.mark.parametrize(
    ("op", "params", "documented"),
    [
        ("Conv1DTranspose", {"dilation_rate": 2}, False),
        ("Conv1DTranspose", {"dilation_rate": 1}, True),
        ("Conv2DTranspose", {"dilation_rate": (1, 2)}, False),
        ("Conv2DTranspose", {"dilation_rate": 2}, True),
        ("Conv2D", {"strides": 2, "dilation_rate": 2}, False),
        ("Conv2D", {"kernel_initializer": "zeros", "trainable": False}, True),
        ("Conv2D", {"undeclared": 3}, False),
        ("Resizing", {"height": 2, "width": 2, "interpolation": "lanczos3"}, True),
        ("NobodyKnows", {}, False),
    ],
)
def test_what_the_documentation_leaves_out_may_be_refused(op: str, params: dict[str, Any], documented: bool) -> None:
    case = _layer(op, (6, 3) if "1D" in op else (6, 6, 3), **params)
    assert is_documented(case, _refused(), TRAITS) is documented
    assert is_lack(_refused(), case, TRAITS) is not documented


def test_who_takes_no_layers_or_only_infers_promises_none() -> None:
    for target in ("torch:eager", "onnxruntime", "keras:numpy", "keras:openvino"):
        assert is_lack(_refused(target), _layer(), TRAITS)


@pytest.mark.parametrize(
    "procedure",
    [Procedure(dtype="float16"), Procedure(mode=Mode.COMPILED), Procedure(reload="weights")],
)
def test_only_a_plain_use_is_promised(procedure: Procedure) -> None:
    assert is_lack(_refused(), replace(_layer(), procedure=procedure), TRAITS)


def test_a_gradient_is_another_promise() -> None:
    case = replace(_layer(), procedure=Procedure(Goal.GRADIENTS))
    assert is_lack(_refused(stage="backward"), case, TRAITS)
    assert not is_lack(_refused(stage="forward"), case, TRAITS)


def test_of_several_layers_the_one_that_failed_counts() -> None:
    build = GraphBuilder("two")
    first = build.add("Conv2D", build.input("x", (6, 6, 3)), name="first", filters=2, kernel_size=2, undeclared=3)
    graph = build.build(build.add("ReLU", first, name="second"))
    case = Case(graph, inputs={"x": np.ones((1, 6, 6, 3), np.float32)})
    assert is_lack(_refused(), case, TRAITS), "nobody knows where"
    assert is_lack(_refused(node="first"), case, TRAITS)
    assert not is_lack(_refused(node="second"), case, TRAITS)


def test_a_package_that_is_not_installed_is_no_word_against_the_documentation() -> None:
    def classified(kind: str, message: str) -> Class:
        failure = Failure(kind, message)
        outcome = Outcome("keras:jax", Status.RAISED, failure=failure)
        return classify_failure(Diagnosis(Class.DEFECT, ("keras:jax",)), outcome, documented=True).klass

    assert classified("ImportError", "This requires jax2onnx: `pip install jax2onnx`") is Class.UNSUPPORTED
    assert classified("NotImplementedError", "not supported") is Class.DEFECT
