"""Metrics alone, all of them in turn, judged by references."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.case import Case
from ...operators.metrics.catalogue import METRICS, draw_params, metric_case
from ...operators.metrics.palettes import draw_style


def metric_cases(seed: int) -> Iterator[Case]:
    """All metrics in turn, again and again; the n-th case depends on the seed and n alone.

    In every second turn weights belong to single predictions, where a metric takes such.
    """
    specs = list(METRICS.values())
    index = 0
    while True:
        rng = np.random.default_rng([seed, 0x3E7, index])
        spec = specs[index % len(specs)]
        params, weighted = draw_params(spec, rng), bool(rng.random() < 0.5)
        style, by_element = draw_style(spec, params, rng), index // len(specs) % 2 == 1
        yield metric_case(spec, params, rng, weighted=weighted, style=style, by_element=by_element)
        index += 1
