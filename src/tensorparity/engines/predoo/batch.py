"""What a search proposes: inputs stacked into one call, and which of its inputs they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Arrays, dtype_named
from ...core.case import Case
from ...core.jsontext import Json
from ...core.procedure import Goal, Procedure
from ...generators.inputs.operators import draw
from ...operators.functions.spec import Operator, Sizes


@dataclass(frozen=True, slots=True)
class InputBatch:
    """Inputs that share their parameters; ``places`` are their positions in the order of the search."""

    params: Mapping[str, Json]
    arrays: Arrays
    places: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.places)

    def case(self, operator: Operator, dtype: str, *, instance: str | None = None, seed: int = 0) -> Case:
        """The call on these inputs in a dtype.

        Args:
            instance: the precision the operator runs in where that is another than its inputs'.
        """
        with np.errstate(over="ignore"):
            inputs = {name: array.astype(dtype_named(dtype)) for name, array in self.arrays.items()}
        return Case(operator.api_call(self.params), Procedure(goal=Goal.CALL, dtype=instance), inputs, seed=seed)


def shared_arrays(operator: Operator, sizes: Mapping[str, Sizes], rng: np.random.Generator, dtype: str) -> Arrays:
    """The operands that all inputs of a call share, from the standard normal."""
    return {
        operand.name: draw("normal", rng, sizes[operand.name], operand, dtype, middle=operator.accumulates)
        for operand in operator.operands
        if not operand.stacked
    }
