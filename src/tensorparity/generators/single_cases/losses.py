"""Losses alone: predictions where formulas bend or run out of digits, which few networks end in.

A prediction that is as good as certain and wrong, one that is its label, ties among classes: the head of a network
gives them by chance, and then every loss has to wait for its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.policies import policy_named
from ...core.procedure import Recipe
from ...operators.losses.alone import loss_alone
from ...operators.losses.catalogue import LOSSES
from ...operators.losses.spec import LossSpec
from ..networks.palettes import STYLES
from ..networks.policies import input_for
from ..networks.tasks import Task, draw_loss

#: Few, so that compilers meet them again.
_BATCHES = (2, 4, 1)
_OUTPUTS = (2, 3, 5)

#: Around the epsilon that chances are kept from 0 and 1 by, and the last float32 before 1. Apart: 1 - p has few digits
#: near 1, and would hide what is wrong near 0.
_HARDLY = (1e-9, 1e-8, 9e-8, 2e-7, 1e-6, 1e-3)
_ALMOST = (1.0 - 6e-8, 1.0 - 1.2e-7, 1.0 - 1e-6, 1.0 - 1e-3)
_POSITIVE = (1e-9, 1e-7, 1e-3, 1.0, 1e3)
_VALUES = ("special", "few", "small", "large", "constant", "normal")

#: Draws predictions of a shape, classes last.
_Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _sharp_probabilities(scale: float) -> _Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        powers = np.exp(scale * rng.uniform(-1.0, 0.0, shape))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))

    return draw


def _one_of_them(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])]


def _of_length_one(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    drawn = rng.standard_normal(shape)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True))


#: By what the loss wants to be given; what networks seldom end in comes first.
PREDICTIONS: dict[str, dict[str, _Draw]] = {
    "chances": {
        "never": lambda rng, shape: rng.choice((0.0, 0.5), shape),
        "hardly": lambda rng, shape: rng.choice(_HARDLY, shape),
        "always": lambda rng, shape: rng.choice((1.0, 0.5), shape),
        "almost": lambda rng, shape: rng.choice(_ALMOST, shape),
        "inside": lambda rng, shape: rng.random(shape),
    },
    "probabilities": {
        "certain": _one_of_them,
        "nearly": _sharp_probabilities(30.0),
        "even": lambda rng, shape: np.full(shape, 1.0 / shape[-1]),
        "inside": _sharp_probabilities(2.0),
    },
    "positive": {
        "wide": lambda rng, shape: rng.choice(_POSITIVE, shape),
        "inside": lambda rng, shape: rng.random(shape) + 0.1,
    },
    "unit": {"certain": _one_of_them, "inside": _of_length_one},
    "values": {name: STYLES[name][1] for name in _VALUES},
}
#: Predictions that are the labels; where these are classes or sequences there is no such thing.
EXACT = "exact"


def styles_of(spec: LossSpec, *, logits: bool = False) -> tuple[str, ...]:
    """What predictions of this loss may be like."""
    takes = "values" if logits else spec.predictions
    alike = not spec.sparse and (takes, spec.labels) in (("values", "values"), ("positive", "positive"))
    return (*PREDICTIONS[takes], *((EXACT,) if alike else ()))


#: What labels may be like besides what is drawn for networks: all of one class, no class at all, shares of several.
ONE_CLASS, NO_CLASS, SOFT = "one class", "no class", "soft"
#: So often they are.
_ODD_LABELS = 0.4


def label_styles_of(spec: LossSpec) -> tuple[str, ...]:
    """What the labels of this loss may be like; the plain ones are named by nothing."""
    if spec.labels not in ("classes", "binary"):
        return ()
    if spec.sparse:
        return (ONE_CLASS,)
    return (ONE_CLASS, NO_CLASS, SOFT) if "Crossentropy" in spec.name else (ONE_CLASS, NO_CLASS)


def _odd_labels(labels: Array, style: str, rng: np.random.Generator) -> Array:
    """Labels of a style, in the shape and dtype of plain ones."""
    if style == NO_CLASS:
        return np.zeros_like(labels)
    if style == ONE_CLASS:
        return np.ascontiguousarray(np.broadcast_to(labels[:1], labels.shape)) if len(labels) else labels
    share = np.asarray(rng.choice((0.0, 0.1, 0.25, 0.5), labels.shape[:1]), np.float32)
    share = share.reshape(-1, *(1,) * (labels.ndim - 1))
    even = np.float32(0.5) if labels.ndim < 2 or labels.shape[-1] < 2 else np.float32(1.0 / labels.shape[-1])
    return np.asarray(labels * (1 - share) + even * share, labels.dtype)


#: Policies under which predictions have 16 bits; of four cases one has one of them.
_HALF = ("mixed_float16", "mixed_bfloat16")
_EVERY = 4


def loss_case(
    loss: Recipe,
    outputs: int,
    batch: int,
    style: str,
    rng: np.random.Generator,
    labelled: str = "",
    policy: str | None = None,
) -> Case:
    """A loss on predictions of a style, with labels that fit it.

    Args:
        labelled: what the labels are like; plain by default.
        policy: of the model that the predictions come from.
    """
    task = Task(loss, outputs)
    labels = task.labels(rng, batch)
    labels = _odd_labels(labels, labelled, rng) if labelled else labels
    takes = "values" if loss.params.get("from_logits") else LOSSES[loss.name].predictions
    shape = (batch, *task.shape)
    if style == EXACT:
        drawn = labels
    elif task.inner:  # classes are not the last axis
        drawn = np.moveaxis(PREDICTIONS[takes][style](rng, (batch, *task.shape[1:], task.shape[0])), -1, 1)
    else:
        drawn = PREDICTIONS[takes][style](rng, shape)
    predictions = np.ascontiguousarray(drawn, dtype=np.float32)
    if policy is not None:
        predictions = input_for(policy_named(policy), predictions)
    return loss_alone(loss, {"y": predictions}, {"y": labels}, dtype=policy, seed=int(rng.integers(2**31)))


def _policy(place: int, turn: int) -> str | None:
    """Every fourth of a turn, and each loss in every fourth turn."""
    half, rest = divmod(place + turn, _EVERY)
    return _HALF[half % len(_HALF)] if rest == _EVERY - 1 else None


def loss_cases(seed: int) -> Iterator[Case]:
    """All losses in turn, again and again; the n-th case depends on the seed and n alone."""
    specs = list(LOSSES.values())
    index = 0
    while True:
        rng = np.random.default_rng([seed, 0x1055, index])
        spec = specs[index % len(specs)]
        loss = draw_loss(spec, rng)
        styles = styles_of(spec, logits=bool(loss.params.get("from_logits")))
        style = styles[(index // len(specs) + int(rng.integers(2))) % len(styles)]
        odd = label_styles_of(spec)
        labelled = odd[int(rng.integers(len(odd)))] if odd and rng.random() < _ODD_LABELS else ""
        policy = _policy(index % len(specs), index // len(specs))
        yield loss_case(loss, int(rng.choice(_OUTPUTS)), int(rng.choice(_BATCHES)), style, rng, labelled, policy)
        index += 1
