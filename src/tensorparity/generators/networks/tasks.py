"""What a network is for: its loss, the head that fits it, and labels that fit both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.procedure import Recipe
from ...operators.losses.catalogue import LOSSES
from ...operators.losses.spec import AXIS, REDUCTION, LossSpec
from ...operators.optimizers.catalogue import OPTIMIZERS
from ...operators.optimizers.options import shows_after
from .assembly import Assembly, NetworkTensor
from .palettes import DataShape

#: How often an optimizer is also asked to clip, decay, average or follow a schedule.
_OPTIONS = 0.4
_CLASSES = (2, 3, 5, 10)
_VALUES = (1, 3)
#: How often chances and probabilities come out near 0 and 1, or as good as that, and how it is done; chances also all
#: on one side, so that half of the labels are as far from them as can be.
_SHARP, _SHARPLY, _ASIDE = 0.3, (8.0, 64.0), (0.0, -10.0, 10.0)
_FLAT = 512  # more elements than that are cropped before a Dense layer reads them

#: What the head ends in, by what the loss wants to be given.
_ENDS: dict[str, str | None] = {
    "probabilities": "softmax",
    "chances": "sigmoid",
    "positive": "softplus",
    "values": None,
    "unit": None,
}
#: Steps of a sequence, and symbols of its label: few enough that a path spells it even if all of them repeat.
_STEPS, _SYMBOLS = 5, 2
#: Positions beside the axis of classes, where that is not the last one.
_POSITIONS = 3
#: How often sparse labels keep an axis that is not the last one: TensorFlow does not support it, and on JAX a check of
#: shapes forgets it (trophies).
_SPARSE_AXIS = 0.1
#: How often a loss is reduced in another way than by default.
_REDUCED = 0.2


@dataclass(frozen=True, slots=True)
class Task:
    """A loss with its parameters, and the number of outputs."""

    loss: Recipe
    outputs: int

    @property
    def _spec(self) -> LossSpec:
        return LOSSES[self.loss.name]

    @property
    def inner(self) -> bool:
        """Whether the loss is along an axis that is not the last one of its predictions."""
        return AXIS in self._spec.parameters and self.loss.params.get(AXIS.name, AXIS.default) != AXIS.default

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the predictions of one sample."""
        if self._spec.labels == "sequences":
            return (_STEPS, self.outputs)
        return (self.outputs, _POSITIONS) if self.inner else (self.outputs,)

    def head(self, net: Assembly, end: NetworkTensor, rng: np.random.Generator) -> NetworkTensor:
        """SetOutputLayer: reshape to the output's size, or let a Dense layer do it, so that all of it counts."""
        takes = "values" if self.loss.params.get("from_logits") else self._spec.predictions
        if self._spec.labels == "sequences":
            return _own_head(net, net.bring(end, self.shape))
        if self.inner:
            return self._inner_head(net, net.bring(end, self.shape), takes)
        if takes == "unit":
            line = net.bring(end, (self.outputs,))
            return net.add("UnitNormalization", [line], {}) or _own_head(net, line)
        if takes in ("chances", "probabilities") and rng.random() < _SHARP:
            return self._sharp_head(net, end, takes, rng)
        if rng.random() < 0.5:
            flat = net.bring(end, (min(end.elements, _FLAT),))
            dense = net.add("Dense", [flat], {"units": self.outputs, "activation": _ENDS[takes]})
            if dense is not None:
                return dense
        line = net.bring(end, (self.outputs,))
        name = _ENDS[takes]
        return (net.add("Activation", [line], {"activation": name}) if name else None) or _own_head(net, line)

    def plain_head(self, net: Assembly, end: NetworkTensor) -> NetworkTensor:
        """The paper's: the output is reshaped; behind it comes only what the loss is not defined without."""
        line = self.bare_head(net, end)
        takes = "values" if self.loss.params.get("from_logits") else self._spec.predictions
        if self.inner and takes != "values":
            return self._inner_head(net, line, takes)
        if takes == "unit":
            return net.add("UnitNormalization", [line], {}) or line
        name = _ENDS[takes]
        return (net.add("Activation", [line], {"activation": name}) if name else None) or line

    def bare_head(self, net: Assembly, end: NetworkTensor) -> NetworkTensor:
        """Nothing but reshaping, for a loss that takes any values."""
        line = net.bring(end, self.shape)
        if line.op != "Input":
            return line
        return net.add("Reshape", [line], {"target_shape": list(self.shape)}) or line  # an output must be a node

    def _inner_head(self, net: Assembly, line: NetworkTensor, takes: str) -> NetworkTensor:
        if takes == "probabilities":
            return net.add("Softmax", [line], {"axis": self.loss.params[AXIS.name]}) or _own_head(net, line)
        return net.add("Activation", [line], {"activation": _ENDS[takes] or "linear"}) or line

    def _sharp_head(self, net: Assembly, end: NetworkTensor, takes: str, rng: np.random.Generator) -> NetworkTensor:
        line = net.bring(end, (self.outputs,))
        aside = float(rng.choice(_ASIDE)) if takes == "chances" else 0.0
        change = {"scale": float(rng.choice(_SHARPLY))} if aside == 0.0 else {"scale": 1.0, "offset": aside}
        loud = net.add("Rescaling", [line], change) or line
        return net.add("Activation", [loud], {"activation": _ENDS[takes]}) or _own_head(net, line)

    def labels(self, rng: np.random.Generator, batch: int, real: Array | None = None) -> Array:
        """Labels that the loss takes; those of the data set, where they are of that kind."""
        if self.inner:
            apart = replace(self, loss=Recipe(self.loss.name)).labels(rng, batch * _POSITIONS)
            drawn = apart.reshape(batch, _POSITIONS, *apart.shape[1:])
            return drawn if self._spec.sparse else np.ascontiguousarray(np.moveaxis(drawn, -1, 1))
        shape = (batch, self.outputs)
        kind = self._spec.labels
        if real is not None and kind == "values" and real.shape == shape:
            return real.astype(np.float32)
        if kind == "classes":
            classes = rng.integers(0, self.outputs, batch) if real is None or real.ndim > 1 else real
            return classes.astype(np.int32) if self._spec.sparse else np.eye(self.outputs, dtype=np.float32)[classes]
        if kind == "sequences":
            symbols = rng.integers(1, max(self.outputs, 2), (batch, _SYMBOLS))
            lengths = rng.integers(1, _SYMBOLS + 1, (batch, 1))
            return np.where(np.arange(_SYMBOLS) < lengths, symbols, 0).astype(np.int32)
        if kind == "binary":
            return rng.integers(0, 2, shape).astype(np.float32)
        if kind == "distribution":
            drawn = rng.random(shape) + 0.05
            return np.asarray(drawn / drawn.sum(axis=1, keepdims=True), dtype=np.float32)
        drawn = rng.normal(0.0, 1.0, shape)
        return (np.abs(drawn) + 0.1 if kind == "positive" else drawn).astype(np.float32)


