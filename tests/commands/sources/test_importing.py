"""Layers read from a file: with everything they are called with, and functions told from layers of the same name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensorparity.commands.whole_models import ModelExaminer
from tensorparity.core.case import ModelFile
from tensorparity.core.graph import LayerGraph
from tensorparity.core.model import Model
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError
from tensorparity.oracles.whole.cases import one_layer_case
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.model_layers import read_model
from tensorparity.targets.runner import open_runner

TARGET = "keras:torch"

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def model(save_keras: Callable[[str, str], Path]) -> Model:
    path = save_keras(
        "called.keras",
        """
        x = keras.Input((5, 4), name="x")
        attended = keras.layers.MultiHeadAttention(2, 2, name="causal")(x, x, use_causal_mask=True)
        plus = attended + 3.0
        state = keras.layers.GlobalAveragePooling1D(name="mean")(plus)
        model = keras.Model(x, keras.layers.GRU(4, name="gru")(plus, initial_state=state))
        """,
    )
    file = ModelFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
    with open_runner([TARGET]) as runner:
        return read_model(runner, Model("called", file=file, traits=traits_of([TARGET])), [TARGET])


def graph_of(model: Model) -> LayerGraph:
    assert model.graph is not None
    return model.graph


def test_arguments_of_a_call_are_kept(model: Model) -> None:
    calls = {node.op: dict(node.call_params) for node in graph_of(model).nodes}
    assert calls["MultiHeadAttention"] == {"use_causal_mask": True}
    assert calls["keras.ops.Add"] == {"1": 3.0}
    assert calls["GRU"] == {"initial_state": "<tensor>"}


def test_a_reference_that_cannot_know_an_argument_is_none(model: Model) -> None:
    (gru,) = (node for node in graph_of(model).nodes if node.op == "GRU")
    with pytest.raises(ShapeError):
        evaluate_node(gru, [np.zeros((1, 5, 4), np.float32), np.zeros((1, 4), np.float32)], model.weights)


@pytest.mark.parametrize(("op", "in_file"), [("MultiHeadAttention", False), ("GRU", True), ("keras.ops.Add", True)])
def test_what_a_graph_cannot_say_stays_in_its_file(model: Model, op: str, in_file: bool) -> None:
    (node,) = (node for node in graph_of(model).nodes if node.op == op)
    case = one_layer_case(model, node, [np.zeros((1, 5, 4), np.float32)] * len(node.inputs), seed=0)
    assert isinstance(case.subject, ModelFile) is in_file


def test_no_layer_is_accused_of_its_arguments(model: Model) -> None:
    rng = np.random.default_rng(1)
    inputs = {"x": rng.standard_normal((2, 5, 4)).astype(np.float32)}
    targets = [TARGET, f"{TARGET}{{threads=2}}"]
    with open_runner(targets) as runner:
        examiner = ModelExaminer(runner, model, targets, traits_of(targets), settings={"localize": "always"})
        examined = examiner.examine(inputs, {})
    assert examined.suspicions == []
    errors = {item.node.op: item for item in examined.measured}
    assert errors["MultiHeadAttention"].judged_by == "reference"
    assert max(errors["MultiHeadAttention"].errors.values()) < 16
