"""Models in files: what is known of each once it has been opened, kept as JSON. The file is not needed again."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.graph import LayerGraph
from tensorparity.core.model import Model
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal
from tensorparity.core.runner import Runner
from tensorparity.targets.catalogue import traits_of

FOLDER = Path(__file__).parent / "models"

#: By name, what makes the file at PATH; Keras runs on torch there.
SOURCES = {
    "pictures.keras": """
import keras
keras.utils.set_random_seed(0)
x = keras.Input((5, 5, 2))
y = keras.layers.Conv2D(3, 3, padding="same", activation="relu", name="conv")(x)
y = keras.layers.AveragePooling2D(2, padding="same", name="pool")(y)
y = keras.layers.BatchNormalization(name="norm")(y)
y = keras.layers.Flatten(name="flat")(y)
keras.Model(x, keras.layers.Dense(3, activation="softmax", name="out")(y)).save(PATH)
""",
    "rows.pt2": """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3), torch.nn.Softmax(-1)).eval()
batch = torch.export.Dim("batch")
torch.export.save(torch.export.export(model, (torch.zeros(2, 4),), dynamic_shapes=({0: batch},)), PATH)
""",
    "chain.onnx": """
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
rng = np.random.default_rng(0)
weights = {"w": (4, 5), "b": (5,), "v": (5, 3)}
nodes = [
    helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
    helper.make_node("Add", ["h", "b"], ["s"], "sum"),
    helper.make_node("Sigmoid", ["s"], ["a"], "squash"),
    helper.make_node("MatMul", ["a", "v"], ["y"], "last"),
]
graph = helper.make_graph(
    nodes,
    "chain",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
    [numpy_helper.from_array(rng.standard_normal(s).astype("float32"), n) for n, s in weights.items()],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), PATH)
""",
}


@dataclass(frozen=True)
class Opened:
    """A model of a file with its layers, and the inputs that it is run on."""

    model: Model
    inputs: dict[str, Array]

    @property
    def unread(self) -> Model:
        """As it is before anybody has asked for its layers; those of ONNX files are known at once."""
        if self.model.file is not None and self.model.file.format == "onnx":
            return self.model
        return replace(self.model, graph=None, weights={})


class Reading:
    """A runner for which the layers of the opened file are known, whoever is asked to read them."""

    def __init__(self, runner: Runner, opened: Opened) -> None:
        self._runner = runner
        self._model = opened.model

    @property
    def targets(self) -> Sequence[str]:
        return self._runner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        others = [pair for pair in pairs if pair[0].procedure.goal is not Goal.LAYERS]
        rest = iter(self._runner.run_pairs(others, fresh=fresh, deadline_factor=deadline_factor))
        return [self._read(target) if case.procedure.goal is Goal.LAYERS else next(rest) for case, target in pairs]

    def _read(self, target: str) -> Outcome:
        assert self._model.graph is not None
        graph = {"graph": self._model.graph.to_json()}
        return Outcome(target, Status.COMPLETED, dict(self._model.weights), reply=graph)


def make(name: str, folder: Path) -> Path:
    """Write the file, in a process of its own."""
    path = folder / name
    variables = {**os.environ, "KERAS_BACKEND": "torch", "CUDA_VISIBLE_DEVICES": "-1"}
    script = f"PATH = {str(path)!r}\n{SOURCES[name]}"
    subprocess.run([sys.executable, "-c", script], env=variables, check=True, capture_output=True)
    return path


def keep(name: str, opened: Opened) -> None:
    """Write down all that is known; of paths the last part only."""
    model = opened.model
    document = {
        "name": model.name,
        "graph": model.graph.to_json() if model.graph else None,
        "weights": _written(model.weights),
        "file": _bare(model.file).to_json() if model.file else None,
        "files": {target: _bare(file).to_json() for target, file in model.files.items()},
        "batch": model.batch,
        "inputs": _written(opened.inputs),
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


def read(name: str) -> Opened:
    """The inverse of ``keep``."""
    document = json.loads((FOLDER / f"{name}.json").read_text())
    model = Model(
        document["name"],
        LayerGraph.from_json(document["graph"]) if document["graph"] else None,
        _read(document["weights"]),
        ModelFile.from_json(document["file"]) if document["file"] else None,
        {target: ModelFile.from_json(file) for target, file in document["files"].items()},
        document["batch"],
        traits_of(document["files"]),
    )
    return Opened(model, _read(document["inputs"]))


def _bare(file: ModelFile) -> ModelFile:
    return replace(file, path=Path(file.path).name)


def _written(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {
        name: [array.dtype.name, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]
        for name, array in arrays.items()
    }


def _read(written: Mapping[str, Any]) -> dict[str, Array]:
    return {
        name: np.frombuffer(base64.b64decode(text), dtype).reshape(shape)
        for name, (dtype, shape, text) in written.items()
    }