def _own_head(net: Assembly, tensor: NetworkTensor) -> NetworkTensor:
    """A head of its own: what is an output must be a node, and not the output of another head too."""
    return net.add("Activation", [tensor], {"activation": "linear"}) or tensor


def draw_task(
    rng: np.random.Generator, data: DataShape, *, bare: bool = False, numbers: bool = True, along: bool = True
) -> Task:
    """A loss for the data set's task, each with the same chance.

    Args:
        bare: only a loss that takes any values, so that nothing but reshaping has to stand before it.
        along: whether predictions may have positions, so that a loss may be along another axis than the last.
        numbers: whether predictions are sure to be; a chance that is not one is refused by some, even behind logits.
    """
    names = [name for name, spec in LOSSES.items() if data.task in ("", spec.task)]
    if bare:
        names = [name for name in names if LOSSES[name].predictions == "values" or _takes_logits(LOSSES[name])]
    if not numbers:
        names = [name for name in names if LOSSES[name].predictions != "chances"]
    spec = LOSSES[names[int(rng.integers(len(names)))]]
    loss = draw_loss(spec, rng, along=along and not data.outputs)  # a data set says what shape the output has
    if bare and _takes_logits(spec):
        loss = replace(loss, params={**loss.params, "from_logits": True})
    sizes = _CLASSES if spec.task == "classification" else _VALUES
    return Task(loss, data.outputs or int(rng.choice(sizes)))


def draw_loss(spec: LossSpec, rng: np.random.Generator, *, along: bool = True) -> Recipe:
    """A loss with any of its values.

    Args:
        along: whether it may be along another axis than the last.
    """
    params = {
        parameter.name: parameter.valid[int(rng.integers(len(parameter.valid)))]
        for parameter in spec.parameters
        if rng.random() < 0.5
    }
    sparse = spec.sparse and rng.random() > _SPARSE_AXIS
    if AXIS in spec.parameters and (sparse or not along):
        params.pop(AXIS.name, None)
    if rng.random() < _REDUCED:
        params[REDUCTION.name] = REDUCTION.valid[int(rng.integers(1, len(REDUCTION.valid)))]
    return Recipe(spec.name, params)


def _takes_logits(spec: LossSpec) -> bool:
    return any(parameter.name == "from_logits" for parameter in spec.parameters)


def draw_optimizer(rng: np.random.Generator) -> Recipe:
    """Any optimizer with any of its values, and sometimes with what all of them can be asked for."""
    names = list(OPTIMIZERS)
    spec = OPTIMIZERS[names[int(rng.integers(len(names)))]]
    chosen = {parameter.name: parameter.valid[int(rng.integers(len(parameter.valid)))] for parameter in spec.parameters}
    settings = [setting for setting in spec.settings() if shows_after(setting) == 1]  # a network takes one step
    if settings and rng.random() < _OPTIONS:
        chosen.update(settings[int(rng.integers(len(settings)))])
    return Recipe(spec.name, chosen)
