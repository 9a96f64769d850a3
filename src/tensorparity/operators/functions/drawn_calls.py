"""Calls that make numbers: what draws them, of which shape and dtype, and what they should be.

A function of ``keras.random``; an initializer that is called; a variable that an initializer fills, of a layer under a
policy or alone; a variable that is given an array, and then another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import Array, dtype_name, dtype_named
from ...core.call import CALLED, ApiCall, ArrayArg, TupleArg
from ...core.policies import policy_named
from .distributions import Distribution, distribution_of
from .initializers import PREFIX, initialized

VARIABLE, LAYER, ADD_WEIGHT = "keras.Variable", "keras.layers.Layer", ".add_weight"
#: What a layer fills its weights with where nothing is said.
DEFAULT_INITIALIZER = f"{PREFIX}GlorotUniform"
#: What is done with a variable and an array, in a dtype.
ASSIGNED: Mapping[str, Callable[[Array, Array], Array]] = {
    ".assign": lambda x, y: y,
    ".assign_add": np.add,
    ".assign_sub": np.subtract,
}

Inputs = Mapping[str, Array]


@dataclass(frozen=True)
class DrawnCall:
    """One call, understood.

    Args:
        api: the public name that a reader looks up.
        given: all that it was given, arrays among it.
        dtype: what comes out; ``default`` where nobody said.
        wanted: what the numbers should be; None where that is not known.
    """

    api: str
    given: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] | None = None
    dtype: str = "float32"
    wanted: Distribution | None = None

    @property
    def seed(self) -> Any:
        return self.given.get("seed")


def drawn_call(call: ApiCall, inputs: Inputs) -> DrawnCall:
    """What a call draws or keeps."""
    given = {name: _argument(value, inputs) for name, value in call.kwargs.items()}
    if call.api == CALLED:
        return _of_initializer(_inner(call), given, inputs)
    if call.api == ADD_WEIGHT:
        return _of_weight(call, given, inputs)
    if call.api in (VARIABLE, *ASSIGNED):
        return _of_variable(call, given, inputs)
    return DrawnCall(call.api, given, _shape(given), _dtype(call.api, given), distribution_of(call.api, given))


def _argument(value: Any, inputs: Inputs) -> Any:
    if isinstance(value, ArrayArg):
        return inputs[value.name]
    return tuple(value.items) if isinstance(value, TupleArg) else value


def _inner(call: ApiCall) -> ApiCall:
    inner = call.args[0]
    assert isinstance(inner, ApiCall)
    return inner


def _of_initializer(made: ApiCall, given: Mapping[str, Any], inputs: Inputs, api: str = "") -> DrawnCall:
    own = {name: _argument(value, inputs) for name, value in made.kwargs.items()}
    shape = tuple(given["shape"])
    wanted = initialized(made.api, {name: value for name, value in own.items() if name != "seed"}, shape)
    return DrawnCall(api or made.api, {**own, **given}, shape, str(given.get("dtype") or "float32"), wanted)


def _of_weight(call: ApiCall, given: dict[str, Any], inputs: Inputs) -> DrawnCall:
    """A layer keeps its weights in the variable dtype of its policy."""
    policy = policy_named(_inner(call).kwargs.get("dtype"))
    made = given.pop("initializer", None) or ApiCall(DEFAULT_INITIALIZER)
    found = _of_initializer(made, {**given, "dtype": policy.variable}, inputs, f"{LAYER}.add_weight")
    shown = {"policy": policy.name, "initializer": made.api.removeprefix(PREFIX)}
    return DrawnCall(found.api, {**found.given, **shown}, found.shape, found.dtype, found.wanted)


def _of_variable(call: ApiCall, given: dict[str, Any], inputs: Inputs) -> DrawnCall:
    """A variable that holds an array, which a further call may have changed."""
    if call.api == VARIABLE and isinstance(call.kwargs.get("initializer"), ApiCall):
        return _of_initializer(given.pop("initializer"), given, inputs, VARIABLE)
    made = call if call.api == VARIABLE else _inner(call)
    dtype = str(made.kwargs.get("dtype") or "float32")
    x = _cast(_argument(made.args[0], inputs), dtype)
    api = VARIABLE
    if call.api != VARIABLE:
        api = f"{VARIABLE}{call.api}"
        x = _cast(ASSIGNED[call.api](x, _cast(_argument(call.args[1], inputs), dtype)), dtype)
    wide = x.astype(np.float64)
    wanted = Distribution(wide.min(initial=0.0), wide.max(initial=0.0), None, None, exactly=wide)
    return DrawnCall(api, {"dtype": dtype}, x.shape, dtype, wanted)


def _cast(array: Array, dtype: str) -> Array:
    """In a dtype, rounded once."""
    return np.asarray(array).astype(dtype_named(dtype))


def _shape(given: Mapping[str, Any]) -> tuple[int, ...] | None:
    if "shape" in given:
        return tuple(given["shape"])
    if "logits" in given and "num_samples" in given:
        return (given["logits"].shape[0], given["num_samples"])
    array = given.get("inputs", given.get("x"))
    return array.shape if isinstance(array, np.ndarray) else None


def _dtype(api: str, given: Mapping[str, Any]) -> str:
    array = given.get("inputs", given.get("x"))
    if isinstance(array, np.ndarray):
        return dtype_name(array)
    whole = "logits" in given or api.endswith(".randint")
    return str(given.get("dtype") or ("int32" if whole else "float32"))
