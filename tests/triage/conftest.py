"""A small network, and the means to replay it on fake targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.procedure import Procedure
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.targets.catalogue import TARGETS, traits_of

from ..running import replay_on

TRAITS = traits_of(TARGETS)

Measure = Callable[..., dict[str, NodeErrors]]


@pytest.fixture(scope="session")
def network() -> Model:
    """Two convolutions, a normalization between them, and a dense layer."""
    build = GraphBuilder("network")
    x = build.input("x", (6, 6, 2))
    x = build.add("Conv2D", x, name="conv1", filters=3, kernel_size=[3, 3], padding="same", activation="relu")
    x = build.add("BatchNormalization", x, name="norm")
    x = build.add("Conv2D", x, name="conv2", filters=4, kernel_size=[3, 3], padding="same")
    graph = build.build(build.add("Dense", build.add("Flatten", x, name="flat"), name="dense", units=5))
    return Model("network", graph, draw_weights(graph, np.random.default_rng(7)))


@pytest.fixture(scope="session")
def images() -> dict[str, Array]:
    return {"x": np.random.default_rng(1).standard_normal((2, 6, 6, 2)).astype(np.float32)}


@pytest.fixture(scope="session")
def measure(network: Model, images: dict[str, Array]) -> Measure:
    """Replay every node of a model on a runner's targets; the activations are the first target's.

    A layer's activation can be replaced, or left out with None.
    """

    def replayed(runner: Any, model: Model = network, **changes: Array | None) -> dict[str, NodeErrors]:
        assert model.graph is not None
        first = runner.targets[0]
        trace = runner.run_pairs([(model.case(first, Procedure(trace=True), images), first)])[0]
        changed = {**trace.trace.nodes, **{f"{layer}#0": array for layer, array in changes.items()}}
        activations = {key: array for key, array in changed.items() if array is not None}
        found = replay_on(runner, model, model.graph.nodes, images, activations, runner.targets, TRAITS)
        return {errors.node.layer: errors for errors in found}

    return replayed
