"""What "simpler" means: a total order over cases. Every accepted reduction descends in it.

Later parts count only where all earlier ones are equal:

1. a LayerGraph or a call before a file, which nobody can read;
2. layers that do something, then all nodes (an Identity is a step on the way to one node less);
3. how far it is run: forward before gradients before training, fewer steps, plainer losses and optimizers;
4. parameters that are not at their default. They come before elements, because a default may cost elements
   (``use_bias=False`` has no bias) and is still what a reader need not think about;
5. elements of all arrays, and how large the numbers in the parameters are;
6. dtypes, float32 first;
7. how simple the numbers are: zeros, ones, small integers, short fractions, the rest;
8. of an operator's call, how many digits the numbers have;
9. the digest, so that no two different cases are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array, dtype_name
from ...core.case import ApiCall, ArrayArg, Case, ModelFile, Subject
from ...core.channels import is_text
from ...core.graph import LayerGraph, Node
from ...core.jsontext import Json
from ...core.procedure import Goal, Mode, Procedure, Recipe
from ...operators.catalogue import has_layer, layer
from ...operators.functions.native import case_operator
from ...operators.functions.recognised import odd_arguments

#: Doing nothing, by the catalogue's name.
IDENTITY = "Identity"
#: The plainest loss and the plainest optimizer: what others are reduced to.
PLAINEST_LOSS, PLAINEST_OPTIMIZER = "MeanSquaredError", "SGD"

_GOALS = {goal: rank for rank, goal in enumerate((Goal.FORWARD, Goal.CALL, Goal.REPLAY))} | {
    Goal.GRADIENTS: 3,
    Goal.UPDATE: 4,
    Goal.FIT: 5,
}
_DTYPES = {name: rank for rank, name in enumerate(("float32", "int32", "bool", "float64", "float16", "bfloat16"))}
_ODD_DTYPE = len(_DTYPES)

SortKey = tuple[Any, ...]
#: Arrays of more numbers are not read digit by digit.
_READ = 4096
#: Digits of numbers that have no short form.
_LONG = 7


def sort_key(case: Case) -> SortKey:
    """The place of a case in the order; the smaller, the simpler."""
    sides = [side.subject for side in case.sides()]
    return (
        sum(isinstance(subject, ModelFile) for subject in sides),
        sum(_acting_nodes(subject) for subject in sides),
        sum(_nodes(subject) for subject in sides),
        sum(_procedure(side.procedure) for side in case.sides()),
        sum(_odd_parameters(side) for side in case.sides()) + _recipes(case.procedure),
        elements(case),
        sum(_size(subject) for subject in sides),
        sum(_DTYPES.get(dtype_name(array), _ODD_DTYPE) for array in case.arrays().values()),
        sum(value_cost(array) for array in case.arrays().values()),
        sum(_digits(array) for array in case.inputs.values()) if case_operator(case) else 0,
        case.digest,
    )


def simpler(a: Case, b: Case) -> bool:
    """Whether ``a`` is strictly simpler than ``b``."""
    return sort_key(a) < sort_key(b)


def node_count(case: Case) -> int:
    return sum(_nodes(side.subject) for side in case.sides())


def elements(case: Case) -> int:
    return sum(array.size for array in case.arrays().values())


def odd_parameters(node: Node) -> dict[str, Json]:
    """The parameters a reader has to think about: not at their default, and not required either."""
    given = {**node.params, **node.call_params}
    if not has_layer(node.op):
        return given
    spec = layer(node.op)
    required = {parameter.name for parameter in spec.parameters if parameter.required}
    odd = {name: value for name, value in spec.significant(given).items() if name not in required}
    declared = spec.defaults()
    return {**odd, **{name: value for name, value in given.items() if name not in declared}}


def _acting_nodes(subject: Subject) -> int:
    if isinstance(subject, LayerGraph):
        return sum(node.op != IDENTITY for node in subject.nodes)
    return 1


def _nodes(subject: Subject) -> int:
    return len(subject.nodes) if isinstance(subject, LayerGraph) else 1


def _procedure(procedure: Procedure) -> int:
    options = (procedure.trace, procedure.training, procedure.reload, procedure.batch_size, procedure.data_format)
    set_options = sum(option not in (None, False) for option in options) + (procedure.mode is not Mode.USER)
    odd_dtype = procedure.dtype not in (None, "float32")
    return 100 * _GOALS[procedure.goal] + 10 * (procedure.steps or 0) + set_options + odd_dtype


def _recipes(procedure: Procedure) -> int:
    plainest = ((procedure.loss, PLAINEST_LOSS), (procedure.optimizer, PLAINEST_OPTIMIZER))
    return sum(_recipe(recipe, name) for recipe, name in plainest if recipe)


def _recipe(recipe: Recipe, plainest: str) -> int:
    return (recipe.name != plainest) + len(recipe.params)


def _odd_parameters(side: Case) -> int:
    """Of a call, also how many of its arguments are not what the function's declaration has by default."""
    subject = side.subject
    if isinstance(subject, LayerGraph):
        return sum(len(odd_parameters(node)) for node in subject.nodes)
    if isinstance(subject, ApiCall):
        return len(subject.kwargs) + len(subject.args) + len(odd_arguments(side))
    return 0


