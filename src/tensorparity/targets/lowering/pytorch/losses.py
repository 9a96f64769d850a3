"""Losses by torch's functions, reduced as Keras does; labels and predictions by output name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log, prod

import numpy as np

from ....core.arrays import Array
from ....core.jsontext import Json
from ....operators.arguments import axis_of, number
from ....operators.losses.catalogue import LOSSES
from ....operators.losses.spec import AXIS, MEANS, REDUCTION
from ....operators.losses.structured import BLANK
from ....operators.spec import Params
from ..refusal import Refusal, Sizes
from .program import Dtype, ProgramWriter, TorchTensor

#: Keras' fuzz factor.
_EPSILON = 1e-7


@dataclass(frozen=True, slots=True)
class LossScene:
    """One output and its labels, of which the host knows the numbers."""

    writer: ProgramWriter
    params: Params
    labels: TorchTensor
    predictions: TorchTensor
    truth: Array
    shape: Sizes

    def emit(self, api: str, *args: object, **kwargs: object) -> TorchTensor:
        return self.writer.emit(api, *args, **kwargs)

    def mean(self, x: TorchTensor) -> TorchTensor:
        """Over the last axis, which leaves a number per sample and position."""
        return self.emit("mean", x, dim=-1)

    def sum(self, x: TorchTensor) -> TorchTensor:
        """Over the last axis."""
        return self.emit("sum", x, dim=-1)

    def sum_along(self, x: TorchTensor) -> TorchTensor:
        """Over what the loss' ``axis`` names, or everything."""
        axis = self.params["axis"]
        return self.emit("sum", x) if axis is None else self.emit("sum", x, dim=axis)

    def clamp(self, x: TorchTensor, low: float = _EPSILON, high: float | None = None) -> TorchTensor:
        return self.emit("clamp", x, min=low) if high is None else self.emit("clamp", x, low, high)


#: Writes the loss of every sample and position, before they are reduced.
Each = Callable[[LossScene], TorchTensor]


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss and the parameters that ``each`` reads; others it takes at their defaults only."""

    each: Each
    reads: tuple[str, ...] = ()


def _along(each: Each, *, sparse: bool = False) -> Each:
    """What is written for the last axis, for the one that the loss' ``axis`` names; sparse labels do not have it."""

    def moved(scene: LossScene) -> TorchTensor:
        rank = len(scene.shape)
        axis = axis_of(scene.params[AXIS.name], AXIS.name, rank)
        if axis == rank - 1:
            return each(scene)
        shape = (*scene.shape[:axis], *scene.shape[axis + 1 :], scene.shape[axis])
        labels = scene.labels if sparse else scene.emit("movedim", scene.labels, axis, -1)
        predictions = scene.emit("movedim", scene.predictions, axis, -1)
        return each(replace(scene, labels=labels, predictions=predictions, shape=shape))

    return moved


def _direct(api: str, **options: object) -> Each:
    """A function of torch that takes predictions and labels."""

    def each(scene: LossScene) -> TorchTensor:
        return scene.mean(
            scene.emit(f"nn.functional.{api}", scene.predictions, scene.labels, reduction="none", **options)
        )

    return each


def _huber(scene: LossScene) -> TorchTensor:
    return _direct("huber_loss", delta=number(scene.params, "delta"))(scene)


def _smoothed(scene: LossScene, share: float) -> TorchTensor:
    """Labels mixed with ``share``, as far as ``label_smoothing`` says."""
    smoothing = float(scene.params["label_smoothing"])
    if not smoothing:
        return scene.labels
    return scene.emit("add", scene.emit("mul", scene.labels, 1.0 - smoothing), smoothing * share)


def _binary(scene: LossScene) -> TorchTensor:
    truth = _smoothed(scene, 0.5)
    if scene.params["from_logits"]:
        api, chances = "binary_cross_entropy_with_logits", scene.predictions
    else:
        api, chances = "binary_cross_entropy", scene.clamp(scene.predictions, high=1.0 - _EPSILON)
    return scene.mean(scene.emit(f"nn.functional.{api}", chances, truth, reduction="none"))


def _log_probabilities(scene: LossScene) -> TorchTensor:
    if scene.params["from_logits"]:
        return scene.emit("nn.functional.log_softmax", scene.predictions, dim=-1)
    return scene.emit("log", _probabilities(scene))


def _probabilities(scene: LossScene) -> TorchTensor:
    total = scene.emit("sum", scene.predictions, dim=-1, keepdim=True)
    return scene.clamp(scene.emit("div", scene.predictions, total), high=1.0 - _EPSILON)


