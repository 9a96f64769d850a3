"""Optimizers of ``torch.optim`` that do what Keras' do, their settings put into Keras' words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .registry import Params, Tensor

Optimizer = torch.optim.Optimizer


def _betas(p: Params) -> tuple[float, float]:
    return p["beta_1"], p["beta_2"]


def _sgd(p: Params, w: Tensor) -> Optimizer:
    nesterov = p["nesterov"] and p["momentum"] > 0
    return torch.optim.SGD([w], p["learning_rate"], p["momentum"], nesterov=nesterov)


def _adam(p: Params, w: Tensor) -> Optimizer:
    return torch.optim.Adam([w], p["learning_rate"], _betas(p), amsgrad=p["amsgrad"])


def _adamw(p: Params, w: Tensor) -> Optimizer:
    return torch.optim.AdamW([w], p["learning_rate"], _betas(p), weight_decay=p["weight_decay"], amsgrad=p["amsgrad"])


def _adagrad(p: Params, w: Tensor) -> Optimizer:
    """Keras' epsilon is under the root: part of what is accumulated from the start."""
    start = p["initial_accumulator_value"] + p["epsilon"]
    return torch.optim.Adagrad([w], p["learning_rate"], initial_accumulator_value=start, eps=0.0)


def _adadelta(p: Params, w: Tensor) -> Optimizer:
    return torch.optim.Adadelta([w], p["learning_rate"], p["rho"], p["epsilon"])


def _nadam(p: Params, w: Tensor) -> Optimizer:
    """The exponent of the warm-up is the step times the decay; Keras has the step."""
    return torch.optim.NAdam([w], p["learning_rate"], _betas(p), p["epsilon"], momentum_decay=1.0)


OPTIMIZERS: dict[str, Callable[[Params, Tensor], Optimizer]] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adamw,
    "Adagrad": _adagrad,
    "Adadelta": _adadelta,
    "Nadam": _nadam,
}


def steps(name: str, p: Params, weight: Any, gradients: Any) -> list[Any]:
    """The weight after each step."""
    torch.set_default_dtype(torch.float64)  # NAdam keeps a product of its own in the default dtype
    w = torch.nn.Parameter(torch.from_numpy(weight.copy()))
    optimizer, found = OPTIMIZERS[name](p, w), []
    for number, gradient in enumerate(gradients, start=1):
        if name in ("Adam", "AdamW"):  # Keras adds epsilon before the bias of the root is corrected
            optimizer.param_groups[0]["eps"] = p["epsilon"] / math.sqrt(1.0 - p["beta_2"] ** number)
        w.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        found.append(w.detach().numpy().copy())
    return found
