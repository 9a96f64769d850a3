"""Beyond the paper: what ``keras.random`` draws, by its properties.

Each case is a program of one function three times: twice with one seed and once with another. The same seed must give
the same numbers, another one others, and all of them what the documentation says: shape, dtype, range, mean, variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import SEVERAL, ApiCall, ArrayArg, TupleArg
from ...core.case import Case, Counterpart
from ...core.procedure import Goal, Procedure
from .base import LIBRARIES, Category, Equivalence

_PREFIX = "keras.random."
#: So many numbers decide by their mean and variance.
_SIDES = (64, 96)
_DTYPES = ("float32", "float16", "bfloat16", "float64")


@dataclass(frozen=True)
class RandomProperties(Equivalence):
    def applies(self, api: str) -> bool:
        return super().applies(api) and api.startswith(_PREFIX)

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        return [_twice_and_again(*call, seed) for call in _calls(np.random.default_rng([seed, 23]))]

    def equivalence(self, case: Case) -> Case | None:
        """The case itself: it is judged by what its documentation says of the numbers that are drawn."""
        call = case.subject
        several = isinstance(call, ApiCall) and call.api == SEVERAL and not case.procedure.derivative
        return replace(case, counterpart=None) if several else None

    def counterpart(self, case: Case) -> Counterpart | None:
        return None


def _twice_and_again(name: str, args: dict[str, Any], arrays: dict[str, Array], seed: int) -> Case:
    calls = tuple(ApiCall(_PREFIX + name, (), {**args, "seed": number}) for number in (7 + seed, 7 + seed, 8 + seed))
    return Case(ApiCall(SEVERAL, calls), Procedure(goal=Goal.CALL), inputs=arrays, seed=seed)


def _calls(rng: np.random.Generator) -> Iterator[tuple[str, dict[str, Any], dict[str, Array]]]:
    """Function, arguments and arrays; every function by its defaults, and with each parameter set."""
    shape = {"shape": TupleArg(_SIDES)}
    x = ArrayArg("x")
    for dtype in _DTYPES:
        given = {**shape, "dtype": dtype}
        mean, spread = round(float(rng.uniform(-3, 3)), 2), round(float(rng.uniform(0.2, 4)), 2)
        yield "normal", {**given, "mean": mean, "stddev": spread}, {}
        yield "truncated_normal", {**given, "mean": mean, "stddev": spread}, {}
        yield "uniform", {**given, "minval": mean, "maxval": mean + spread}, {}
        yield "gamma", {**given, "alpha": spread}, {}
        yield "beta", {**given, "alpha": spread, "beta": round(float(rng.uniform(0.3, 3)), 2)}, {}
        yield "binomial", {**given, "counts": float(rng.integers(2, 20)), "probabilities": 0.3}, {}
    for name in ("normal", "truncated_normal", "uniform"):
        yield name, dict(shape), {}
    for dtype in ("int32", "uint8", "int64"):
        yield "randint", {**shape, "minval": 2, "maxval": int(rng.integers(5, 120)), "dtype": dtype}, {}
    ones = np.full(_SIDES, 3.0, np.float32)
    yield "dropout", {"inputs": x, "rate": 0.25}, {"x": ones}
    yield "dropout", {"inputs": x, "rate": 0.25}, {"x": ones.astype(np.float16)}
    logits = np.tile(rng.standard_normal(6).astype(np.float32), (4, 1))
    yield "categorical", {"logits": x, "num_samples": 2048}, {"x": logits}
    yield "categorical", {"logits": x, "num_samples": 2048, "dtype": "int64"}, {"x": logits}
    yield "shuffle", {"x": x}, {"x": np.arange(97.0, dtype=np.float32)}
    yield "shuffle", {"x": x, "axis": 1}, {"x": np.arange(291.0, dtype=np.float32).reshape(3, 97)}


_WHY = "its random functions are judged through Keras alone"
RANDOM_PROPERTIES = RandomProperties(
    "random-properties",
    0,
    Category.BEYOND,
    "F(seed) = F(seed), and as documented",
    {library: _WHY for library in LIBRARIES if library != "keras"},
    oracle="drawn",
)
