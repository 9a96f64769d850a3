"""Keras models exported to ONNX by Keras, on each backend that can: the whole, and every layer, traced and alone."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import EXPORTED_ONNX, Case, ModelFile
from tensorparity.core.graph import LayerGraph
from tensorparity.core.model import node_inputs
from tensorparity.core.outcome import Outcome
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.targets.lowering.onnx_export import steps_of
from tensorparity.targets.requests import Reply
from tensorparity.targets.runner import LocalRunner, open_runner

pytestmark = [
    pytest.mark.onnxruntime,
    pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="not installed: onnx"),
]
EXPORTERS = [
    pytest.param(("torch", "keras-torch"), marks=pytest.mark.torch, id="torch"),
    # the end-to-end tests export on TensorFlow, too
    pytest.param(("tensorflow", "keras-tf2onnx"), marks=[pytest.mark.tensorflow, pytest.mark.slow], id="tensorflow"),
]
RNG = np.random.default_rng(3)
#: Two inputs that are not in alphabetical order, one by a name that TensorFlow changes.
INPUTS: dict[str, Array] = {
    "some pixels": RNG.standard_normal((5, 7, 9, 2)).astype(np.float32),
    "ids": RNG.integers(0, 6, (5, 4)).astype(np.int32),
}
MODEL = """
    import numpy
    L = keras.layers
    pixels, ids = keras.Input((7, 9, 2), name="some pixels"), keras.Input((4,), dtype="int32", name="ids")
    inner = keras.Sequential([L.Input((5,)), L.Dense(5, activation="elu", name="in_dense")], name="inner")
    dense = L.Dense(5, name="shared")
    a = L.BatchNormalization(name="norm")(L.Conv2D(3, 3, strides=2, padding="same", name="conv")(pixels))
    a = L.Dropout(0.5, name="drop")(L.Flatten(name="flat")(a))
    a = inner(L.Dense(5, name="narrow")(a))
    b = L.GRU(5, name="gru")(L.Embedding(6, 3, mask_zero=True, name="embed")(ids))
    b = inner(dense(dense(b)))
    model = keras.Model([pixels, ids], [L.Add(name="sum")([a, b]), b])
    rng = numpy.random.default_rng(1)
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(rng.uniform(0.2, 0.9, weight.shape))
"""


@pytest.fixture(scope="module")
def path(save_keras: Any) -> Path:
    return Path(save_keras("several.keras", MODEL))


@pytest.fixture(scope="module", params=EXPORTERS)
def desk(request: pytest.FixtureRequest, path: Path) -> Iterator[Desk]:
    backend, exporter = request.param
    if backend == "tensorflow":
        pytest.importorskip("tf2onnx")
    with open_runner([f"keras:{backend}", "onnxruntime"]) as runner:
        yield Desk(runner, f"keras:{backend}", exporter, path)


class Desk:
    """A Keras worker that exports the model, and a runtime that runs what it wrote."""

    def __init__(self, runner: LocalRunner, target: str, exporter: str, path: Path) -> None:
        self.runner, self.target, self.exporter = runner, target, exporter
        self.original = ModelFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
        self.reply = self._ask("export", form="onnx")
        self.graph = LayerGraph.from_json(self._ask("import").header["graph"])

    def _ask(self, request: str, **header: Any) -> Reply:
        asked = {"do": request, "path": self.original.path, "sha256": self.original.sha256, **header}
        return self.runner.ask(self.target, asked, {}, 300)

    def written(self, folder: Path) -> ModelFile:
        model, steps = (self.reply.arrays[f"weights:{name}"].tobytes() for name in ("model", "steps"))
        path = folder / "exported.onnx"
        path.write_bytes(model)
        steps_of(path, hashlib.sha256(steps).hexdigest()).write_bytes(steps)
        return ModelFile(str(path), hashlib.sha256(model).hexdigest(), EXPORTED_ONNX)

    def run(self, file: ModelFile, procedure: Procedure, inputs: dict[str, Array]) -> Outcome:
        target = "onnxruntime" if file.format == EXPORTED_ONNX else self.target
        (outcome,) = self.runner.run_pairs([(Case(file, procedure, inputs), target)])
        assert outcome.completed, outcome.failure
        return outcome


def same(found: Any, expected: Any) -> None:
    assert set(found) == set(expected)
    for name, array in found.items():
        np.testing.assert_allclose(array, expected[name], rtol=2e-5, atol=2e-6, err_msg=name)


def test_the_export_is_the_same_model(desk: Desk, tmp_path: Path) -> None:
    assert desk.reply.header["exporter"] == desk.exporter
    exported = desk.written(tmp_path)
    for count in (5, 3):  # the batch is open
        few = {name: array[:count] for name, array in INPUTS.items()}
        original = desk.run(desk.original, Procedure(), few)
        same(desk.run(exported, Procedure(), few).outputs, original.outputs)


def test_every_layer_is_traced_under_its_own_name(desk: Desk, tmp_path: Path) -> None:
    original = desk.run(desk.original, Procedure(trace=True), INPUTS)
    traced = desk.run(desk.written(tmp_path), Procedure(trace=True), INPUTS)
    same(traced.outputs, original.outputs)
    assert {"inner.in_dense#0", "inner.in_dense#1", "shared#1", "drop#0"} <= set(traced.trace.nodes)
    assert desk.reply.header["count"] == len(desk.graph.nodes)
    assert {node.key for node in desk.graph.nodes} == set(desk.reply.header["layers"])
    same(traced.trace.nodes, original.trace.nodes)


def test_every_layer_runs_alone(desk: Desk, tmp_path: Path) -> None:
    original = desk.run(desk.original, Procedure(trace=True), INPUTS).trace.nodes
    # on halves: what leaks in from the rest of the file would show
    halves = {key: array / 2 if array.dtype == np.float32 else array for key, array in original.items()}
    given = {
        f"{node.key}/{index}": array
        for node in desk.graph.nodes
        for index, array in enumerate(node_inputs(desk.graph, node, INPUTS, halves))
    }
    replay = Procedure(goal=Goal.REPLAY, nodes=tuple(node.key for node in desk.graph.nodes))
    alone = desk.run(desk.written(tmp_path), replay, given).trace.nodes
    assert {node.key for node in desk.graph.nodes} == set(alone)
    same(alone, desk.run(desk.original, replay, given).trace.nodes)
