"""A small classifier, and its examination on fake targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.whole_models import ExaminedModel, ModelExaminer
from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.operators.reference.evaluate import draw_weights

Examine = Callable[..., ExaminedModel]


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
    """Examine a model on all targets of a runner; further arguments are settings of the oracle."""

    def run(
        runner: Any,
        model: Model = classifier,
        inputs: Mapping[str, Array] = images,
        labels: Mapping[str, Array] | None = None,
        families: Mapping[str, str] | None = None,
        oracle: str = "parity",
        **settings: Any,
    ) -> ExaminedModel:
        known = families or dict.fromkeys(runner.targets, "keras")
        traits = Traits(
            {target: TargetTraits(target, family=family, reads=("fake",)) for target, family in known.items()}
        )
        examiner = ModelExaminer(runner, model, runner.targets, traits, oracle, settings)
        return examiner.examine(inputs, labels or {})

    return run
