"""Losses by torch's functions, averaged as Keras does by default; labels and predictions by output name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....core.arrays import Array
from ....core.jsontext import Json
from ....operators.losses import LOSSES
from ....operators.spec import Params
from .program import Dtype, ProgramWriter, Refusal, Sizes, Tensor

#: Keras' fuzz factor.
_EPSILON = 1e-7


@dataclass(frozen=True, slots=True)
class Scene:
    """One output and its labels, of which the host knows the numbers."""

    writer: ProgramWriter
    params: Params
    labels: Tensor
    predictions: Tensor
    truth: Array
    shape: Sizes

    def emit(self, api: str, *args: object, **kwargs: object) -> Tensor:
        return self.writer.emit(api, *args, **kwargs)

    def mean(self, x: Tensor) -> Tensor:
        return self.emit("mean", x)

    def clamp(self, x: Tensor, low: float = _EPSILON, high: float | None = None) -> Tensor:
        return self.emit("clamp", x, min=low) if high is None else self.emit("clamp", x, low, high)


Loss = Callable[[Scene], Tensor]


def _direct(api: str, **named: str) -> Loss:
    """A function of torch that takes predictions and labels; ``named`` are its parameters by Keras' names for them."""

    def loss(scene: Scene) -> Tensor:
        options = {name: float(scene.params[own]) for name, own in named.items()}
        return scene.emit(f"nn.functional.{api}", scene.predictions, scene.labels, **options)

    return loss


def _smoothed(scene: Scene, share: float) -> Tensor:
    """Labels mixed with ``share``, as far as ``label_smoothing`` says."""
    smoothing = float(scene.params["label_smoothing"])
    if not smoothing:
        return scene.labels
    return scene.emit("add", scene.emit("mul", scene.labels, 1.0 - smoothing), smoothing * share)


def _binary(scene: Scene) -> Tensor:
    truth = _smoothed(scene, 0.5)
    if scene.params["from_logits"]:
        return scene.emit("nn.functional.binary_cross_entropy_with_logits", scene.predictions, truth)
    chances = scene.clamp(scene.predictions, high=1.0 - _EPSILON)
    return scene.emit("nn.functional.binary_cross_entropy", chances, truth)


def _log_probabilities(scene: Scene) -> Tensor:
    if scene.params["from_logits"]:
        return scene.emit("nn.functional.log_softmax", scene.predictions, dim=-1)
    return scene.emit("log", _probabilities(scene))


def _probabilities(scene: Scene) -> Tensor:
    total = scene.emit("sum", scene.predictions, dim=-1, keepdim=True)
    return scene.clamp(scene.emit("div", scene.predictions, total), high=1.0 - _EPSILON)


def _categorical(scene: Scene) -> Tensor:
    terms = scene.emit("mul", _smoothed(scene, 1.0 / scene.shape[-1]), _log_probabilities(scene))
    return scene.emit("neg", scene.mean(scene.emit("sum", terms, dim=-1)))


def _sparse(scene: Scene) -> Tensor:
    classes = scene.emit("reshape", scene.emit("Tensor.to", scene.labels, Dtype("int64")), [-1])
    logs = scene.emit("reshape", _log_probabilities(scene), [-1, scene.shape[-1]])
    return scene.emit("nn.functional.nll_loss", logs, classes)


def _percentage(scene: Scene) -> Tensor:
    off = scene.emit("abs", scene.emit("sub", scene.labels, scene.predictions))
    size = scene.clamp(scene.emit("abs", scene.labels))
    return scene.emit("mul", scene.mean(scene.emit("div", off, size)), 100.0)


def _logarithmic(scene: Scene) -> Tensor:
    logs = [scene.emit("log1p", scene.clamp(x)) for x in (scene.predictions, scene.labels)]
    return scene.emit("nn.functional.mse_loss", *logs)


def _cosine(scene: Scene) -> Tensor:
    units = [scene.emit("nn.functional.normalize", x, dim=-1, eps=_EPSILON) for x in (scene.labels, scene.predictions)]
    return scene.emit("neg", scene.mean(scene.emit("sum", scene.emit("mul", *units), dim=-1)))


def _log_cosh(scene: Scene) -> Tensor:
    x = scene.emit("sub", scene.predictions, scene.labels)
    rest = scene.emit("nn.functional.softplus", scene.emit("mul", x, -2.0))
    return scene.emit("sub", scene.mean(scene.emit("add", x, rest)), math.log(2.0))


def _poisson(scene: Scene) -> Tensor:
    return scene.emit(
        "nn.functional.poisson_nll_loss", scene.predictions, scene.labels, log_input=False, full=False, eps=_EPSILON
    )


def _below_margin(scene: Scene) -> Tensor:
    """max(1 - label prediction, 0), labels of 0 and 1 taken as -1 and 1."""
    signs = scene.labels
    if np.isin(scene.truth, (0.0, 1.0)).all():
        signs = scene.emit("sub", scene.emit("mul", scene.labels, 2.0), 1.0)
    product = scene.emit("mul", signs, scene.predictions)
    return scene.emit("nn.functional.relu", scene.emit("rsub", product, 1.0))


