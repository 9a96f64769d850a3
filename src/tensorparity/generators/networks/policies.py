"""Dtype policies of generated networks: which, how often, and what that means for their numbers.

One policy per network, so that no compiler sees more networks than without. It is drawn from the seed and the
network's number alone: neither the number of workers nor what else the network is made of changes it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.arrays import Array
from ...core.errors import UsageError
from ...core.near_misses import meant
from ...core.policies import POLICIES, Policy, cast, policy_named
from ...core.procedure import Goal, Recipe

#: The chance of each. float32 is what nearly all users have, and what every target takes part in.
SHARES: dict[str, float] = {
    "float32": 12 / 16,
    "float64": 1 / 12,
    "mixed_float16": 1 / 16,
    "mixed_bfloat16": 1 / 16,
    "float16": 1 / 48,
    "bfloat16": 1 / 48,
}
#: Activations in half precision stay below it: squares and sums of them are still in float16's range.
LARGEST_IN_HALF = 64.0
#: Styles of values that half precision turns into others: what differs in the third digit is one number in bfloat16.
_TOO_FINE = {"offset": "normal", "small": "unit", "large": "normal", "huge": "infinite", "tiny": "few"}


def draw_policy(seed: int, number: int, chosen: Sequence[str]) -> Policy:
    """The policy of the network of this number: one of ``chosen`` by their shares, of all without any."""
    names = list(chosen or SHARES)
    if len(names) == 1:
        return policy_named(names[0])
    shares = np.array([SHARES[name] for name in names])
    rng = np.random.default_rng([seed, 0xD7BE, number])
    return policy_named(names[int(rng.choice(len(names), p=shares / shares.sum()))])


def read_policies(text: str) -> tuple[str, ...]:
    """A comma-separated list of dtype policies; an empty one is all of them, by their shares.

    Raises:
        UsageError: for an unknown one.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in POLICIES:
            raise UsageError(f"unknown dtype policy {name!r}{meant(name, POLICIES)}; known are {', '.join(POLICIES)}")
    return names


def style_for(policy: Policy, style: str) -> str:
    return _TOO_FINE.get(style, style) if policy.half else style


def input_for(policy: Policy, values: Array) -> Array:
    """An input as users of the policy feed it, and of numbers that the compute dtype has: only layers round."""
    return cast(cast(values, policy.compute), policy.fed())


def max_goal_of(policy: Policy, goal: Goal) -> Goal:
    """Nobody trains with weights of 16 bits: an optimizer's epsilons and squares vanish in them."""
    pure = policy.half and not policy.mixed
    return Goal.GRADIENTS if pure and goal is Goal.UPDATE else goal


def optimizer_for(policy: Policy, drawn: Recipe, rng: np.random.Generator) -> Recipe:
    """The optimizer that was drawn; with mixed_float16, half of the time with its loss scaled, as Keras does it."""
    if policy.name != "mixed_float16" or drawn.name == "LossScaleOptimizer" or rng.random() < 0.5:
        return drawn
    inner = {"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.9}}
    return Recipe("LossScaleOptimizer", {"inner_optimizer": {**inner, "registered_name": None}})
