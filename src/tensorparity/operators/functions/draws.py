"""How arguments of a single call are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.jsontext import Json
from ..spec import Parameter


def draw_params(parameters: Sequence[Parameter], rng: np.random.Generator) -> dict[str, Json]:
    """Required parameters always, others every second time."""
    return {
        parameter.name: parameter.valid[int(rng.integers(len(parameter.valid)))]
        for parameter in parameters
        if parameter.required or rng.random() < 0.5
    }