def _categorical_hinge(scene: Scene) -> Tensor:
    right = scene.emit("sum", scene.emit("mul", scene.labels, scene.predictions), dim=-1)
    others = scene.emit("mul", scene.emit("rsub", scene.labels, 1.0), scene.predictions)
    margin = scene.emit("add", scene.emit("sub", scene.emit("amax", others, dim=-1), right), 1.0)
    return scene.mean(scene.emit("nn.functional.relu", margin))


def _divergence(scene: Scene) -> Tensor:
    truth, guess = (scene.clamp(x, high=1.0) for x in (scene.labels, scene.predictions))
    each = scene.emit("nn.functional.kl_div", scene.emit("log", guess), truth, reduction="none")
    return scene.mean(scene.emit("sum", each, dim=-1))


def _binary_focal(scene: Scene) -> Tensor:
    chances = scene.predictions
    if scene.params["from_logits"]:
        chances = scene.emit("sigmoid", chances)
    clipped = scene.clamp(chances, high=1.0 - _EPSILON)
    each = scene.emit("nn.functional.binary_cross_entropy", clipped, scene.labels, reduction="none")
    # 1 - p of the truth: label (1 - p) + (1 - label) p
    missed = scene.emit("lerp", chances, scene.emit("rsub", chances, 1.0), scene.labels)
    factor = scene.emit("pow", missed, float(scene.params["gamma"]))
    return scene.mean(scene.emit("mul", factor, each))


def _categorical_focal(scene: Scene) -> Tensor:
    if scene.params["from_logits"]:
        p = scene.emit("nn.functional.softmax", scene.predictions, dim=-1)
        p = scene.clamp(p, high=1.0 - _EPSILON)
    else:
        p = _probabilities(scene)
    factor = scene.emit("pow", scene.emit("rsub", p, 1.0), float(scene.params["gamma"]))
    terms = scene.emit("mul", scene.emit("mul", factor, scene.labels), scene.emit("log", p))
    total = scene.emit("mul", scene.emit("sum", terms, dim=-1), -float(scene.params["alpha"]))
    return scene.mean(total)


def _dice(scene: Scene) -> Tensor:
    together = scene.emit("sum", scene.emit("mul", scene.labels, scene.predictions))
    total = scene.emit("add", scene.emit("sum", scene.labels), scene.emit("sum", scene.predictions))
    share = scene.emit("div", scene.emit("mul", together, 2.0), scene.emit("add", total, _EPSILON))
    return scene.emit("rsub", share, 1.0)


def _tversky(scene: Scene) -> Tensor:
    together = scene.emit("sum", scene.emit("mul", scene.labels, scene.predictions))
    missed = scene.emit("sum", scene.emit("mul", scene.emit("rsub", scene.predictions, 1.0), scene.labels))
    extra = scene.emit("sum", scene.emit("mul", scene.predictions, scene.emit("rsub", scene.labels, 1.0)))
    total = scene.emit("add", together, missed, alpha=float(scene.params["alpha"]))
    total = scene.emit("add", total, extra, alpha=float(scene.params["beta"]))
    return scene.emit("rsub", scene.emit("div", together, scene.emit("add", total, _EPSILON)), 1.0)


TORCH_LOSSES: dict[str, Loss] = {
    "BinaryCrossentropy": _binary,
    "BinaryFocalCrossentropy": _binary_focal,
    "CategoricalCrossentropy": _categorical,
    "CategoricalFocalCrossentropy": _categorical_focal,
    "CategoricalHinge": _categorical_hinge,
    "CosineSimilarity": _cosine,
    "Dice": _dice,
    "Hinge": lambda scene: scene.mean(_below_margin(scene)),
    "Huber": _direct("huber_loss", delta="delta"),
    "KLDivergence": _divergence,
    "LogCosh": _log_cosh,
    "MeanAbsoluteError": _direct("l1_loss"),
    "MeanAbsolutePercentageError": _percentage,
    "MeanSquaredError": _direct("mse_loss"),
    "MeanSquaredLogarithmicError": _logarithmic,
    "Poisson": _poisson,
    "SparseCategoricalCrossentropy": _sparse,
    "SquaredHinge": lambda scene: scene.mean(scene.emit("square", _below_margin(scene))),
    "Tversky": _tversky,
}


def loss_params(name: str, given: Params) -> dict[str, Json]:
    """All parameters of a loss.

    Raises:
        Refusal: if torch has no counterpart of the loss, or it is given what the catalogue does not declare.
    """
    if name not in TORCH_LOSSES:
        raise Refusal(f"loss {name} has no counterpart in torch here")
    declared = {parameter.name: parameter.default for parameter in LOSSES[name].parameters}
    for own, value in given.items():
        if own not in declared and own != "name":
            raise Refusal(f"parameter {own}={value!r} of loss {name} has no counterpart in torch here")
    return {**declared, **given}
