"""ONNX operators by the node tests of the onnx package, for every runtime that takes ONNX."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ...core.arrays import Array
from ...core.atomic import replacing_file
from ...core.case import Case, ModelFile
from ...core.errors import TensorParityError
from ...core.onnx.layers import Feeding, OnnxLayers
from ...core.onnx.model import parse_model
from ...core.onnx.wire import WireError
from ...core.outcome import Outcome


def node_cases(outcome: Outcome, folder: Path) -> Iterator[tuple[str, Case]]:
    """The operator's name and a case of it; ``outcome`` has the node tests (``Goal.SAMPLES``), ``folder`` their files.

    A model that our reader refuses is left out.
    """
    for place, sample in enumerate(outcome.reply["samples"] if outcome.reply else ()):
        model = outcome.outputs[f"{place}:model"].tobytes()
        inputs = {name: outcome.outputs[f"{place}/{name}"] for name in sample["arrays"]}
        try:
            feeding = OnnxLayers(parse_model(model).graph).feeding
        except (TensorParityError, WireError):
            continue
        yield sample["of"], Case(_kept(model, folder), inputs=_as_instances(inputs, feeding))


def _kept(model: bytes, folder: Path) -> ModelFile:
    digest = hashlib.sha256(model).hexdigest()
    path = folder / f"{digest[:24]}.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with replacing_file(path) as file:
            file.write(model)
    return ModelFile(str(path), digest, "onnx")


def _as_instances(inputs: dict[str, Array], feeding: Feeding) -> dict[str, Array]:
    """Where a file has no common batch axis, a set of inputs is one instance of it."""
    return {name: array[None] for name, array in inputs.items()} if feeding is Feeding.ITEMS else inputs