def _categorical(scene: LossScene) -> TorchTensor:
    terms = scene.emit("mul", _smoothed(scene, 1.0 / scene.shape[-1]), _log_probabilities(scene))
    return scene.emit("neg", scene.sum(terms))


def _classes(scene: LossScene, shape: list[int]) -> TorchTensor:
    return scene.emit("reshape", scene.emit("Tensor.to", scene.labels, Dtype("int64")), shape)


def _sparse(scene: LossScene) -> TorchTensor:
    classes = _classes(scene, [-1])
    logs = scene.emit("reshape", _log_probabilities(scene), [-1, scene.shape[-1]])
    ignored = scene.params["ignore_class"]
    if ignored is None:
        return scene.emit("nn.functional.nll_loss", logs, classes, reduction="none")
    each = scene.emit("nn.functional.nll_loss", logs, classes, reduction="none", ignore_index=ignored)
    counted = np.count_nonzero(scene.truth != ignored)
    if scene.params[REDUCTION.name] not in MEANS or not counted:
        return each
    return scene.emit("mul", each, scene.truth.size / counted)  # the mean is over what counts


def _percentage(scene: LossScene) -> TorchTensor:
    off = scene.emit("abs", scene.emit("sub", scene.labels, scene.predictions))
    size = scene.clamp(scene.emit("abs", scene.labels))
    return scene.emit("mul", scene.mean(scene.emit("div", off, size)), 100.0)


def _logarithmic(scene: LossScene) -> TorchTensor:
    logs = [scene.emit("log1p", scene.clamp(x)) for x in (scene.predictions, scene.labels)]
    return scene.mean(scene.emit("nn.functional.mse_loss", *logs, reduction="none"))


def _cosine(scene: LossScene) -> TorchTensor:
    units = [scene.emit("nn.functional.normalize", x, dim=-1, eps=_EPSILON) for x in (scene.labels, scene.predictions)]
    return scene.emit("neg", scene.sum(scene.emit("mul", *units)))


def _log_cosh(scene: LossScene) -> TorchTensor:
    x = scene.emit("sub", scene.predictions, scene.labels)
    rest = scene.emit("nn.functional.softplus", scene.emit("mul", x, -2.0))
    return scene.emit("sub", scene.mean(scene.emit("add", x, rest)), log(2.0))


def _below_margin(scene: LossScene) -> TorchTensor:
    """max(1 - label prediction, 0), labels of 0 and 1 taken as -1 and 1."""
    signs = scene.labels
    if np.isin(scene.truth, (0.0, 1.0)).all():
        signs = scene.emit("sub", scene.emit("mul", scene.labels, 2.0), 1.0)
    product = scene.emit("mul", signs, scene.predictions)
    return scene.emit("nn.functional.relu", scene.emit("rsub", product, 1.0))


def _categorical_hinge(scene: LossScene) -> TorchTensor:
    right = scene.sum(scene.emit("mul", scene.labels, scene.predictions))
    others = scene.emit("mul", scene.emit("rsub", scene.labels, 1.0), scene.predictions)
    margin = scene.emit("add", scene.emit("sub", scene.emit("amax", others, dim=-1), right), 1.0)
    return scene.emit("nn.functional.relu", margin)


def _divergence(scene: LossScene) -> TorchTensor:
    truth, guess = (scene.clamp(x, high=1.0) for x in (scene.labels, scene.predictions))
    each = scene.emit("nn.functional.kl_div", scene.emit("log", guess), truth, reduction="none")
    return scene.sum(each)


def _binary_focal(scene: LossScene) -> TorchTensor:
    chances, truth = scene.predictions, _smoothed(scene, 0.5)
    if scene.params["from_logits"]:
        chances = scene.emit("sigmoid", chances)
    clipped = scene.clamp(chances, high=1.0 - _EPSILON)
    each = scene.emit("nn.functional.binary_cross_entropy", clipped, truth, reduction="none")
    # 1 - p of the truth: label (1 - p) + (1 - label) p
    missed = scene.emit("lerp", chances, scene.emit("rsub", chances, 1.0), truth)
    factor = scene.emit("pow", missed, number(scene.params, "gamma"))
    if scene.params["apply_class_balancing"]:
        alpha = number(scene.params, "alpha")  # label alpha + (1 - label) (1 - alpha)
        balance = scene.emit("add", scene.emit("mul", truth, 2.0 * alpha - 1.0), 1.0 - alpha)
        factor = scene.emit("mul", factor, balance)
    return scene.mean(scene.emit("mul", factor, each))


