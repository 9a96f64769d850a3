"""Rule 2, explicit padding: a window function that pads, and the same on an input that was padded before.

Convolutions pad with zeros, maxima with minus infinity. Of means in which padding does not count, the mean of what was
padded with zeros is divided by that of ones that were padded alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Equivalence, library_of_name
from .windows import APIS, Window, draw_windows, padded, same_padding, shape_of, window_of

_VALUE = {"conv": 0.0, "depthwise": 0.0, "max": float("-inf"), "average": 0.0}
_NONE = {"torch": 0, "tensorflow": "VALID", "jax": "VALID", "keras": "valid"}
_SAME = {"tensorflow": "SAME", "jax": "SAME", "keras": "same", "torch": "same"}
_DIVIDE = {"torch": "torch.div", "tensorflow": "tensorflow.math.divide", "keras": "keras.ops.divide"}
_ONES = {"torch": "torch.ones_like", "tensorflow": "tensorflow.ones_like", "keras": "keras.ops.ones_like"}


@dataclass(frozen=True)
class ExplicitPadding(Equivalence):
    def applies(self, api: str) -> bool:
        return api in APIS and library_of_name(api) in self.libraries()

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        kinds = [kind for kind in _VALUE if kind != "average" or library in _DIVIDE]
        drawn = draw_windows(library, kinds, count, seed)
        turn = len({window.api for window, _ in drawn})
        return [_with_padding(window, case, place // max(1, turn)) for place, (window, case) in enumerate(drawn)]

    def counterpart(self, case: Case) -> Counterpart | None:
        window = window_of(case)
        call = case.subject
        if window is None or not isinstance(call, ApiCall):
            return None
        given = window.bound(call)
        pads = _pads(window, case, given)
        if pads is None or not any(map(any, pads)) or given.get("ceil_mode") or "divisor_override" in given:
            return None
        kwargs = {**dict(zip(window.names, call.args, strict=False)), **call.kwargs, "padding": _NONE[window.library]}
        arrays = {name: kwargs.pop(name) for name in window.names[1:2] if window.weighted}
        kwargs.pop(window.names[0], None)

        def unpadded(tensor: Any) -> ApiCall:
            first = padded(window, tensor, pads, _VALUE[window.kind])
            return ApiCall(call.api, (first, *arrays.values()), kwargs)

        if not _leaves_padding_out(window, given):
            return Counterpart(subject=unpadded(call.args[0]))
        counted = unpadded(ApiCall(_ONES[window.library], (call.args[0],)))
        return Counterpart(subject=ApiCall(_DIVIDE[window.library], (unpadded(call.args[0]), counted)))


def _leaves_padding_out(window: Window, given: dict[str, object]) -> bool:
    """Whether it is a mean in which what was padded does not count."""
    return window.kind == "average" and (window.library != "torch" or given.get("count_include_pad") is False)


def _with_padding(window: Window, case: Case, turn: int) -> Case:
    """In every other turn torch's convolutions are padded by the word that others have, and its means leave it out."""
    call = case.subject
    assert isinstance(call, ApiCall)
    if window.library != "torch":
        return replace(case, subject=replace(call, kwargs={**call.kwargs, "padding": _SAME[window.library]}))
    odd = bool(turn % 2)
    if odd and window.kind == "conv":
        same = {"padding": _SAME["torch"], "stride": 1, "dilation": 1 + turn // 2 % 2}
        return replace(case, subject=replace(call, kwargs={**call.kwargs, **same}))
    if odd and window.kind == "average":
        call = replace(call, kwargs={**call.kwargs, "count_include_pad": False})
    size = window.kernel(case.inputs, window.bound(call), rows=True)
    most = [k - 1 for k in size] if window.kind == "conv" else [k // 2 for k in size]
    return replace(case, subject=replace(call, kwargs={**call.kwargs, "padding": most}))


def _pads(window: Window, case: Case, given: dict[str, object]) -> Sequence[tuple[int, int]] | None:
    """The padding of each spatial axis; None where it is said in another way."""
    padding = given.get("padding", 0)
    if window.library == "torch" and not isinstance(padding, str):
        return [(amount, amount) for amount in window.each(padding, 0)]
    if padding != _SAME[window.library]:
        return None
    name = next(iter(case.subject.arrays()))  # type: ignore[union-attr]
    size = window.kernel(case.inputs, given, rows=case.procedure.rows is not None)
    size = tuple((k - 1) * rate + 1 for k, rate in zip(size, window.dilated(given), strict=True))
    stride = given.get("strides", given.get("stride", given.get("window_strides")))
    strides = window.each(stride if stride is not None else (1 if window.weighted else size))
    return same_padding(window.spatial(shape_of(case, name)), size, strides)


EXPLICIT_PADDING = ExplicitPadding(
    "explicit-padding",
    2,
    Category.REDUNDANCY,
    "F(I, padding=SAME) = F(pad(I, SAME))",
    derivative=2,
)
