"""The catalogue against torch:compile: shapes and values of all layers that are lowered to torch, and gradients.

Compiling takes seconds, so layers that have nothing to do with each other are compiled a dozen at a time.
"""

from __future__ import annotations

import os
import shutil
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, InputSpec, LayerGraph, Ref
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.reference.evaluate import draw_weights, evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.targets.lowering.pytorch import lower_to_torch
from tensorparity.targets.runner import open_runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.torch,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler"),
]

#: Uses of each layer: one for every so many that ``make conformance`` asks of the others.
DRAWS = max(1, int(os.environ.get("TENSORPARITY_DRAWS", "1")) // 100)
TOGETHER = 12
LEAST = 110


@dataclass(frozen=True)
class Use:
    """One layer alone, under a name of its own."""

    example: Any
    name: str

    def case(self) -> Case:
        return _together([self])

    def outputs(self) -> list[str]:
        shapes = layer(self.example.node.op).shape(self.example.params, self.example.shapes)
        return [self.name if index == 0 else f"{self.name}.{index}" for index in range(len(shapes))]


def _together(uses: list[Use]) -> Case:
    """Several layers in one graph, each on inputs of its own."""
    nodes, specs, inputs, weights, ends = [], [], {}, {}, []
    for use in uses:
        names = [f"{use.name}_{index}" for index in range(len(use.example.inputs))]
        inputs |= dict(zip(names, use.example.inputs, strict=True))
        specs += [
            InputSpec(name, array.shape[1:], array.dtype.name)
            for name, array in zip(names, use.example.inputs, strict=True)
        ]
        nodes.append(replace(use.example.node, name=use.name, layer=use.name, inputs=tuple(map(Ref, names))))
        weights |= {key.replace("layer", use.name, 1): array for key, array in use.example.weights.items()}
        ends += [Ref(use.name, index) for index in range(len(use.outputs()))]
    return Case(LayerGraph(tuple(specs), tuple(nodes), tuple(ends)), inputs=inputs, weights=weights)


@pytest.fixture(scope="module")
def uses(draw_example: Any) -> list[Use]:
    """Uses that are lowered to torch, of every layer."""
    found = []
    for name in layer_names():
        rng = np.random.default_rng([zlib.crc32(name.encode()), 7])
        drawn = [Use(draw_example(name, rng), f"layer_{len(found) + index}") for index in range(DRAWS)]
        found += [use for use in drawn if not isinstance(lower_to_torch(use.case()), str)]
    return found


@pytest.fixture(scope="module")
def outputs(uses: list[Use]) -> dict[str, Any]:
    packs = [uses[start : start + TOGETHER] for start in range(0, len(uses), TOGETHER)]
    with open_runner(["torch:compile"]) as runner:
        outcomes = runner.run_pairs([(_together(pack), "torch:compile") for pack in packs])
    for pack, outcome in zip(packs, outcomes, strict=True):
        assert outcome.completed, (outcome.failure, [use.example.node for use in pack])
    return {name: array for outcome in outcomes for name, array in outcome.outputs.items()}


def test_shapes_and_values_are_what_the_catalogue_says(uses: list[Use], outputs: dict[str, Any]) -> None:
    for use in uses:
        node = use.example.node
        evaluations = evaluate_node(node, list(use.example.inputs), use.example.weights)
        for name, evaluation in zip(use.outputs(), evaluations, strict=True):
            about = f"{node.op} {dict(node.params)} {use.example.shapes}"
            assert outputs[name].shape == evaluation.value.shape, about
            units = float(error_units(outputs[name], evaluation, "float32").max(initial=0))
            assert units < K, f"{about}: e = {units:.3g}"
    assert len({use.example.node.op for use in uses}) >= LEAST


def _step(rng: np.random.Generator) -> Case:
    """A training step with a layer that passes its input on, and an output that the loss does not see."""
    build = GraphBuilder()
    image = build.input("x", (6, 5, 3))
    convolved = build.add("Conv2D", image, name="conv", filters=4, kernel_size=3, activation="relu")
    normal = build.add("BatchNormalization", convolved, name="norm")
    same = build.add("Identity", normal, name="same")
    pooled = build.add("GlobalAveragePooling2D", same, name="pool")
    scores = build.add("Dense", pooled, name="scores", units=3, activation="softmax")
    graph = build.build(scores, build.add("Dense", pooled, name="unseen", units=2))
    procedure = Procedure(Goal.GRADIENTS, loss=Recipe("CategoricalCrossentropy"), training=True)
    inputs = {"x": rng.normal(size=(2, 6, 5, 3)).astype(np.float32)}
    labels = {"scores": np.eye(3, dtype=np.float32)[:2]}
    return Case(graph, procedure, inputs=inputs, labels=labels, weights=draw_weights(graph, rng))


def _replay(step: Case, rng: np.random.Generator) -> Case:
    """Two of its layers alone, pulled back."""
    inputs = {"conv#0/0": step.inputs["x"], "scores#0/0": rng.normal(size=(2, 4)).astype(np.float32)}
    cotangents = {"conv#0": rng.normal(size=(2, 4, 3, 4)), "scores#0": rng.normal(size=(2, 3))}
    cotangents = {key: array.astype(np.float32) for key, array in cotangents.items()}
    procedure = Procedure(Goal.REPLAY, nodes=tuple(cotangents))
    return Case(step.subject, procedure, inputs=inputs, weights=step.weights, cotangents=cotangents)


def test_gradients_are_those_of_eager_torch_and_none_is_made_up() -> None:
    rng = np.random.default_rng(0)
    step = _step(rng)
    targets = ["torch:eager", "torch:compile"]
    with open_runner(targets) as runner:
        for case in (step, _replay(step, rng)):
            eager, compiled = runner.run_pairs([(case, target) for target in targets])
            assert compiled.completed, compiled.failure
            expected, found = eager.trace.gradients, compiled.trace.gradients
            assert set(found) == set(expected)
            assert found
            for name, gradient in expected.items():
                np.testing.assert_allclose(found[name], gradient, rtol=1e-5, atol=1e-6, err_msg=name)
