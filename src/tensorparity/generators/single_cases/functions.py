"""Functions called alone: activations and layers of strings, all of them in turn, judged by references."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.case import Case
from ...operators.functions.activation_calls import ACTIVATIONS, ActivationSpec
from ...operators.functions.draws import draw_params
from ...operators.functions.text_layers import TEXT_LAYERS, TextLayerSpec
from .activation_functions import activation_case, draw_style
from .text_layers import draw_arguments, text_case

#: After so many activations, the layers of strings again: they have far more arguments.
_BETWEEN = 8


def _turns() -> Iterator[ActivationSpec | TextLayerSpec]:
    for place, spec in enumerate(ACTIVATIONS.values(), start=1):
        yield spec
        if place % _BETWEEN == 0:
            yield from TEXT_LAYERS.values()


_TURNS = tuple(_turns())
#: Public names, in the order of their turns.
FUNCTIONS = tuple(spec.api for spec in _TURNS)


def function_cases(seed: int) -> Iterator[Case]:
    """All activations and layers of strings in turn, again and again; the n-th case depends on the seed and n alone."""
    index = 0
    while True:
        rng = np.random.default_rng([seed, 0xF0C, index])
        spec = _TURNS[index % len(_TURNS)]
        if isinstance(spec, ActivationSpec):
            yield activation_case(spec, draw_params(spec.parameters, rng), rng, style=draw_style(spec, rng))
        else:
            yield text_case(spec, draw_arguments(spec, rng), rng)
        index += 1
