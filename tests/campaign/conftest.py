"""A small classifier, and its examination on fake targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.examination import Examination, Examined, Rules
from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.operators.evaluate import draw_weights

Examine = Callable[..., Examined]


@pytest.fixture(scope="session")
def classifier() -> Model:
    build = GraphBuilder("classifier")
    x = build.input("x", (6, 6, 2))
    x = build.add("Conv2D", x, name="conv1", filters=3, kernel_size=[3, 3], activation="relu")
    x = build.add("Conv2D", x, name="conv2", filters=4, kernel_size=[3, 3], activation="relu")
    x = build.add("Dense", build.add("Flatten", x, name="flat"), name="logits", units=3)
    graph = build.build(build.add("Softmax", x, name="classes"))
    return Model("classifier", graph, draw_weights(graph, np.random.default_rng(7)))


@pytest.fixture(scope="session")
def images() -> dict[str, Array]:
    return {"x": np.random.default_rng(1).standard_normal((12, 6, 6, 2)).astype(np.float32)}


@pytest.fixture(scope="session")
def examine(classifier: Model, images: dict[str, Array]) -> Examine:
    """Examine a model on all targets of a runner; further arguments are rules."""

    def run(
        runner: Any,
        model: Model = classifier,
        inputs: Mapping[str, Array] = images,
        labels: Mapping[str, Array] | None = None,
        import_graph: Callable[[Model], Model] | None = None,
        **rules: Any,
    ) -> Examined:
        families = rules.pop("families", dict.fromkeys(runner.targets, "keras"))
        examination = Examination(runner, model, Rules(families, **rules), import_graph=import_graph)
        return examination.run(inputs, labels or {}, runner.targets)

    return run
