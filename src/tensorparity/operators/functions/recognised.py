"""Which operator of the catalogue a library's call is, so that the operator's reference says what the call should give.

Declarations say how a library is asked for an operator. Here this is read backwards: the parameters are searched for
with which the declaration gives this very call. Arguments that a call leaves out must be those that the operator has
by default; a call that no declaration gives is no operator.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import TupleArg
from ...core.case import ApiCall, ArrayArg, Case
from ...core.jsontext import Json
from ..spec import Evaluation, Parameter
from .catalogue import OPERATORS
from .convolution import COUNT
from .spec import Call, Lacking, Operator, Sizes, Tensor

#: So many sets of parameters are tried for one operator.
_MOST = 200


@dataclass(frozen=True)
class Recognised:
    """A call as the operator that it is.

    Args:
        operands: the operator's arrays in order, their axes as declared.
        perm: how the axes of the call's result lie, from those of the operator.
        added: what the declaration gives besides, and the call leaves to its default.
    """

    operator: Operator
    params: Mapping[str, Json]
    operands: tuple[Array, ...]
    perm: tuple[int, ...]
    added: tuple[str, ...] = ()

    def evaluate(self, *, promoted: bool = True) -> Evaluation:
        """The true value, or with the formula in the operands' own precision."""
        wide = promoted or any(array.dtype == np.float64 for array in self.operands)
        inner = np.float64 if wide else np.float32
        found = self.operator.evaluate(dict(self.params), [array.astype(inner) for array in self.operands])
        return Evaluation(self._turned(found.value), self._turned(found.kappa))

    def _turned(self, array: Array) -> Array:
        return np.transpose(array, np.argsort(self.perm)) if self.perm else array


def recognised(case: Case) -> Recognised | None:
    """The operator that a case of one plain call is; None where it is none, or its arrays are no real numbers."""
    call = case.subject
    if not isinstance(call, ApiCall) or case.procedure.derivative or case.procedure.rows is not None:
        return None
    arrays = [case.inputs[name] for name in call.arrays()]
    if not arrays or any(array.dtype.kind in "biucOSU" or not array.ndim for array in arrays):
        return None
    library = call.api.partition(".")[0]
    tried = [_as_operator(operator, library, call, case.inputs) for operator in _candidates(library, call.api)]
    found = [one for one in tried if one is not None]
    whole = next((one for one in found if not one.added), None)
    # where declarations add different constants, nobody says which of them the function has by default
    return whole or (found[0] if len({one.added for one in found}) == 1 else None)


def odd_arguments(case: Case) -> dict[str, Json]:
    """Of a call that is an operator, the parameters that are not at their default, in the operator's words."""
    found = recognised(case)
    return dict(found.params) if found is not None else {}


def with_defaults(case: Case, names: Collection[str]) -> Case | None:
    """The case with these parameters of the operator that its call is at their default; None where it is none."""
    found, call = recognised(case), case.subject
    if found is None or not isinstance(call, ApiCall):
        return None
    kept = {name: value for name, value in found.params.items() if name not in names}
    sizes = _sizes(found.operator, found.operands)
    bound = _bound(found.operator, call.api.partition(".")[0], found.operator.complete(kept), sizes)
    rewritten = _rewritten(call, bound) if bound is not None else None
    changed = replace(case, subject=rewritten) if rewritten is not None else case
    return changed if odd_arguments(changed) == kept else None


def _rewritten(call: ApiCall, bound: Call) -> ApiCall | None:
    """The same arguments with the values of a declaration; None where it does not give all of them."""
    loose = iter([value for value in bound.args if not isinstance(value, Tensor)])

    def value(given: Any, name: str = "") -> Any:
        if isinstance(given, ArrayArg):
            return given
        return _formed_like(given, bound.kwargs[name] if name in bound.kwargs else next(loose))

    try:
        args = tuple([value(given) for given in call.args])
        return replace(call, args=args, kwargs={name: value(given, name) for name, given in call.kwargs.items()})
    except (StopIteration, TypeError):
        return None


def _formed_like(given: Any, declared: Any) -> Any:
    """A declared value as the call has its own: one number, or as many alike."""
    if _equal(declared, given):
        return given
    if isinstance(declared, (Tensor, Call, np.ndarray)):
        raise TypeError("an array is no plain argument")
    if not isinstance(given, (TupleArg, list, tuple)):
        return declared
    own = given.items if isinstance(given, TupleArg) else given
    items = list(declared) if isinstance(declared, (list, tuple)) else [declared] * len(own)
    return TupleArg(tuple(items)) if isinstance(given, TupleArg) else items


def _candidates(library: str, api: str) -> list[Operator]:
    found = [OPERATORS.get(name) for name in _by_api().get((library, api), ())]
    return sorted(found, key=lambda operator: len(operator.parameters))


