"""Rule 3, a window function by the one with an axis more: 2D by 3D, and 1D by 2D, with a dummy axis of length one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Equivalence, library_of_name
from .windows import APIS, WINDOWS, Window, draw_windows, sized, strided, window_of

_ADD = {
    "torch": "torch.unsqueeze",
    "tensorflow": "tensorflow.expand_dims",
    "jax": "jax.numpy.expand_dims",
    "keras": "keras.ops.expand_dims",
}
_DROP = {
    "torch": "torch.squeeze",
    "tensorflow": "tensorflow.squeeze",
    "jax": "jax.numpy.squeeze",
    "keras": "keras.ops.squeeze",
}


@dataclass(frozen=True)
class HigherDimension(Equivalence):
    def applies(self, api: str) -> bool:
        return api in APIS and library_of_name(api) in self.libraries()

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        drawn = draw_windows(library, ("conv", "max", "average"), 2 * count, seed)
        return [case for window, case in drawn if _above(window) is not None][:count]

    def counterpart(self, case: Case) -> Counterpart | None:
        window, call = window_of(case), case.subject
        above = _above(window) if window else None
        if window is None or above is None or not isinstance(call, ApiCall):
            return None
        given = window.bound(call)
        if (
            window.dilated(given) != (1,) * window.dims
            or given.get("groups") not in (None, 1)
            or given.get("bias") is not None
        ):
            return None
        axis = 2 if window.channels_first else 1
        size = window.kernel(case.inputs, given, rows=case.procedure.rows is not None)
        stride = given.get("strides", given.get("stride", given.get("window_strides")))
        strides = window.each(stride if stride is not None else (1 if window.weighted else size))
        tensors: list[Any] = [_call(_ADD, window, call.args[0], axis)]
        if window.weighted:
            tensors.append(_call(_ADD, window, given[window.names[1]], axis if window.channels_first else 0))
        kwargs = {**sized(above, (1, *size)), **strided(above, (1, *strides)), "padding": _padding(window, given)}
        if given.get("count_include_pad") is False:
            kwargs["count_include_pad"] = False
        if given.get("ceil_mode"):
            kwargs["ceil_mode"] = True
        return Counterpart(subject=_call(_DROP, window, ApiCall(above.api, tuple(tensors), kwargs), axis))


def _above(window: Window) -> Window | None:
    plain = window.api.replace(f"{window.dims}d", f"{window.dims + 1}d")
    return WINDOWS.get((plain, window.dims + 1))


def _call(table: dict[str, str], window: Window, tensor: Any, axis: int) -> ApiCall:
    place: Any = [axis] if table is _DROP and window.library == "tensorflow" else axis
    return ApiCall(table[window.library], (tensor, place))


def _padding(window: Window, given: dict[str, Any]) -> Any:
    padding = given.get("padding", 0)
    if window.library != "torch" or isinstance(padding, str):
        return padding
    return [0, *window.each(padding, 0)]


HIGHER_DIMENSION = HigherDimension(
    "higher-dimension", 3, Category.REDUNDANCY, "implement(F_2D, F_3D)(I) = F_2D(I)", derivative=2
)
