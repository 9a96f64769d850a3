"""Functions called alone, beside the networks of ``fuzz`` and ``hunt``, all of them in turn, judged by references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..core.case import Case
from ..core.runner import Runner
from ..operators.activation_calls import ACTIVATIONS
from ..operators.activation_cases import activation_case, draw_style
from ..operators.draws import draw_params
from .case_rounds import CaseRounds

#: What ``--stages`` calls them.
STAGE = "functions"
_PER_ROUND = 4

#: Public names, in the order of their turns.
FUNCTIONS = tuple(spec.api for spec in ACTIVATIONS.values())


def function_cases(seed: int) -> Iterator[Case]:
    """All activations in turn, again and again; the n-th case depends on the seed and n alone."""
    specs = list(ACTIVATIONS.values())
    index = 0
    while True:
        rng = np.random.default_rng([seed, 0xF0C, index])
        spec = specs[index % len(specs)]
        yield activation_case(spec, draw_params(spec.parameters, rng), rng, style=draw_style(spec, rng))
        index += 1


def function_rounds(runner: Runner, targets: Sequence[str], seed: int) -> CaseRounds:
    return CaseRounds(runner, targets, function_cases(seed), _PER_ROUND)