def _categorical_focal(scene: LossScene) -> TorchTensor:
    truth = _smoothed(scene, 1.0 / scene.shape[-1])
    if scene.params["from_logits"]:
        p = scene.emit("nn.functional.softmax", scene.predictions, dim=-1)
        p = scene.clamp(p, high=1.0 - _EPSILON)
    else:
        p = _probabilities(scene)
    factor = scene.emit("pow", scene.emit("rsub", p, 1.0), float(scene.params["gamma"]))
    terms = scene.emit("mul", scene.emit("mul", factor, truth), scene.emit("log", p))
    return scene.emit("mul", scene.sum(terms), -number(scene.params, "alpha"))


def _generalized(scene: LossScene) -> TorchTensor:
    q = number(scene.params, "q")
    if not 0.0 < q < 1.0:
        raise Refusal(f"the catalogue rules it out: q={q}")
    chances = scene.emit("gather", scene.predictions, -1, _classes(scene, [*scene.shape[:-1], 1]))
    power = scene.emit("pow", scene.emit("squeeze", chances, -1), q)
    return scene.emit("div", scene.emit("rsub", power, 1.0), q)


def _dice(scene: LossScene) -> TorchTensor:
    together = scene.sum_along(scene.emit("mul", scene.labels, scene.predictions))
    total = scene.emit("add", scene.sum_along(scene.labels), scene.sum_along(scene.predictions))
    share = scene.emit("div", scene.emit("mul", together, 2.0), scene.emit("add", total, _EPSILON))
    return scene.emit("rsub", share, 1.0)


def _tversky(scene: LossScene) -> TorchTensor:
    """As documented: ``alpha`` weighs what is predicted in vain, ``beta`` what is missed."""
    together = scene.sum_along(scene.emit("mul", scene.labels, scene.predictions))
    extra = scene.sum_along(scene.emit("mul", scene.predictions, scene.emit("rsub", scene.labels, 1.0)))
    missed = scene.sum_along(scene.emit("mul", scene.emit("rsub", scene.predictions, 1.0), scene.labels))
    total = scene.emit("add", together, extra, alpha=number(scene.params, "alpha"))
    total = scene.emit("add", total, missed, alpha=number(scene.params, "beta"))
    return scene.emit("rsub", scene.emit("div", together, scene.emit("add", total, _EPSILON)), 1.0)


def _ctc(scene: LossScene) -> TorchTensor:
    """The host knows the labels, and with them how long each is; all predictions are read to their end."""
    batch, steps = scene.shape[0], scene.shape[1]
    lengths = [int(count) for count in np.count_nonzero(scene.truth != BLANK, axis=1)]
    if any(label[:length].min(initial=1) == BLANK for label, length in zip(scene.truth, lengths, strict=True)):
        raise Refusal("a blank stands inside of a label")
    logs = scene.emit("permute", scene.emit("log_softmax", scene.predictions, -1), [1, 0, 2])
    labels = scene.emit("Tensor.to", scene.labels, Dtype("int64"))
    return scene.emit("nn.functional.ctc_loss", logs, labels, [steps] * batch, lengths, blank=BLANK, reduction="none")


def _circle(scene: LossScene) -> TorchTensor:
    """Samples without a loss do not count, which the mean of all is made up for."""
    margin, gamma = number(scene.params, "margin"), number(scene.params, "gamma")
    truth = scene.truth.reshape(-1)
    same = truth[:, None] == truth[None, :]
    pulled = same & ~np.eye(len(same), dtype=bool) if scene.params["remove_diagonal"] else same
    alike = scene.emit("matmul", scene.predictions, scene.emit("t", scene.predictions))
    apart = scene.emit("relu", scene.emit("rsub", alike, 1.0))
    near = scene.emit("relu", scene.emit("add", apart, margin))
    far = scene.emit("relu", scene.emit("rsub", apart, 1.0 + margin))
    near = scene.emit("mul", scene.emit("mul", near, scene.emit("sub", apart, margin)), gamma)
    far = scene.emit("mul", scene.emit("mul", far, scene.emit("rsub", apart, 1.0 - margin)), gamma)
    both = scene.emit("add", _log_sum(scene, near, pulled), _log_sum(scene, far, ~same))
    each = scene.emit("logaddexp", both, scene.emit("zeros_like", both))
    if scene.params[REDUCTION.name] not in MEANS:
        return each
    counted = scene.emit("clamp", scene.emit("count_nonzero", each), min=1)
    return scene.emit("mul", each, scene.emit("reciprocal", scene.emit("div", counted, len(truth))))


