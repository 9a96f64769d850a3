"""Procedure: what is done with a case's subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from . import fields
from .jsontext import Json
from .population import Population


class Goal(Enum):
    """How far the subject is run; each goal includes the ones above it."""

    FORWARD = "forward"
    GRADIENTS = "gradients"
    """Loss, and the gradients of it with respect to inputs, nodes and weights."""
    UPDATE = "update"
    """One optimizer step, and the weights after it."""
    FIT = "fit"
    """``steps`` optimizer steps the way users train, with the loss and the weights after each."""
    REPLAY = "replay"
    """Each node in ``nodes`` alone, on the inputs (and cotangents) that the case holds for it."""
    CALL = "call"
    """One call of an ApiCall."""
    LAYERS = "layers"
    """The layers of a model file, read and not run: the graph is the outcome's reply, its weights the outputs."""
    APIS = "apis"
    """The public functions of the library, enumerated and not called: the outcome's reply lists them."""
    SAMPLES = "samples"
    """Valid inputs that ship inside the library: calls as the outcome's reply, their arrays as the outputs."""


class Mode(Enum):
    """How the library is asked to run it."""

    USER = "user"
    """The way users get by default: ``model.predict``, an eager call."""
    EAGER = "eager"
    COMPILED = "compiled"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A loss or an optimizer: the catalogue's name and the parameters that differ from the default."""

    name: str
    params: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))

    def to_json(self) -> Json:
        return {"name": self.name, "params": dict(self.params)}

    @classmethod
    def from_json(cls, data: Json) -> Recipe:
        return cls(fields.field(data, "name", str), fields.field(data, "params", dict))


@dataclass(frozen=True, slots=True)
class Procedure:
    """What is done: how far, in which mode, and with which variation.

    Args:
        trace: also report the output of every node (a second, instrumented run by decision 6).
        training: the training flag every layer gets.
        nodes: for ``Goal.REPLAY``, the keys of the nodes to run alone.
        steps: for ``Goal.FIT``; the inputs are that many batches, one after another.
        reload: save the model and run what comes back.
        batch_size: feed the inputs in slices of this size.
        dtype: run under this dtype policy instead of the subject's own.
        data_format: run in this data format (``channels_first``) with inputs transposed to fit.
        variant: of a call, the way it is run: compiled by whom, on which memory, exported, mapped; empty for plainly.
        derivative: of a call, how often it is pulled back: 0, 1 or 2.
        rows: of a call, that many inputs are stacked along the first axis of every array, and run one by one.
        calls: report every public function that the layers call, with its arguments (instrumented, as ``trace``), or
            have the case's ``answers`` in place of what these give.
        population: run once per individual, with weights that are made of the case's ``parents``; the inputs are one
            row for all, or one row each.
    """

    goal: Goal = Goal.FORWARD
    mode: Mode = Mode.USER
    trace: bool = False
    training: bool = False
    nodes: tuple[str, ...] = ()
    steps: int | None = None
    loss: Recipe | None = None
    optimizer: Recipe | None = None
    reload: bool = False
    batch_size: int | None = None
    dtype: str | None = None
    data_format: str | None = None
    variant: str = ""
    derivative: int = 0
    rows: int | None = None
    population: Population | None = None
    calls: bool = False

    def to_json(self) -> Json:
        """Only what differs from the default, so that a field added later changes no old digest."""
        data: dict[str, Json] = {"goal": self.goal.value}
        if self.mode is not Mode.USER:
            data["mode"] = self.mode.value
        for name in ("trace", "training", "reload", "calls"):
            if getattr(self, name):
                data[name] = True
        for name in ("batch_size", "dtype", "data_format", "steps", "rows"):
            if getattr(self, name) is not None:
                data[name] = getattr(self, name)
        for name in ("variant", "derivative"):
            if getattr(self, name):
                data[name] = getattr(self, name)
        if self.nodes:
            data["nodes"] = list(self.nodes)
        if self.loss:
            data["loss"] = self.loss.to_json()
        if self.optimizer:
            data["optimizer"] = self.optimizer.to_json()
        if self.population:
            data["population"] = self.population.to_json()
        return data

    @classmethod
    def from_json(cls, data: Json) -> Procedure:
        names = ("loss", "optimizer", "population")
        loss, optimizer, population = (fields.optional(data, name, dict) for name in names)
        return cls(
            goal=Goal(fields.field(data, "goal", str)),
            mode=Mode(fields.field(data, "mode", str, Mode.USER.value)),
            trace=fields.field(data, "trace", bool, False),
            training=fields.field(data, "training", bool, False),
            nodes=tuple(fields.item(node, str, "nodes") for node in fields.field(data, "nodes", list, [])),
            steps=fields.count(data, "steps"),
            loss=Recipe.from_json(loss) if loss else None,
            optimizer=Recipe.from_json(optimizer) if optimizer else None,
            reload=fields.field(data, "reload", bool, False),
            batch_size=fields.count(data, "batch_size"),
            dtype=fields.optional(data, "dtype", str),
            data_format=fields.optional(data, "data_format", str),
            variant=fields.field(data, "variant", str, ""),
            derivative=fields.field(data, "derivative", int, 0),
            rows=fields.count(data, "rows"),
            population=Population.from_json(population) if population else None,
            calls=fields.field(data, "calls", bool, False),
        )
