"""A case in torch: outputs by ``output/N``, gradients by ``gradient/`` and the name of what they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from . import attention, dense, functions, mel, moving, recurrent, spatial  # noqa: F401, they register
from .losses import LOSSES
from .optimizers import OPTIMIZERS, steps
from .registry import LAYERS, Tensor

Arrays = dict[str, np.ndarray]


def _tensor(array: np.ndarray) -> Tensor:
    if array.dtype.kind == "i":
        return torch.from_numpy(array.astype(np.int64))
    return torch.from_numpy(array.astype(np.float64)).requires_grad_()


def compute_layer(case: dict[str, Any], arrays: Arrays) -> Arrays:
    given = {name: _tensor(array) for name, array in arrays.items() if not name.startswith("cotangent/")}
    inputs = [given[name] for name in case["inputs"]]
    weights = {name.removeprefix("weight/"): given[name] for name in given if name.startswith("weight/")}
    found = LAYERS[case["op"]](case["params"], inputs, weights)
    outputs = list(found) if isinstance(found, (tuple, list)) else [found]
    results = {f"output/{index}": output.detach().numpy() for index, output in enumerate(outputs)}
    return results | gradients(outputs, arrays, {name: given[name] for name in case["moved"]})


def gradients(outputs: list[Tensor], arrays: Arrays, moved: dict[str, Tensor]) -> Arrays:
    connected = [(output, torch.from_numpy(arrays[f"cotangent/{n}"])) for n, output in enumerate(outputs)]
    connected = [pair for pair in connected if pair[0].requires_grad]
    if not moved or not connected:
        return {}
    found = torch.autograd.grad(
        [output for output, _ in connected],
        list(moved.values()),
        [cotangent for _, cotangent in connected],
        allow_unused=True,
    )
    return {
        f"gradient/{name}": np.zeros(tensor.shape) if gradient is None else gradient.numpy()
        for (name, tensor), gradient in zip(moved.items(), found, strict=True)
    }


def compute_loss(case: dict[str, Any], arrays: Arrays) -> Arrays:
    labels, guess = (_tensor(arrays[name]) for name in ("input/0", "input/1"))
    found = LOSSES[case["op"]](case["params"], labels.detach(), guess)
    return {"output/0": found.detach().numpy()} | gradients([found], arrays, {"input/1": guess})


def compute_steps(case: dict[str, Any], arrays: Arrays) -> Arrays:
    found = steps(case["op"], case["params"], arrays["input/0"], arrays["input/1"])
    return {f"output/{index}": weight for index, weight in enumerate(found)}


KINDS = {"layer": compute_layer, "loss": compute_loss, "optimizer": compute_steps}
COVERS = {"layer": sorted(LAYERS), "loss": sorted(LOSSES), "optimizer": sorted(OPTIMIZERS)}
