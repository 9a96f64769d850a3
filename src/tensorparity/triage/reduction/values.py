"""Simple numbers: what a layer has by nature, small integers, short decimals, zeros.

Non-finite values stay what they are in every form but the plainest: they may be the point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ...core.arrays import Array, dtype_name, is_floating
from ...core.case import Case
from ...core.errors import TensorParityError
from ...operators.catalogue import layer
from ...operators.reference.evaluate import declare_weights
from ...operators.spec import ShapeError
from ...oracles.measure.editing import NATURAL, graph_of, with_arrays
from .order import value_cost
from .reducer import Attempts
from .splitting import apply_most

#: Group and name of an array.
_Place = tuple[str, str]
_Form = Callable[[Array], Array]

#: Arrays up to this many elements are read as they are; larger ones are better with zeros in them.
_READABLE = 8
#: The formula for larger arrays, which a script can write down: ``np.arange(n) % 7 - 3``.
PERIOD, OFFSET = 7, 3


def simplify_values(attempts: Attempts) -> None:
    """The simplest form that all arrays can take together; then each that is left, alone; then zeros."""
    natural = _natural_weights(attempts.case)
    places = [place for place in _places(attempts.case) if not _is_plain(attempts.case, place, natural)]
    forms: list[_Form] = [counted_numbers, negated_numbers, small_integers, rounded_numbers, one_digit]
    if not places or attempts.first([_with_form(attempts.case, places, forms[0], natural)]):
        return
    for form in forms[1:]:
        if attempts.first(
            [_with_form(attempts.case, places, form, natural), _with_form(attempts.case, places, form, {})]
        ):
            break
    else:
        for form in forms:
            places = apply_most(attempts, places, partial(_with_form, form=form, natural=natural))
    _zeros(attempts)


def plain_values(case: Case, groups: Sequence[str]) -> Case | None:
    """The case with the plainest numbers in all arrays of these groups; None where they do not fit."""
    places = [place for place in _places(case) if place[0] in groups]
    return _with_form(case, places, counted_numbers, _natural_weights(case)) if places else case


def _is_plain(case: Case, place: _Place, natural: dict[str, float]) -> bool:
    """Already as plain as the first form makes it, or plainer."""
    group, name = place
    array = getattr(case, group)[name]
    plainest = _form_of(case, place, counted_numbers, natural)
    return value_cost(array) <= value_cost(plainest)


def _places(case: Case) -> list[_Place]:
    return [
        (group, name)
        for group in ("inputs", "weights", "cotangents", "labels")
        for name, array in getattr(case, group).items()
        if is_floating(dtype_name(array)) and not dtype_name(array).startswith("complex") and array.size
    ]


def _natural_weights(case: Case) -> dict[str, float]:
    """What each weight is where nothing is special about it; kernels are left to the forms."""
    graph = graph_of(case)
    try:
        declared = declare_weights(graph) if graph else {}
    except (ShapeError, TensorParityError):
        return {}
    return {
        name: NATURAL[spec.role] for name, spec in declared.items() if spec.role in NATURAL and spec.role != "kernel"
    }


def _with_form(case: Case, places: Sequence[_Place], form: _Form, natural: dict[str, float]) -> Case | None:
    groups = {group: dict(getattr(case, group)) for group in Case.GROUPS}
    for group, name in places:
        groups[group][name] = _form_of(case, (group, name), form, natural)
    return with_arrays(case, groups)


def _form_of(case: Case, place: _Place, form: _Form, natural: dict[str, float]) -> Array:
    group, name = place
    array: Array = getattr(case, group)[name]
    if group == "weights" and name in natural:
        return np.full(array.shape, natural[name], array.dtype)
    with np.errstate(all="ignore"):
        return _in_domain(case, place, array, form(array.astype(np.float64))).astype(array.dtype)


def _in_domain(case: Case, place: _Place, old: Array, new: Array) -> Array:
    """Inputs stay where the layer says anything about them."""
    graph = graph_of(case)
    group, name = place
    if group != "inputs" or graph is None or len(graph.nodes) != 1:
        return new
    node = graph.nodes[0]
    index = next((index for index, ref in enumerate(node.inputs) if ref.node == name), 0)
    domain = layer(node.op).domain_of(layer(node.op).complete({**node.params, **node.call_params}), index)
    low = domain.low if domain.low is not None else -np.inf
    high = domain.high if domain.high is not None else np.inf
    return np.where((new >= low) & (new < high), new, old)


def counted_numbers(array: Array) -> Array:
    """1, 2, 3, ... while that is short, else a formula that is."""
    if array.size <= _READABLE:
        return np.arange(1.0, array.size + 1).reshape(array.shape)
    return (np.arange(float(array.size)) % PERIOD - OFFSET).reshape(array.shape)


def negated_numbers(array: Array) -> Array:
    """The other sign everywhere, where the array has it at all."""
    return -np.abs(counted_numbers(array)) if (array < 0).any() else array


def small_integers(array: Array) -> Array:
    """The array's own pattern, scaled to whole numbers up to 9."""
    finite = np.abs(array[np.isfinite(array)])
    scale = finite.max(initial=0.0)
    if not scale:
        return array
    return np.where(np.isfinite(array), np.rint(array * (min(9.0, max(scale, 3.0)) / scale)), array)


def rounded_numbers(array: Array) -> Array:
    return np.where(np.isfinite(array), np.rint(array), array)


def one_digit(array: Array) -> Array:
    """One significant digit: keeps what is huge, and what is tiny."""
    with np.errstate(all="ignore"):
        power = np.power(10.0, np.floor(np.log10(np.abs(array))))
        digit = np.rint(array / power) * power
    return np.where(np.isfinite(digit) & (array != 0), digit, array)


def _zeros(attempts: Attempts) -> None:
    """In arrays that are too long to be read, as many zeros as possible: all, halves, quarters."""
    for place in _places(attempts.case):
        array = getattr(attempts.case, place[0])[place[1]]
        if array.size > _READABLE and not _is_plain(attempts.case, place, {}):
            pieces = np.array_split(np.arange(array.size), 4)
            apply_most(attempts, pieces, partial(_with_zeros_in, place=place))


def _with_zeros_in(case: Case, pieces: Sequence[Array], place: _Place) -> Case:
    group, name = place
    array = getattr(case, group)[name].copy()
    array.reshape(-1)[np.concatenate(list(pieces))] = 0
    return with_arrays(case, {group: {**getattr(case, group), name: array}})
