"""Dtype policies: in what a layer computes, and in what its weights are kept.

A layer under a policy casts what flows in to the compute dtype, its weights too, and gives the compute dtype; the
weights themselves, and what an optimizer does to them, are of the variable dtype.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from .arrays import Array, Arrays, dtype_name, dtype_named, is_floating, unit_roundoff
from .errors import UsageError
from .outcome import Outcome
from .traits import TargetTraits, Traits


@dataclass(frozen=True, slots=True)
class Policy:
    """A dtype policy by Keras' name for it."""

    name: str
    compute: str
    variable: str

    @property
    def half(self) -> bool:
        """It computes in a format of 16 bits."""
        return self.compute in ("float16", "bfloat16")

    @property
    def mixed(self) -> bool:
        return self.compute != self.variable

    @property
    def roundoff(self) -> float:
        return unit_roundoff(self.compute)

    @property
    def loss(self) -> str:
        """The dtype of losses: Keras' default, float32, unless all else is finer than that."""
        return "float64" if self.compute == "float64" else "float32"

    def fed(self) -> str:
        """The dtype of the inputs: users of mixed precision feed float32, and the first layer casts."""
        return self.variable


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("float32", "float32", "float32"),
        Policy("float64", "float64", "float64"),
        Policy("mixed_float16", "float16", "float32"),
        Policy("mixed_bfloat16", "bfloat16", "float32"),
        Policy("float16", "float16", "float16"),
        Policy("bfloat16", "bfloat16", "bfloat16"),
    )
}
PLAIN = POLICIES["float32"]


def policy_named(name: str | None) -> Policy:
    """The policy of a procedure; none is float32.

    Raises:
        UsageError: for an unknown one.
    """
    if name is None:
        return PLAIN
    if name not in POLICIES:
        raise UsageError(f"unknown dtype policy {name!r}; known are {', '.join(POLICIES)}")
    return POLICIES[name]


def cast(array: Array, dtype: str) -> Array:
    """Floats in another dtype, what is too large as an infinity; everything else as it is."""
    if not is_floating(dtype_name(array)) or array.dtype.kind == "c" or dtype_name(array) == dtype:
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtype_named(dtype))


def holds(traits: TargetTraits, policy: Policy, arrays: Iterable[Array]) -> bool:
    """Whether the dtype that a target really computes in has room for these numbers.

    A float64 of 1e64 is an infinity to whoever is made to compute in float32, and what becomes of it says nothing. In
    the policy's own dtype everything has room: what is too large there is one to everybody.
    """
    wanted = traits.effective_dtype(policy.compute)
    if wanted == policy.compute:
        return True
    limit = float(np.finfo(dtype_named(wanted)).max)
    sizes = (np.abs(array[np.isfinite(array)]) for array in arrays if is_floating(dtype_name(array)))
    return all(float(size.max(initial=0.0)) <= limit for size in sizes)


_Answer = TypeVar("_Answer")


def in_range(
    answers: Mapping[str, _Answer], policy: Policy, involved: Iterable[Array], traits: Traits
) -> dict[str, _Answer]:
    """By target, without those who have no room for the numbers involved."""
    numbers = list(involved)
    return {target: answer for target, answer in answers.items() if holds(traits[target], policy, numbers)}


def as_computed(arrays: Arrays, policy: Policy, traits: TargetTraits | None = None) -> dict[str, Array]:
    """What was computed in fewer digits and cast to more, as what it is worth.

    The gradient of a float32 weight under mixed precision is a half-precision number in a float32 array.
    """
    return {name: coarser(array, policy, traits) for name, array in arrays.items()}


def coarser(array: Array, policy: Policy, traits: TargetTraits | None = None) -> Array:
    """An array as what it is worth where a policy, or a target under it, computes in fewer digits."""
    wanted = traits.effective_dtype(policy.compute) if traits else policy.compute
    finer = policy is not PLAIN and 0.0 < unit_roundoff(dtype_name(array)) < unit_roundoff(wanted)
    return cast(array, wanted) if finer else array


def gradients_as_computed(outcomes: Mapping[str, Outcome], policy: Policy, traits: Traits) -> dict[str, Outcome]:
    """Outcomes whose gradients say in what they were computed."""
    found: dict[str, Outcome] = {}
    for target, outcome in outcomes.items():
        gradients = as_computed(outcome.trace.gradients, policy, traits[target])
        found[target] = replace(outcome, trace=replace(outcome.trace, gradients=gradients))
    return found
