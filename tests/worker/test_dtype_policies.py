"""A network under a dtype policy on every Keras backend: its dtypes, right numbers, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tensorparity.core.arrays import EXTENSION_DTYPES, dtype_name
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.policies import policy_named
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.screening import Screening
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.runner import LocalRunner, open_runner

TRAITS = traits_of(TARGETS)

BACKENDS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]
INNER = {
    "module": "keras.layers",
    "class_name": "Dense",
    "config": {"name": "inner", "units": 3},
    "registered_name": None,
}


@pytest.fixture(scope="module", params=BACKENDS)
def runner(request: pytest.FixtureRequest) -> Iterator[LocalRunner]:
    with open_runner([f"keras:{request.param}"]) as opened:
        yield opened


def step(name: str | None) -> Case:
    """One training step of a few layers, one of them with a layer inside."""
    policy = policy_named(name)
    net = GraphBuilder()
    x = net.input("x", (4, 5), policy.fed())
    inside = net.add("TimeDistributed", net.add("LayerNormalization", x), layer=INNER)
    out = net.add("Dense", net.add("Flatten", inside), units=2, name="out")
    graph = net.build(out)
    rng = np.random.default_rng(0)
    return Case(
        graph,
        Procedure(Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"), dtype=name),
        {"x": rng.standard_normal((2, 4, 5)).astype(policy.fed())},
        {"out": rng.standard_normal((2, 2)).astype(np.float32)},
        draw_weights(graph, rng, policy.variable),
    )


@pytest.mark.parametrize("name", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_a_training_step_is_in_the_policy_s_dtypes_and_right(runner: LocalRunner, name: str) -> None:
    target, case, policy = runner.targets[0], step(name), policy_named(name)
    outcome, plain = runner.run_pairs([(case, target), (step(None), target)])
    assert outcome.completed, outcome.failure
    assert {dtype_name(array) for array in outcome.trace.nodes.values()} == {policy.compute}
    assert {dtype_name(array) for array in outcome.trace.weights.values()} == {policy.variable}
    assert [trial.api for trial in Screening(case, {target: outcome}, traits=TRAITS).checks()] == []
    assert {dtype_name(array) for array in plain.trace.nodes.values()} == {"float32"}


def test_a_stateful_layer_is_told_its_batch_by_inputs_of_16_bits(runner: LocalRunner) -> None:
    """Such inputs are bits to NumPy, which has no bfloat16."""
    net = GraphBuilder()
    x = net.input("x", (4, 5), "bfloat16")
    graph = net.build(net.add("SimpleRNN", x, units=2, stateful=True))
    rng = np.random.default_rng(0)
    given = rng.standard_normal((2, 4, 5)).astype(EXTENSION_DTYPES["bfloat16"])
    case = Case(
        graph, Procedure(Goal.FORWARD, dtype="bfloat16"), {"x": given}, {}, draw_weights(graph, rng, "bfloat16")
    )
    outcome = runner.run_pairs([(case, runner.targets[0])])[0]
    assert outcome.completed, outcome.failure
