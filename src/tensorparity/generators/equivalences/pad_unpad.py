"""Rule 14, pad and unpad: what was padded and cut out again is what it was, whatever it was padded with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from ...core.rule import Agreement, Demands
from .base import Category, Equivalence
from .windows import X, case_of, draws, shape_of

_MODES = {
    "torch": ("constant", "reflect", "replicate", "circular"),
    "tensorflow": ("CONSTANT", "REFLECT", "SYMMETRIC"),
    "jax": ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "median", "minimum"),
    "keras": ("constant", "reflect", "symmetric"),
}
_PAD = {
    "torch": "torch.nn.functional.pad",
    "tensorflow": "tensorflow.pad",
    "jax": "jax.numpy.pad",
    "keras": "keras.ops.pad",
}
_IDENTITY = {
    "torch": "torch.clone",
    "tensorflow": "tensorflow.identity",
    "jax": "jax.numpy.copy",
    "keras": "keras.ops.copy",
}


@dataclass(frozen=True)
class PadUnpad(Equivalence):
    """The first side pads and cuts; the second one does nothing."""

    def applies(self, api: str) -> bool:
        return api in _PAD.values()

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 14])
        return [_draw(library, rng, place) for place in range(count)]

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or call.api != "[]" or not isinstance(call.args[0], ApiCall):
            return None
        library = next((name for name, api in _PAD.items() if api == call.args[0].api), None)
        if library is None or not _fits(call, shape_of(case, "x")):
            return None
        return Counterpart(subject=ApiCall(_IDENTITY[library], (X,)))


def _fits(call: ApiCall, shape: tuple[int, ...]) -> bool:
    """What is cut out has the shape of the input."""
    places = call.args[1]
    return len(places) == len(shape) and all(s.stop - s.start == size for s, size in zip(places, shape, strict=True))


def _draw(library: str, rng: np.random.Generator, place: int) -> Case:
    mode = _MODES[library][place % len(_MODES[library])]
    shape = [int(rng.integers(3, 7)) for _ in range(4)]
    pads = [(int(rng.integers(0, 3)), int(rng.integers(0, 3))) for _ in range(4)]
    if library == "torch":
        pads[:2] = [(0, 0), (0, 0)]
    kwargs: dict[str, Any] = {"mode": mode}
    amounts: Any = [list(pair) for pair in pads]
    if library == "torch":
        amounts = [amount for pair in reversed(pads[2:]) for amount in pair]
    if mode.lower() == "constant":
        kwargs["value" if library == "torch" else "constant_values"] = float(rng.integers(-3, 4))
    inside = tuple(slice(before, before + size, None) for (before, _), size in zip(pads, shape, strict=True))
    padded = ApiCall(_PAD[library], (X, amounts), kwargs)
    return case_of(ApiCall("[]", (padded, inside)), {"x": draws(rng, shape)})


PAD_UNPAD = PadUnpad(
    "pad-unpad",
    14,
    Category.INVERSE,
    "unpad(pad(I)) = I",
    demands=Demands(agreement=Agreement.BITS),
)
