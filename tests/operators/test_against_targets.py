"""The catalogue against every target beside the three Keras backends, which have a test of their own.

Shape rules on all of them; values where the layers were lowered by ourselves, which is a test of the lowering.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import InputSpec, LayerGraph, Ref
from tensorparity.core.outcome import Outcome, Status
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import Evaluation
from tensorparity.targets.catalogue import TARGETS
from tensorparity.targets.environments import find_environment, inventory
from tensorparity.targets.runner import open_runner

#: Uses of each layer; ``make conformance`` asks for hundreds.
DRAWS = 2
#: What each of them is at least able to run of the catalogue: a lowering that refuses everything would pass otherwise.
LEAST = {
    "torch:eager": 115,
    "onnxruntime": 110,
    "openvino": 110,
    "keras:openvino": 60,
    "keras:numpy": 90,
    "onnx:reference": 105,
}
#: Tested elsewhere: Keras' backends in test_against_keras.py, compiled torch in test_against_compiled_torch.py.
ELSEWHERE = {"keras:tensorflow", "keras:jax", "keras:torch", "torch:compile"}
TARGET_MARKS = [
    pytest.param("torch:eager", marks=pytest.mark.torch),
    pytest.param("onnxruntime", marks=pytest.mark.onnxruntime),
    "openvino",
    "keras:openvino",
    "onnx:reference",
    pytest.param("keras:numpy", marks=pytest.mark.jax),
]


def test_every_target_that_runs_layers_is_here() -> None:
    specs = map(TARGETS.get, TARGETS.names())
    layers = {
        spec.name for spec in specs if spec.traits.lowering in ("onnx", "torch") or spec.name.startswith("keras:")
    }
    assert layers == ELSEWHERE | set(LEAST)


@dataclass(frozen=True)
class Use:
    """One layer on inputs that fit, and the shapes that the catalogue says it gives."""

    name: str
    case: Case
    shapes: list[tuple[int, ...]]
    about: str

    def evaluations(self) -> tuple[Evaluation, ...]:
        """The reference's, of each output."""
        return evaluate_node(self.case.subject.nodes[0], list(self.case.inputs.values()), self.case.weights)


def _use(example: Any) -> Use:
    node = example.node
    inputs = {f"input_{index}": array for index, array in enumerate(example.inputs)}
    specs = tuple(InputSpec(name, array.shape[1:], array.dtype.name) for name, array in inputs.items())
    shapes = list(layer(node.op).shape(example.params, example.shapes))
    graph = LayerGraph(specs, (node,), tuple(Ref("layer", index) for index in range(len(shapes))))
    about = f"{node.op} {dict(node.params)} {dict(node.call_params)} {example.shapes}"
    return Use(node.op, Case(graph, inputs=inputs, weights=example.weights), shapes, about)


@pytest.fixture(scope="module")
def uses(draw_example: Any) -> list[Use]:
    draws = int(os.environ.get("TENSORPARITY_DRAWS", DRAWS))
    found = []
    for name in layer_names():
        rng = np.random.default_rng([zlib.crc32(name.encode()), 5])
        found += [_use(draw_example(name, rng)) for _ in range(draws)]
    return found


@pytest.fixture(scope="module", params=TARGET_MARKS)
def ran_on(request: pytest.FixtureRequest, uses: list[Use]) -> Iterator[tuple[str, list[Outcome]]]:
    target = request.param
    if inventory(find_environment("")).missing(TARGETS.get(target)):
        pytest.skip(f"{target} is not installed")
    with open_runner([target]) as runner:
        yield target, runner.run_pairs([(use.case, target) for use in uses])


def _known_defect(target: str, use: Use) -> bool:
    """Of Keras, counting along axis 1 instead of the last one; of ONNX's evaluator, a shape of its own (trophies/)."""
    if target == "onnx:reference":
        return use.name == "GlobalMaxPooling3D"
    counting = use.name in ("CategoryEncoding", "Hashing", "IntegerLookup")
    return target.startswith("keras:") and counting and len(use.shapes[0]) > 2


#: What a target is known to compute wrongly (trophies/), by the functions or the layers that it shows in.
INEXACT: dict[str, set[str]] = {
    "onnxruntime": {"sigmoid", "silu", "swish"},
    "openvino": {"gelu", "log_sigmoid", "mish", "softplus"},
    "onnx:reference": {"Average", "GlobalMaxPooling3D", "MaxPooling3D"},
}
#: The default of what these compute inside is a logistic function.
GATED = {"Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "GRU", "LSTM", "RNN"}


def _is_known(target: str, use: Use) -> bool:
    node = use.case.subject.nodes[0]
    functions = {node.params.get(name) for name in ("activation", "recurrent_activation")}
    if target == "onnx:reference" and use.name in {*GATED, "SimpleRNN"}:
        return True  # whatever activations they are given
    gated = target == "onnxruntime" and (use.name in GATED or bool(node.params.get("use_gate")))
    return gated or bool(INEXACT.get(target, set()) & {use.name, *filter(None, functions)})


def _given(outcome: Outcome) -> list[tuple[int, ...]]:
    return [array.shape for array in outcome.outputs.values()]


def test_shapes_are_what_the_catalogue_says(ran_on: tuple[str, list[Outcome]], uses: list[Use]) -> None:
    target, outcomes = ran_on
    ran = set()
    for use, outcome in zip(uses, outcomes, strict=True):
        if outcome.completed and not _known_defect(target, use):
            ran.add(use.name)
            assert _given(outcome) == use.shapes, use.about
    assert len(ran) >= LEAST[target], sorted(set(layer_names()) - ran)


def test_what_does_not_run_is_refused_with_a_reason(ran_on: tuple[str, list[Outcome]], uses: list[Use]) -> None:
    """Not by an accident on the way: a lowering that is wrong would raise, too."""
    target, outcomes = ran_on
    if target.startswith("keras:"):
        pytest.skip("Keras' own exceptions are its own")
    for use, outcome in zip(uses, outcomes, strict=True):
        if not outcome.completed and not _is_known(target, use):
            assert outcome.failure is not None
            assert outcome.status is Status.UNSUPPORTED, f"{use.about}: {outcome.status}: {outcome.failure.message}"


def test_values_are_what_the_reference_says(ran_on: tuple[str, list[Outcome]], uses: list[Use]) -> None:
    target, outcomes = ran_on
    if TARGETS.get(target).traits.lowering is None:
        pytest.skip("Keras' own values are compared where the catalogue is")
    held = 0
    for use, outcome in zip(uses, outcomes, strict=True):
        if outcome.completed and not _is_known(target, use):
            given = [outcome.outputs[name] for name in sorted(outcome.outputs)]
            for value, evaluation in zip(given, use.evaluations(), strict=True):
                units = float(error_units(value, evaluation, "float32").max(initial=0))
                assert units < K, f"{use.about}: e = {units:.3g}"
            held += 1
    assert held >= LEAST[target]
