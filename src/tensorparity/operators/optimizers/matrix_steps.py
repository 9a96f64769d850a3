"""Optimizers that look at a whole weight, or at where it has been: one documented step of each, in float64."""

from __future__ import annotations

import re

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth
from ..spec import Evaluation, Parameter, Params
from .options import Surroundings
from .spec import OptimizerSpec, State, slot

_RATE = Parameter("learning_rate", 0.001, (0.001, 0.01, 0.1), ("fast",))


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def _adafactor(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    kept = 1.0 - number ** params["beta_2_decay"]
    squares = np.square(gradient) + params["epsilon_1"]
    if gradient.ndim >= 2:
        rows = kept * state.get("rows", 0.0) + (1.0 - kept) * squares.mean(axis=-1)
        columns = kept * state.get("columns", 0.0) + (1.0 - kept) * squares.mean(axis=-2)
        shares = rows / rows.mean(axis=-1, keepdims=True)
        second = shares[..., None] * columns[..., None, :]
        slots = {"rows": rows, "columns": columns}
    else:
        second = kept * slot(state, "squares", gradient) + (1.0 - kept) * squares
        slots = {"squares": second}
    update = gradient / np.sqrt(second)
    rate = params["learning_rate"]
    rate = min(rate, 1.0 / np.sqrt(number)) if params["relative_step"] else rate
    size = max(params["epsilon_2"], _rms(weight)) * rate
    change = -size * update / max(1.0, _rms(update) / params["clip_threshold"])
    # 1 - n^decay is formed in the dtype; the rest are means, quotients and roots.
    terms = 16.0 + 4.0 * growth(gradient.size) + 1.0 / max(1.0 - kept, 1e-3)
    return Evaluation(change, terms * np.abs(change)), slots


def _schedule_free(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    beta_1, beta_2 = params["beta_1"], params["beta_2"]
    warm = params["warmup_steps"]
    rate = params["learning_rate"] * (min(number / warm, 1.0) if warm else 1.0)
    before, old_square = state["momentum"], slot(state, "velocity", gradient)
    square = old_square + (np.square(gradient) - old_square) * (1.0 - beta_2)
    left = 1.0 - beta_2**number
    pull = rate * gradient / (np.sqrt(square / left) + params["epsilon"])
    z = before - pull
    x = (weight - (1.0 - beta_1) * before) / beta_1
    x = (1.0 - 1.0 / number) * x + z / number
    new = (1.0 - beta_1) * z + beta_1 * x
    # x is found again from y and z, which were rounded when they were stored, once per step.
    sizes = (np.abs(weight) + np.abs(before)) * (2.0 + number) / beta_1 + (number / left + 6.0) * np.abs(pull)
    return Evaluation(new - weight, 2.0 * sizes), {"momentum": z, "velocity": square}


def _starts_at_the_weight(params: Params, weight: Array) -> State:
    return {"momentum": weight}


def _takes_adam(params: Params, weight: Array, around: Surroundings) -> bool:
    if weight.ndim != 2:
        return True
    if params["exclude_embeddings"] and "embedding" in around.path.lower():
        return True
    return any(re.search(keyword, around.path) for keyword in params["exclude_layers"] or ())


def _muon_decay(params: Params, weight: Array, around: Surroundings) -> float:
    name = "adam_weight_decay" if _takes_adam(params, weight, around) else "weight_decay"
    return float(params[name] or 0.0)


def _muon(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    if _takes_adam(params, weight, around):
        return _adam_of_muon(params, gradient, state, number)
    kept = params["momentum"]
    momentum = kept * slot(state, "momentum", gradient) + gradient
    ahead = gradient + kept * momentum if params["nesterov"] else momentum
    direction = _orthogonal(params, ahead)
    scale = params["learning_rate"]
    if params["rms_rate"] is not None:
        scale *= np.sqrt(max(weight.shape)) * params["rms_rate"]
    return Evaluation(-scale * direction.value, scale * direction.kappa), {"momentum": momentum}


def _adam_of_muon(params: Params, gradient: Array, state: State, number: int) -> tuple[Evaluation, State]:
    first, second = slot(state, "momentum", gradient), slot(state, "velocity", gradient)
    beta_1, beta_2 = params["adam_beta_1"], params["adam_beta_2"]
    first = first + (gradient - first) * (1.0 - beta_1)
    second = second + (np.square(gradient) - second) * (1.0 - beta_2)
    left_1, left_2 = 1.0 - beta_1**number, 1.0 - beta_2**number
    rate = params["learning_rate"] * params["adam_lr_ratio"] * np.sqrt(left_2) / left_1
    change = -rate * first / (np.sqrt(second) + params["epsilon"])
    relative = number * (1.0 / left_1 + 0.5 / left_2) + 8.0
    return Evaluation(change, relative * np.abs(change)), {"momentum": first, "velocity": second}


def _orthogonal(params: Params, x: Array) -> Evaluation:
    """Newton and Schulz: a x + (b A + c A A) x with A = x x^T, so many times, the short side first."""
    a, b, c = params["muon_a"], params["muon_b"], params["muon_c"]
    turned = x.shape[-2] > x.shape[-1]
    x = x.T if turned else x
    x = x / (np.linalg.norm(x) + 1e-7)
    terms = growth(x.shape[-1]) + 2.0
    kappa = terms * np.abs(x)
    for _ in range(params["ns_steps"]):
        square = x @ x.T
        mixed = b * square + c * square @ square
        # A small direction grows by a in each round, and so does what rounding has made of it.
        sizes = abs(b) * np.abs(square) + abs(c) * np.abs(square) @ np.abs(square)
        kappa = abs(a) * kappa + np.mean(abs(a) * np.abs(x) + terms * (sizes @ np.abs(x)))
        x = a * x + mixed @ x
    return Evaluation(x.T, kappa.T) if turned else Evaluation(x, kappa)


MATRIX_OPTIMIZERS = (
    OptimizerSpec(
        "Adafactor",
        "keras.optimizers.Adafactor",
        (
            Parameter("learning_rate", 0.001, (0.001, 0.01, 0.1), ("fast",)),
            Parameter("beta_2_decay", -0.8, (-0.8, -0.5), ("much",)),
            Parameter("epsilon_1", 1e-30, (1e-30, 1e-6), ("much",)),
            Parameter("epsilon_2", 1e-3, (1e-3, 10.0), ("much",)),
            Parameter("clip_threshold", 1.0, (1.0, 0.25), ("much",)),
            Parameter("relative_step", True, (True, False)),
        ),
        _adafactor,
        "w -= max(epsilon_2, rms(w)) min(rate, 1 / sqrt(n)) u / max(1, rms(u) / clip_threshold), u = g / sqrt(v); of "
        "a weight with two axes v is the product of the running means of g^2 along rows and columns",
    ),
    OptimizerSpec(
        "ScheduleFreeAdamW",
        "keras.optimizers.ScheduleFreeAdamW",
        (
            Parameter("learning_rate", 0.0025, (0.0025, 0.1), ("fast",)),
            Parameter("beta_1", 0.9, (0.9, 0.5), ("much",)),
            Parameter("beta_2", 0.999, (0.999, 0.9), ("much",)),
            Parameter("epsilon", 1e-8, (1e-8, 1e-3), ("much",)),
            Parameter("warmup_steps", 0, (0, 2), ("much",)),
        ),
        _schedule_free,
        "z -= rate g / (sqrt(v / (1 - beta_2^n)) + epsilon); x = (1 - 1/n) x + z / n; w = (1 - beta_1) z + beta_1 x",
        start=_starts_at_the_weight,
    ),
    OptimizerSpec(
        "Muon",
        "keras.optimizers.Muon",
        (
            _RATE,
            Parameter("adam_beta_1", 0.9, (0.9, 0.5), ("much",)),
            Parameter("adam_beta_2", 0.999, (0.999, 0.9), ("much",)),
            Parameter("adam_weight_decay", 0.004, (0.004, 0.1), ("much",)),
            Parameter("epsilon", 1e-7, (1e-7, 1e-3), ("much",)),
            Parameter("weight_decay", 0.004, (0.004, 0.1), ("much",)),
            Parameter("exclude_layers", None, (None, ["kernel"])),
            Parameter("exclude_embeddings", True, (True, False)),
            Parameter("muon_a", 3.4445, (3.4445,), ("much",)),
            Parameter("muon_b", -4.7750, (-4.7750,), ("much",)),
            Parameter("muon_c", 2.0315, (2.0315,), ("much",)),
            Parameter("adam_lr_ratio", 1, (1, 0.5), ("much",)),
            Parameter("momentum", 0.95, (0.95, 0.5), ("much",)),
            Parameter("ns_steps", 5, (5, 2), (1.5, "much")),
            Parameter("nesterov", True, (True, False)),
            Parameter("rms_rate", 0.2, (0.2, None), ("much",)),
        ),
        _muon,
        "of a weight with two axes: the momentum, made nearly orthogonal by Newton and Schulz, times rate "
        "sqrt(longer side) rms_rate; of any other, of embeddings and of layers to exclude, AdamW's step",
        decay=_muon_decay,
    ),
)