@cache
def _by_api() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """By library and public name, the operators that may be asked for by it; all families are imported for that."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in OPERATORS.names():
        operator = OPERATORS.get(name)
        for library in operator.calls:
            for shape in operator.shapes:
                bound = _bound(operator, library, operator.defaults(), _declared_sizes(operator, shape))
                names = found.setdefault((library, bound.api), []) if bound else []
                names += [name] if name not in names else []
    return {key: tuple(names) for key, names in found.items()}


def _declared_sizes(operator: Operator, shape: Sizes) -> dict[str, Sizes]:
    try:
        return {**operator.sizes({}, shape), COUNT: (1,)}
    except (TypeError, ValueError, IndexError, KeyError):
        return {}


def _bound(operator: Operator, library: str, params: Mapping[str, Json], sizes: Mapping[str, Sizes]) -> Call | None:
    try:
        return operator.native(library, params, sizes)
    except (Lacking, TypeError, ValueError, IndexError, KeyError, AttributeError):
        return None


def _as_operator(operator: Operator, library: str, call: ApiCall, inputs: Mapping[str, Array]) -> Recognised | None:
    if len(call.arrays()) != len(operator.operands):
        return None
    for params in itertools.islice(_parameter_sets(operator, call), _MOST):
        operands = _declared_operands(operator, library, params, call, inputs)
        if operands is None:
            continue
        sizes = _sizes(operator, operands)
        bound = _bound(operator, library, params, sizes)
        default = _bound(operator, library, operator.defaults(), sizes)
        if bound is not None and bound.pick is None and _is_same(bound, default, call):
            added = sorted(f"{n}={v!r}" for n, v in bound.kwargs.items() if n not in call.kwargs and not _is_tensor(v))
            return Recognised(operator, operator.significant(params), operands, bound.perm, tuple(added))
    return None


def _parameter_sets(operator: Operator, call: ApiCall) -> Iterator[dict[str, Json]]:
    """Parameters by what the call says: under their own names, else under whatever name."""
    pool = [_scalar(value) for value in (*call.args, *call.kwargs.values())]
    plain = [value for value in pool if isinstance(value, (bool, int, float, str)) or value is None]
    choices = [_choices(parameter, call, plain) for parameter in operator.parameters]
    names = [parameter.name for parameter in operator.parameters]
    for values in itertools.product(*choices):
        yield dict(zip(names, values, strict=True))


def _choices(parameter: Parameter, call: ApiCall, pool: Sequence[Json]) -> list[Json]:
    if parameter.name in call.kwargs:
        return [_scalar(call.kwargs[parameter.name])]
    known = [parameter.default, *(value for value in parameter.valid if value in pool)]
    like = [value for value in pool if type(value) is type(parameter.default)]
    return list({repr(value): value for value in (*known, *like)}.values())


def _declared_operands(
    operator: Operator, library: str, params: Mapping[str, Json], call: ApiCall, inputs: Mapping[str, Array]
) -> tuple[Array, ...] | None:
    """The arrays as the operator declares them; None where the declaration takes others."""
    in_order = [inputs[name] for name in call.arrays()]
    bound = _bound(operator, library, params, _sizes(operator, in_order))
    if bound is None:
        return None
    found: dict[str, Array] = {}
    for tensor, argument in _pairs(bound, call):
        array = inputs[argument.name]
        if tensor.perm and len(tensor.perm) != array.ndim:
            return None
        found[tensor.name] = np.transpose(array, np.argsort(tensor.perm)) if tensor.perm else array
    names = [operand.name for operand in operator.operands]
    return tuple(found[name] for name in names) if sorted(found) == sorted(names) else None


def _pairs(bound: Call, call: ApiCall) -> list[tuple[Tensor, ArrayArg]]:
    """The operands of a declaration with the arguments in their places; by name, where both give one."""
    named = {name: value for name, value in bound.kwargs.items() if isinstance(value, Tensor)}
    loose = [value for value in call.args if isinstance(value, ArrayArg)]
    by_name = {name: value for name, value in call.kwargs.items() if isinstance(value, ArrayArg)}
    loose += [value for name, value in by_name.items() if name not in named]
    places = [value for value in bound.args if isinstance(value, Tensor)]
    return [*zip(places, loose, strict=False), *((named[name], by_name[name]) for name in named if name in by_name)]


def _sizes(operator: Operator, arrays: Sequence[Array]) -> dict[str, Sizes]:
    sizes: dict[str, Sizes] = {}
    for operand, array in zip(operator.operands, arrays, strict=True):
        sizes[operand.name] = array.shape[1:] if operand.stacked else array.shape
        if operand.stacked:
            sizes[COUNT] = array.shape[:1]
    return sizes


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


# The comparison


def _is_same(bound: Call, default: Call | None, call: ApiCall) -> bool:
    """Whether the declaration gives this call: what it adds must be its own default."""
    if bound.api != call.api:
        return False
    loose = [value for value in bound.args if not isinstance(value, Tensor)]
    named = dict(bound.kwargs)
    for value in call.args:
        if isinstance(value, ArrayArg):
            continue
        if not loose or not _equal(loose.pop(0), value):
            return False
    for name, value in call.kwargs.items():
        if isinstance(value, ArrayArg):
            continue
        expected = named.pop(name) if name in named else (loose.pop(0) if loose else _MISSING)
        if expected is _MISSING or not _equal(expected, value):
            return False
    usual = dict(default.kwargs) if default is not None else {}
    left = [(name, value) for name, value in named.items() if not isinstance(value, Tensor)]
    return not loose and all(name in usual and _equal(usual[name], value) for name, value in left)


_MISSING: Any = object()


def _equal(expected: Any, given: Any) -> bool:
    """Equal, where one number stands for as many alike."""
    first, second = _scalar(expected), _scalar(given)
    if isinstance(first, (Tensor, Call, np.ndarray)) or isinstance(second, (ApiCall, ArrayArg)):
        return False
    if isinstance(first, str) and isinstance(second, str):
        return first.lower() == second.lower()
    return bool(type(first) is type(second) or {type(first), type(second)} <= {int, float}) and first == second


def _scalar(value: Any) -> Any:
    """One number instead of several that are alike."""
    if isinstance(value, TupleArg):
        value = value.items
    if isinstance(value, (list, tuple)):
        items = [_scalar(item) for item in value]
        same = bool(items) and all(type(item) is type(items[0]) and item == items[0] for item in items)
        return items[0] if same and isinstance(items[0], (int, float, str)) else items
    return value