def _log_sum(scene: LossScene, terms: TorchTensor, mask: Array) -> TorchTensor:
    """Of the terms under the mask."""
    if not mask.any(axis=1).all():
        raise Refusal("a sample has no other of its class, or none of another")
    hidden = scene.emit("tensor", (~mask).tolist())
    return scene.emit("logsumexp", scene.emit("masked_fill", terms, hidden, float("-inf")), 1)


TORCH_LOSSES: dict[str, Loss] = {
    "BinaryCrossentropy": Loss(_along(_binary), ("from_logits", "label_smoothing", "axis")),
    "BinaryFocalCrossentropy": Loss(
        _along(_binary_focal),
        ("gamma", "from_logits", "label_smoothing", "apply_class_balancing", "alpha", "axis"),
    ),
    "CategoricalCrossentropy": Loss(_along(_categorical), ("from_logits", "label_smoothing", "axis")),
    "CategoricalFocalCrossentropy": Loss(
        _along(_categorical_focal), ("alpha", "gamma", "from_logits", "label_smoothing", "axis")
    ),
    "CategoricalGeneralizedCrossEntropy": Loss(_generalized, ("q",)),
    "CategoricalHinge": Loss(_categorical_hinge),
    "CTC": Loss(_ctc),
    "Circle": Loss(_circle, ("gamma", "margin", "remove_diagonal")),
    "CosineSimilarity": Loss(_along(_cosine), ("axis",)),
    "Dice": Loss(_dice, ("axis",)),
    "Hinge": Loss(lambda scene: scene.mean(_below_margin(scene))),
    "Huber": Loss(_huber, ("delta",)),
    "KLDivergence": Loss(_divergence),
    "LogCosh": Loss(_log_cosh),
    "MeanAbsoluteError": Loss(_direct("l1_loss")),
    "MeanAbsolutePercentageError": Loss(_percentage),
    "MeanSquaredError": Loss(_direct("mse_loss")),
    "MeanSquaredLogarithmicError": Loss(_logarithmic),
    "Poisson": Loss(_direct("poisson_nll_loss", log_input=False, full=False, eps=_EPSILON)),
    "SparseCategoricalCrossentropy": Loss(_along(_sparse, sparse=True), ("from_logits", "ignore_class", "axis")),
    "SquaredHinge": Loss(lambda scene: scene.mean(scene.emit("square", _below_margin(scene)))),
    "Tversky": Loss(_tversky, ("alpha", "beta", "axis")),
}

#: Losses of the catalogue that are not written in torch's functions, and why.
REFUSED_LOSSES: dict[str, str] = {}

_REDUCTIONS = {**dict.fromkeys(MEANS, "mean"), "sum": "sum"}


def write_loss(name: str, scene: LossScene) -> TorchTensor:
    """The loss of one output as a single number.

    Raises:
        Refusal: if the labels are not as many as the predictions, so that torch would repeat them.
    """
    if not _fit(name, scene):
        raise Refusal(f"labels of shape {scene.truth.shape} do not fit predictions of shape {scene.shape}")
    return scene.emit(_REDUCTIONS[scene.params[REDUCTION.name]], TORCH_LOSSES[name].each(scene))


def _fit(name: str, scene: LossScene) -> bool:
    if LOSSES[name].labels == "sequences":
        return len(scene.shape) == 3 and scene.truth.ndim == 2 and len(scene.truth) == scene.shape[0]
    if not LOSSES[name].sparse:
        return bool(scene.truth.shape == scene.shape)
    axis = axis_of(scene.params.get(AXIS.name, -1), AXIS.name, len(scene.shape))
    return scene.truth.size == prod((*scene.shape[:axis], *scene.shape[axis + 1 :]))


def loss_params(name: str, given: Params) -> dict[str, Json]:
    """All parameters of a loss.

    Raises:
        Refusal: if torch has no counterpart of the loss or of a parameter that is not at its default.
    """
    if name not in TORCH_LOSSES:
        reason = f": {REFUSED_LOSSES[name]}" if name in REFUSED_LOSSES else ""
        raise Refusal(f"loss {name} has no counterpart in torch here{reason}")
    defaults = {parameter.name: parameter.default for parameter in (REDUCTION, *LOSSES[name].parameters)}
    for own, value in given.items():
        known = own in TORCH_LOSSES[name].reads or (own in defaults and value == defaults[own])
        reduced = own == REDUCTION.name and value in _REDUCTIONS
        if not known and not reduced and own != "name":
            raise Refusal(f"parameter {own}={value!r} of loss {name} has no counterpart in torch here")
    return {**defaults, **given}
