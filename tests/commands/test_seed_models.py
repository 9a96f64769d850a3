"""Seed models by name: all test inputs that there are, the Transformer, and architectures of applications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.events import silent
from tensorparity.commands import seed_models
from tensorparity.commands.seed_models import open_seed
from tensorparity.commands.sources.models import OWN_INSTANCES, SEEDED_INSTANCES, ModelSource
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.generators.inputs.models import Data
from tensorparity.targets.runner import RunnerSettings


def source(count: int | None) -> ModelSource:
    build = GraphBuilder("small")
    graph = build.build(build.add("ReLU", build.input("x", (2,)), name="relu"))
    data = None if count is None else Data({"x": np.zeros((count, 2), np.float32)}, {}, "test inputs")
    return ModelSource(Model("small", graph, {}), graph.inputs, data)


@pytest.mark.parametrize(("there", "used"), [(1_200, 1_200), (10_500, 10_000), (None, SEEDED_INSTANCES)])
def test_all_test_inputs_that_there_are_are_used(
    monkeypatch: pytest.MonkeyPatch, fake_runner: Any, there: int | None, used: int
) -> None:
    monkeypatch.setattr(seed_models, "open_source", lambda text, context: source(there))
    seed, _ = open_seed("zoo:small", fake_runner(), RunnerSettings(), ("fake:a",), 0, None, silent)
    assert seed.instances == used


def test_a_seed_model_from_a_file_is_called_as_its_file(
    monkeypatch: pytest.MonkeyPatch, fake_runner: Any, tmp_path: Path
) -> None:
    """Keras calls the models of most users ``functional``: two of them would be counted as one."""
    monkeypatch.setattr(seed_models, "open_source", lambda text, context: source(3))
    own = tmp_path / "own.keras"
    own.touch()
    seeds = [
        open_seed(text, fake_runner(), RunnerSettings(), ("fake:a",), 0, None, silent)[0]
        for text in (str(own), "zoo:s")
    ]
    assert [seed.name for seed in seeds] == ["own.keras", seeds[1].graph.name or "zoo:s"]


def test_a_comparison_uses_the_first_thousand_of_them_where_nobody_says_how_many() -> None:
    assert source(1_200).pick_data(None, None, 0, {}).count == OWN_INSTANCES == 1_000
    assert source(1_200).pick_data(None, 1_100, 0, {}).count == 1_100


def test_the_transformer_is_a_seed_model(fake_runner: Any, tmp_path: Path) -> None:
    settings = RunnerSettings(cache=tmp_path)
    seed, notes = open_seed("zoo:transformer", fake_runner(), settings, ("keras:torch",), 0, None, silent)
    assert "MultiHeadAttention" in {node.op for node in seed.graph.nodes}
    assert notes
