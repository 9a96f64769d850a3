"""Rule 2, explicit padding: a window function that pads, and the same on an input that was padded before.

Convolutions pad with zeros, maxima with minus infinity; means are compared where padding counts as elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Equivalence, library_of_name
from .windows import APIS, Window, draw_windows, padded, same_padding, shape_of, window_of

_VALUE = {"conv": 0.0, "depthwise": 0.0, "max": float("-inf"), "average": 0.0}
_NONE = {"torch": 0, "tensorflow": "VALID", "jax": "VALID", "keras": "valid"}
_SAME = {"tensorflow": "SAME", "jax": "SAME", "keras": "same"}


@dataclass(frozen=True)
class ExplicitPadding(Equivalence):
    def applies(self, api: str) -> bool:
        return api in APIS and library_of_name(api) in self.libraries()

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        kinds = [kind for kind in _VALUE if kind != "average" or library == "torch"]  # elsewhere padding is in no mean
        return [_with_padding(window, case) for window, case in draw_windows(library, kinds, count, seed)]

    def counterpart(self, case: Case) -> Counterpart | None:
        window = window_of(case)
        call = case.subject
        if window is None or not isinstance(call, ApiCall):
            return None
        given = window.bound(call)
        pads = _pads(window, case, given)
        if pads is None or not any(map(any, pads)) or given.get("ceil_mode") or given.get("count_include_pad") is False:
            return None
        first = padded(window, call.args[0], pads, _VALUE[window.kind])
        kwargs = {**dict(zip(window.names, call.args, strict=False)), **call.kwargs, "padding": _NONE[window.library]}
        arrays = {name: kwargs.pop(name) for name in window.names[1:2] if window.weighted}
        kwargs.pop(window.names[0], None)
        return Counterpart(subject=ApiCall(call.api, (first, *arrays.values()), kwargs))


def _with_padding(window: Window, case: Case) -> Case:
    call = case.subject
    assert isinstance(call, ApiCall)
    if window.library != "torch":
        return replace(case, subject=replace(call, kwargs={**call.kwargs, "padding": _SAME[window.library]}))
    size = window.kernel(case.inputs, window.bound(call), rows=True)
    most = [k - 1 for k in size] if window.kind == "conv" else [k // 2 for k in size]
    return replace(case, subject=replace(call, kwargs={**call.kwargs, "padding": most}))


def _pads(window: Window, case: Case, given: dict[str, object]) -> Sequence[tuple[int, int]] | None:
    """The padding of each spatial axis; None where it is said in another way."""
    padding = given.get("padding", 0)
    if window.library == "torch":
        if isinstance(padding, str):
            return None
        return [(amount, amount) for amount in window.each(padding, 0)]
    if padding != _SAME[window.library]:
        return None
    name = next(iter(case.subject.arrays()))  # type: ignore[union-attr]
    if window.kind == "average":
        return None  # padding counts in no mean there
    size = window.kernel(case.inputs, given, rows=case.procedure.rows is not None)
    size = tuple((k - 1) * rate + 1 for k, rate in zip(size, window.dilated(given), strict=True))
    stride = given.get("strides", given.get("stride", given.get("window_strides")))
    strides = window.each(stride if stride is not None else (size if window.kind == "max" else 1))
    return same_padding(window.spatial(shape_of(case, name)), size, strides)


EXPLICIT_PADDING = ExplicitPadding(
    "explicit-padding",
    2,
    Category.REDUNDANCY,
    "F(I, padding=SAME) = F(pad(I, SAME))",
    derivative=2,
)
