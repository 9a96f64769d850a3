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


def _adafactor(p: Params, w: Tensor) -> Optimizer:
    """Torch always has relative steps: at rates of at most 0.1 they are the plain ones up to step 100."""
    eps = (p["epsilon_1"], p["epsilon_2"])
    optimizer = torch.optim.Adafactor([w], p["learning_rate"], p["beta_2_decay"], eps)
    optimizer.param_groups[0]["d"] = p["clip_threshold"]  # of which the constructor refuses less than 1
    return optimizer


class _ScheduleFree:
    """z steps as Adam without momentum, x is the mean of all z, and the weight lies between the two."""

    def __init__(self, p: Params, w: Tensor) -> None:
        self._p, self._w = p, w
        self._z, self._seen = torch.nn.Parameter(w.detach().clone()), []
        self._adam = torch.optim.Adam([self._z], p["learning_rate"], (0.0, p["beta_2"]), p["epsilon"])

    def step(self) -> None:
        number = len(self._seen) + 1
        warmth = min(1.0, number / self._p["warmup_steps"]) if self._p["warmup_steps"] else 1.0
        self._adam.param_groups[0]["lr"] = self._p["learning_rate"] * warmth
        self._z.grad = self._w.grad
        self._adam.step()
        self._seen.append(self._z.detach().clone())
        mean = torch.stack(self._seen).mean(dim=0)
        self._w.data = torch.lerp(self._z.detach(), mean, self._p["beta_1"])


class _Muon:
    """Newton and Schulz change singular values only. ``torch.optim.Muon`` does it in bfloat16, which is no source."""

    def __init__(self, p: Params, w: Tensor) -> None:
        self._p, self._w, self._momentum = p, w, torch.zeros_like(w.detach())

    def step(self) -> None:
        p, grad = self._p, self._w.grad
        self._momentum = self._momentum * p["momentum"] + grad
        ahead = grad + p["momentum"] * self._momentum if p["nesterov"] else self._momentum
        left, values, right = torch.linalg.svd(ahead, full_matrices=False)
        values = values / (values.norm() + 1e-7)
        for _ in range(p["ns_steps"]):
            values = p["muon_a"] * values + p["muon_b"] * values**3 + p["muon_c"] * values**5
        scale = 1.0 if p["rms_rate"] is None else p["rms_rate"] * math.sqrt(max(ahead.shape))
        kept = self._w.detach() * (1 - p["learning_rate"] * p["weight_decay"])
        self._w.data = kept - p["learning_rate"] * scale * (left * values) @ right


class _LossScale:
    """The inner optimizer behind ``torch.amp.GradScaler``, which divides, looks for infinities and grows."""

    def __init__(self, p: Params, w: Tensor) -> None:
        self._w, self._inside, self._number = w, p["inside"], 0
        self._name = p["inner_optimizer"]["class_name"]
        self._optimizer = OPTIMIZERS[self._name](self._inside, w)
        self._scaler = torch.amp.GradScaler(
            "cpu", init_scale=p["initial_scale"], growth_interval=p["dynamic_growth_steps"]
        )
        self._scaler.scale(torch.ones(()))  # its scale is made by the first use

    def step(self) -> None:
        self._number += 1
        self._scaler.unscale_(self._optimizer)
        if self._inside["clipnorm"]:  # torch's own clipping adds 1e-6 to the norm
            self._w.grad *= min(1.0, self._inside["clipnorm"] / float(self._w.grad.norm()))
        _set_epsilon(self._name, self._inside, self._optimizer, self._number)
        self._scaler.step(self._optimizer)
        self._scaler.update()


def _set_epsilon(name: str, p: Params, optimizer: Any, number: int) -> None:
    """Keras adds epsilon before the bias of the root is corrected."""
    if name in ("Adam", "AdamW"):
        optimizer.param_groups[0]["eps"] = p["epsilon"] / math.sqrt(1.0 - p["beta_2"] ** number)


OPTIMIZERS: dict[str, Callable[[Params, Tensor], Any]] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adamw,
    "Adagrad": _adagrad,
    "Adadelta": _adadelta,
    "Nadam": _nadam,
    "Adafactor": _adafactor,
    "ScheduleFreeAdamW": _ScheduleFree,
    "Muon": _Muon,
    "LossScaleOptimizer": _LossScale,
}


def steps(name: str, p: Params, weight: Any, gradients: Any) -> list[Any]:
    """The weight after each step."""
    torch.set_default_dtype(torch.float64)  # NAdam keeps a product of its own in the default dtype
    w = torch.nn.Parameter(torch.from_numpy(weight.copy()))
    optimizer, found = OPTIMIZERS[name](p, w), []
    for number, gradient in enumerate(gradients, start=1):
        _set_epsilon(name, p, optimizer, number)
        w.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        found.append(w.detach().numpy().copy())
    return found
