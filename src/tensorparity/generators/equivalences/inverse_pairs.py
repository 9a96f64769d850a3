"""Beyond the paper: functions that are each other's inverse, one after the other, give back what went in.

Numbers come from where neither function loses digits; what only moves or flips numbers gives back every bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg, DtypeArg
from ...core.case import Case, Counterpart
from ...core.rule import Agreement, Demands
from .base import Category, Equivalence, library_of_name
from .windows import VALUES, case_of

X = ArrayArg("x")
Draw = Callable[[np.random.Generator], Array]
Pair = tuple[ApiCall, Draw]

_IDENTITY = {
    "tensorflow": "tensorflow.identity",
    "torch": "torch.clone",
    "jax": "jax.numpy.copy",
    "keras": "keras.ops.copy",
}
#: Where elementwise functions of a library are; ``fft`` and ``linalg`` likewise.
_PLAIN = {"tensorflow": "tensorflow.math.", "torch": "torch.", "jax": "jax.numpy.", "keras": "keras.ops."}
_LINALG = {
    "tensorflow": "tensorflow.linalg.",
    "torch": "torch.linalg.",
    "jax": "jax.numpy.linalg.",
    "keras": "keras.ops.",
}
_TENSORFLOW = {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
#: There and back, and from where to where numbers are drawn.
_ELEMENTWISE = (
    ("exp", "log", 0.5, 8.0),
    ("log", "exp", 0.5, 20.0),
    ("expm1", "log1p", 0.01, 8.0),
    ("log1p", "expm1", 0.01, 20.0),
    ("sin", "arcsin", -1.2, 1.2),
    ("arcsin", "sin", -0.95, 0.95),
    ("cos", "arccos", 0.3, 2.8),
    ("arccos", "cos", -0.95, 0.95),
    ("tan", "arctan", -1.3, 1.3),
    ("arctan", "tan", -3.0, 3.0),
    ("sinh", "arcsinh", -8.0, 8.0),
    ("arcsinh", "sinh", -20.0, 20.0),
    ("cosh", "arccosh", 0.5, 8.0),
    ("arccosh", "cosh", 1.5, 20.0),
    ("tanh", "arctanh", -2.0, 2.0),
    ("arctanh", "tanh", -0.95, 0.95),
    ("sqrt", "square", 0.1, 1e4),
    ("square", "sqrt", 0.1, 1e4),
    ("reciprocal", "reciprocal", 0.1, 1e3),
    ("exp2", "log2", 0.5, 20.0),
    ("deg2rad", "rad2deg", -400.0, 400.0),
    ("erf", "erfinv", -1.2, 1.2),
    ("sigmoid", "logit", -3.0, 3.0),
)
_MATRICES = ("inv", "pinv")


def _between(low: float, high: float) -> Draw:
    def draw(rng: np.random.Generator) -> Array:
        shape = (VALUES, int(rng.integers(1, 5)), int(rng.integers(1, 20)))
        return rng.uniform(low, high, shape).astype(np.float32)

    return draw


def _numbers(dtype: str = "float32", rank: int = 2, *, even: bool = False) -> Draw:
    def draw(rng: np.random.Generator) -> Array:
        shape = (VALUES, *(int(rng.integers(1, 6)) * (1 + even) for _ in range(rank)))
        if dtype.startswith("float"):
            return rng.standard_normal(shape).astype(dtype)
        if dtype == "bool":
            return rng.random(shape) < 0.5
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)

    return draw


def _regular(rng: np.random.Generator) -> Array:
    """Square matrices far from singular, positive definite."""
    size = int(rng.integers(1, 5))
    wide = rng.standard_normal((VALUES, size, size))
    return np.asarray(wide @ wide.swapaxes(-1, -2) + size * np.eye(size)).astype(np.float32)


def _picture(rng: np.random.Generator) -> Array:
    """Four axes: samples, and three that blocks of two divide."""
    return rng.standard_normal((VALUES, 2, 4, 4, 8)).astype(np.float32)


def _chain(*names: str, **last: Any) -> ApiCall:
    call: Any = X
    for place, name in enumerate(names):
        call = ApiCall(name, (call,), last if place == len(names) - 1 else {})
    assert isinstance(call, ApiCall)
    return call


def _elementwise(library: str) -> Iterator[Pair]:
    special = {"torch": "torch.special.", "jax": "jax.scipy.special.", "tensorflow": "tensorflow.math."}
    for there, back, low, high in _ELEMENTWISE:
        names = [_name(library, name, special.get(library, "keras.ops.")) for name in (there, back)]
        yield _chain(*names), _between(low, high)


def _name(library: str, name: str, special: str) -> str:
    if library == "tensorflow":
        name = _TENSORFLOW.get(name, name)
    if library == "jax" and name == "sigmoid":
        return "jax.scipy.special.expit"
    return (special if name in ("erf", "erfinv", "logit") else _PLAIN[library]) + name


def _spectral(library: str) -> Iterator[Pair]:
    at = {"tensorflow": "tensorflow.signal.", "torch": "torch.fft.", "jax": "jax.numpy.fft."}.get(library)
    if at is None:
        return
    back = {"torch": "torch.real", "jax": "jax.numpy.real", "tensorflow": "tensorflow.math.real"}[library]
    whole: Any = ApiCall("tensorflow.cast", (X, DtypeArg("complex64"))) if library == "tensorflow" else X
    twice = ("fft2d", "ifft2d") if library == "tensorflow" else ("fft2", "ifft2")
    for there, again in (("fft", "ifft"), ("ifft", "fft"), twice, twice[::-1]):
        yield ApiCall(back, (ApiCall(at + again, (ApiCall(at + there, (whole,)),)),)), _numbers()
    pair = ("rfft", "irfft")
    yield _chain(*(at + name for name in pair)), _numbers(even=True)
    if library != "tensorflow":
        yield _chain(at + "ihfft", at + "hfft"), _numbers(even=True)


def _matrices(library: str) -> Iterator[Pair]:
    at, plain = _LINALG[library], _PLAIN[library]
    matmul = ApiCall, {"tensorflow": "tensorflow.linalg.matmul"}.get(library, plain + "matmul")
    for name in _MATRICES:
        if (library, name) != ("keras", "pinv"):
            yield _chain(at + name, at + name), _regular
    turn = {"torch": ".t", "tensorflow": "tensorflow.transpose"}.get(library, plain + "transpose")
    low = ApiCall(at + "cholesky", (X,))
    yield matmul[0](matmul[1], (low, ApiCall(turn, (low,)))), _regular
    both = ApiCall(at + "qr", (X,))
    yield ApiCall(matmul[1], (ApiCall("[]", (both, 0)), ApiCall("[]", (both, 1)))), _numbers()
    product = ApiCall(matmul[1], (X, X))
    yield ApiCall(at + "solve", (X, product)), _regular


@cache
def rounded(library: str) -> tuple[Pair, ...]:
    """Pairs that compute."""
    found = [*_elementwise(library), *_spectral(library), *_matrices(library)]
    absent = {
        "tensorflow": ("exp2", "log2", "deg2rad", "rad2deg", "logit"),
        "keras": ("logit",),
        "jax": (),
        "torch": (),
    }
    return tuple(pair for pair in found if not any(c.api.endswith(absent[library]) for c in pair[0].calls()))


_T, _F, _J, _K = "torch.", "torch.nn.functional.", "jax.numpy.", "keras.ops."
_MOVED: Mapping[str, tuple[Pair, ...]] = {
    "torch": (
        (_chain(_T + "bitwise_not", _T + "bitwise_not"), _numbers("int32")),
        (_chain(_T + "logical_not", _T + "logical_not"), _numbers("bool")),
        (_chain(_T + "neg", _T + "neg"), _numbers("int64")),
        (_chain(_T + "fliplr", _T + "fliplr"), _numbers()),
        (_chain(_T + "flipud", _T + "flipud"), _numbers("int8")),
        (_chain(_T + "t", _T + "t"), _numbers()),
        (ApiCall(_T + "roll", (ApiCall(_T + "roll", (X, 2, 1)), -2, 1)), _numbers("int16")),
        (ApiCall(_T + "rot90", (ApiCall(_T + "rot90", (X, 1)), -1)), _numbers()),
        (_chain(_T + "view_as_complex", _T + "view_as_real"), lambda rng: _numbers()(rng)[..., :1].repeat(2, -1)),
        (
            ApiCall(_F + "pixel_unshuffle", (ApiCall(_F + "pixel_shuffle", (X, 2)), 2)),
            lambda rng: np.moveaxis(_picture(rng), -1, 2).copy(),
        ),
        (
            ApiCall(_F + "pixel_shuffle", (ApiCall(_F + "pixel_unshuffle", (X, 2)), 2)),
            lambda rng: _picture(rng)[..., :4],
        ),
        (ApiCall(_T + "stack", (ApiCall(_T + "unbind", (X,)),)), _numbers("uint8")),
        (ApiCall(_T + "cat", (ApiCall(_T + "split", (X, 2)),)), _numbers()),
        (ApiCall(_T + "hstack", (ApiCall(_T + "tensor_split", (X, 3, 1)),)), _numbers()),
        (ApiCall(_T + "squeeze", (ApiCall(_T + "unsqueeze", (X, 1)), 1)), _numbers("int32")),
        (_chain(_T + "fft.fftshift", _T + "fft.ifftshift"), _numbers()),
        (
            ApiCall(
                _T + "ldexp",
                (ApiCall("[]", (ApiCall(_T + "frexp", (X,)), 0)), ApiCall("[]", (ApiCall(_T + "frexp", (X,)), 1))),
            ),
            _numbers(),
        ),
        (ApiCall(_T + "add", (ApiCall(_T + "triu", (X, 1)), ApiCall(_T + "tril", (X,)))), _numbers("int32")),
    ),
    "tensorflow": (
        (_chain("tensorflow.bitwise.invert", "tensorflow.bitwise.invert"), _numbers("int32")),
        (_chain("tensorflow.math.logical_not", "tensorflow.math.logical_not"), _numbers("bool")),
        (_chain("tensorflow.math.negative", "tensorflow.math.negative"), _numbers("int64")),
        (ApiCall("tensorflow.reverse", (ApiCall("tensorflow.reverse", (X, (1,))), (1,))), _numbers("int8")),
        (_chain("tensorflow.transpose", "tensorflow.transpose"), _numbers()),
        (ApiCall("tensorflow.roll", (ApiCall("tensorflow.roll", (X, 2, 1)), -2, 1)), _numbers("int32")),
        (ApiCall("tensorflow.nn.depth_to_space", (ApiCall("tensorflow.nn.space_to_depth", (X, 2)), 2)), _picture),
        (ApiCall("tensorflow.nn.space_to_depth", (ApiCall("tensorflow.nn.depth_to_space", (X, 2)), 2)), _picture),
        (
            ApiCall(
                "tensorflow.batch_to_space",
                (ApiCall("tensorflow.space_to_batch", (X, (2, 2), ((0, 0), (0, 0)))), (2, 2), ((0, 0), (0, 0))),
            ),
            _picture,
        ),
        (ApiCall("tensorflow.stack", (ApiCall("tensorflow.unstack", (X,)),)), _numbers("uint8")),
        (ApiCall("tensorflow.squeeze", (ApiCall("tensorflow.expand_dims", (X, 1)), (1,))), _numbers("int32")),
        (_chain("tensorflow.signal.fftshift", "tensorflow.signal.ifftshift"), _numbers()),
    ),
    "jax": (
        (_chain(_J + "bitwise_not", _J + "bitwise_not"), _numbers("int32")),
        (_chain(_J + "logical_not", _J + "logical_not"), _numbers("bool")),
        (_chain(_J + "negative", _J + "negative"), _numbers("int32")),
        (_chain(_J + "fliplr", _J + "fliplr"), _numbers()),
        (_chain(_J + "transpose", _J + "transpose"), _numbers()),
        (ApiCall(_J + "roll", (ApiCall(_J + "roll", (X, 2, 1)), -2, 1)), _numbers("int16")),
        (ApiCall(_J + "rot90", (ApiCall(_J + "rot90", (X, 1)), -1)), _numbers()),
        (ApiCall(_J + "hstack", (ApiCall(_J + "array_split", (X, 3, 1)),)), _numbers()),
        (_chain(_J + "fft.fftshift", _J + "fft.ifftshift"), _numbers()),
        (
            ApiCall(
                _J + "ldexp",
                (ApiCall("[]", (ApiCall(_J + "frexp", (X,)), 0)), ApiCall("[]", (ApiCall(_J + "frexp", (X,)), 1))),
            ),
            _numbers(),
        ),
        (
            ApiCall(_J + "unpackbits", (ApiCall(_J + "packbits", (ApiCall(_J + "ravel", (X,)),)),), {"count": 4}),
            lambda rng: rng.integers(0, 2, (VALUES, 4)).astype(np.uint8),
        ),
    ),
    "keras": (
        (_chain(_K + "bitwise_not", _K + "bitwise_not"), _numbers("int32")),
        (_chain(_K + "logical_not", _K + "logical_not"), _numbers("bool")),
        (_chain(_K + "negative", _K + "negative"), _numbers("int32")),
        (_chain(_K + "flip", _K + "flip"), _numbers()),
        (_chain(_K + "transpose", _K + "transpose"), _numbers()),
        (ApiCall(_K + "roll", (ApiCall(_K + "roll", (X, 2, 1)), -2, 1)), _numbers("int32")),
        (ApiCall(_K + "rot90", (ApiCall(_K + "rot90", (X, 1)), -1)), _numbers()),
        (ApiCall(_K + "stack", (ApiCall(_K + "unstack", (X,)),)), _numbers()),
        (ApiCall(_K + "concatenate", (ApiCall(_K + "array_split", (X, 3, 1)),), {"axis": 1}), _numbers()),
    ),
}


def moved(library: str) -> tuple[Pair, ...]:
    """Pairs that compute nothing."""
    return _MOVED[library]


@dataclass(frozen=True)
class InversePairs(Equivalence):
    """Args:
    pairs: of a library.
    """

    pairs: Callable[[str], tuple[Pair, ...]] = rounded

    def applies(self, api: str) -> bool:
        return super().applies(api) and any(
            api == call.api for pair, _ in self.pairs(library_of_name(api)) for call in pair.calls()
        )

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Every pair, more than once where more is asked for."""
        rng = np.random.default_rng([seed, 31])
        known = self.pairs(library)
        turns = max(1, count // len(known))
        return [case_of(call, {"x": draw(rng)}) for _ in range(turns) for call, draw in known]

    def counterpart(self, case: Case) -> Counterpart | None:
        known = [library for library in _IDENTITY for call, _ in self.pairs(library) if call == case.subject]
        return Counterpart(subject=ApiCall(_IDENTITY[known[0]], (X,))) if known else None


INVERSE_PAIRS = InversePairs(
    "inverse-pairs",
    0,
    Category.BEYOND,
    "inverse(F)(F(I)) = I",
    {},
    Demands(dtypes=False, relative=2e-3, truth=1, accused=0, freedoms=False),
)
EXACT_INVERSES = InversePairs(
    "exact-inverses",
    0,
    Category.BEYOND,
    "inverse(F)(F(I)) = I, every bit",
    {},
    Demands(agreement=Agreement.BITS, dtypes=False, freedoms=False),
    pairs=moved,
)