def _size(subject: Subject) -> int:
    if isinstance(subject, LayerGraph):
        return sum(_length({**node.params, **node.call_params}) for node in subject.nodes)
    if isinstance(subject, ApiCall):
        return _length([*subject.args, *subject.kwargs.values()])
    return 0


def _length(value: object) -> int:
    """How much there is to read: numbers by their size, words as one."""
    if isinstance(value, Mapping):
        return sum(1 + _length(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return sum(_length(item) for item in value)
    if isinstance(value, (bool, str, ArrayArg)) or value is None:
        return 1
    if isinstance(value, int):
        return min(abs(value), 1 << 32)
    return len(repr(value))


def value_cost(array: Array) -> int:
    """How much of a thought the numbers are: 0 for zeros, more the less they are small numbers; texts by length."""
    if is_text(array):
        return sum(len(str(item)) for item in array.ravel())
    if array.dtype.kind not in "fiubc" and dtype_name(array) not in _DTYPES:
        return 4 * array.size
    if array.dtype.kind == "c":
        return value_cost(array.real) + value_cost(array.imag)
    x = np.asarray(array, np.float64)
    with np.errstate(all="ignore"):
        size = np.abs(x)
        whole = x == np.rint(x)
        power = np.power(10.0, np.floor(np.log10(size)))
        one_digit = np.abs(size - np.rint(size / power) * power) <= 1e-6 * size
        cost = np.where(one_digit, 16.0, 24.0)
        cost = np.where(whole & (size > 9), np.where(one_digit, 10.0, 12.0 + np.minimum(np.log2(size), 64)), cost)
        cost = np.where(~whole & (x * 16 == np.rint(x * 16)) & (size < 100), 12.0, cost)
        cost = np.where(whole & (size <= 9), np.minimum(size, 5) + (size > 5), cost)
    cost = np.where(np.isfinite(x), cost + (x < 0), 100.0)
    return int(np.ceil(cost).sum())


def _digits(array: Array) -> int:
    """Significant decimal digits of all numbers together."""
    if array.size > _READ or array.dtype.kind not in "f" and dtype_name(array) not in _DTYPES:
        return 0
    found = np.full(array.shape, _LONG)
    for digits in range(_LONG - 1, 0, -1):
        found = np.where(shortened(array, digits) == array, digits, found)
    return int(found.sum())


def shortened(array: Array, digits: int) -> Array:
    """So many significant decimal digits of every number, in its own dtype."""
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        exponent = np.where(wide == 0, 0, np.floor(np.log10(np.abs(wide))))
        unit = 10.0 ** (exponent - digits + 1)
        rounded = np.where(np.isfinite(wide), np.round(wide / unit) * unit, wide)
        return np.asarray(rounded.astype(array.dtype))
