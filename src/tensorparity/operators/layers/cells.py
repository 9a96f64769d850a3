"""RNN: any cell, or a stack of cells, stepped along the time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import flag, known_size, need_rank, positive, refuse
from ..reference import carried
from ..shared_code import RECURRENT
from ..spec import Evaluation, LayerSpec, Mask, Parameter, Params, Shape, WeightSpec
from .masks import passed_on_with_steps
from .nested import serialized_layer
from .recurrent import (
    GRU_CELL,
    LSTM_CELL,
    SEQUENCE,
    SIMPLE_CELL,
    Cell,
    States,
    arrange,
    by_carrying,
    check_sequence,
    roll,
)

_CELLS = {"GRUCell": GRU_CELL, "LSTMCell": LSTM_CELL, "SimpleRNNCell": SIMPLE_CELL}


@dataclass(frozen=True, slots=True)
class Placed:
    """A cell, its parameters with the defaults, and the path of its weights inside of the layer."""

    cell: Cell
    params: Mapping[str, Json]
    path: str

    @property
    def units(self) -> int:
        return positive(self.params, "units")


def _placed_cells(params: Params) -> list[Placed]:
    """The cells in the order in which a step passes through them."""
    value: Json = params["cell"]
    if not _is_serialized(value):
        refuse("cell", "a serialized and named cell", value)
    if value["class_name"] != "StackedRNNCells":
        return [_one(value, value, "")]
    cells = value["config"].get("cells")
    if not isinstance(cells, (tuple, list)) or not cells or not all(_is_serialized(cell) for cell in cells):
        refuse("cell", "a stack of serialized and named cells", value)
    names = [cell["config"]["name"] for cell in cells]
    if len(set(names)) != len(names):
        refuse("cell", "cells of different names, or their weights are confused", value)
    return [_one(cell, value, f"{value['config']['name']}/") for cell in cells]


def _is_serialized(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("config"), dict)
        and isinstance(value["config"].get("name"), str)
        and isinstance(value.get("class_name"), str)
    )


def _one(item: Json, whole: Json, prefix: str) -> Placed:
    cell = _CELLS.get(item["class_name"])
    if cell is None:
        refuse("cell", f"one of {', '.join(_CELLS)}, or StackedRNNCells of them", whole)
    defaults = {parameter.name: parameter.default for parameter in cell.parameters}
    config = {name: value for name, value in item["config"].items() if name in defaults}
    return Placed(cell, {**defaults, **config}, prefix + item["config"]["name"])


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 3)
    known_size(shapes[0], 2, "the features")
    check_sequence(params)
    placed, (batch, steps, _) = _placed_cells(params), shapes[0]
    for one in placed:
        one.cell.check(one.params)
    units = placed[-1].units
    first = (batch, steps, units) if flag(params, "return_sequences") else (batch, units)
    states = tuple((batch, one.units) for one in placed for _ in range(one.cell.states))
    return (first, *states) if flag(params, "return_state") else (first,)


def _weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    depth, found = known_size(shapes[0], 2, "the features"), {}
    for one in _placed_cells(params):
        for name, weight in one.cell.weights(one.params, depth).items():
            found[f"{one.path}/{name}"] = weight
        depth = one.units
    return found


def _carry(
    params: Params,
    inputs: Sequence[Array],
    weights: Mapping[str, Array],
    masks: Sequence[Mask],
    before: Sequence[Evaluation],
) -> tuple[tuple[Evaluation, ...], States]:
    placed, batch = _placed_cells(params), inputs[0].shape[0]
    own = [_below(weights, one.path) for one in placed]
    zeros = tuple(carried.zeros((batch, one.units)) for one in placed for _ in range(one.cell.states))

    def advance(x: Evaluation, states: States) -> tuple[Evaluation, States]:
        after: States = ()
        for one, kept in zip(placed, own, strict=True):
            mine = states[len(after) : len(after) + one.cell.states]
            new = one.cell.step(one.params, x, mine, kept)
            x, after = new[0], (*after, *new)
        return x, after

    outputs, states = roll(params, inputs[0], tuple(before) or zeros, advance, masks[0], first=not before)
    return arrange(params, outputs, states), states


def _below(weights: Mapping[str, Array], path: str) -> dict[str, Array]:
    prefix = f"{path}/"
    return {key.removeprefix(prefix): weight for key, weight in weights.items() if key.startswith(prefix)}


_LSTM = serialized_layer("LSTMCell", "lstm_cell", units=3)
_GRU = serialized_layer("GRUCell", "gru_cell", units=2)
_SIMPLE = serialized_layer("SimpleRNNCell", "simple_rnn_cell", units=4, use_bias=False)

RNN = LayerSpec(
    name="RNN",
    api="keras.layers.RNN",
    arity=(1, 1),
    ranks=(3,),
    shared=(RECURRENT,),
    parameters=(
        Parameter(
            "cell",
            None,
            (
                _LSTM,
                _GRU,
                _SIMPLE,
                serialized_layer("StackedRNNCells", "stacked_rnn_cells", cells=[_LSTM, _GRU]),
                serialized_layer("StackedRNNCells", "stacked_rnn_cells", cells=[_GRU, _SIMPLE, _LSTM]),
            ),
            (None, serialized_layer("Dense", "dense", units=3), serialized_layer("StackedRNNCells", "stack", cells=[])),
            required=True,
        ),
        *SEQUENCE,
    ),
    shape=_shape,
    weights=_weights,
    **by_carrying(_carry),
    masks=passed_on_with_steps,
    formula="output = the last output of the cell, or all, stepped from zeros; in a stack each feeds the next",
    hazards=("the states of a stack follow the output cell by cell",),
)
