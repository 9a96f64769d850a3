"""Guided search against the paper's random one: measure ``operator``, equal inputs, ten seeds.

What is compared is the area under the curve of the largest error so far, in units of what rounding explains, on a
logarithmic scale. p is that of the two-sided Mann-Whitney test over the seeds (normal approximation, ties corrected).
"""

from __future__ import annotations

import argparse
import math
import os

import numpy as np

from tensorparity.campaign.precision_operator import SearchTask, search_operators
from tensorparity.core.arrays import Array
from tensorparity.operators.calls.catalogue import OPERATORS, SEVEN
from tensorparity.targets.runner import RunnerSettings, open_runner

_SPECIAL = (
    "erf",
    "erfc",
    "erfinv",
    "lgamma",
    "digamma",
    "i0",
    "i1",
    "i0e",
    "i1e",
    "ndtr",
    "log_ndtr",
    "ndtri",
    "logit",
)


def area(chronicle: list[Array]) -> float:
    best = np.maximum.accumulate(np.nan_to_num(np.concatenate(chronicle), posinf=1e30))
    return float(np.log10(1 + best).mean())


def mann_whitney(a: list[float], b: list[float]) -> float:
    """The two-sided p of two samples coming from one distribution."""
    values = np.array(a + b)
    order = np.argsort(values)
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    ties = 0.0
    for value in np.unique(values):
        same = values == value
        ranks[same] = ranks[same].mean()
        ties += same.sum() ** 3 - same.sum()
    n, m = len(a), len(b)
    u = ranks[:n].sum() - n * (n + 1) / 2
    spread = math.sqrt(n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1))))
    return math.erfc(abs(u - n * m / 2) / spread / math.sqrt(2)) if spread else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--target", default="torch:eager")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--op", action="append")
    options = parser.parse_args()
    print(f"{'operator':10} {'guided':>8} {'random':>8} {'p':>8}")
    with open_runner([options.target], RunnerSettings()) as runner:
        for name in options.op or (*SEVEN, *_SPECIAL):
            areas: dict[str, list[float]] = {}
            for strategy in ("guided", "random"):
                tasks = [
                    SearchTask(OPERATORS.get(name), options.dtype, (options.target,), strategy, options.inputs, seed)
                    for seed in range(options.seeds)
                ]
                searches = search_operators(runner, tasks, lambda done, detail: None)
                areas[strategy] = [area(found.records[options.target].chronicle) for found in searches]
            p = mann_whitney(areas["guided"], areas["random"])
            medians = [float(np.median(areas[strategy])) for strategy in ("guided", "random")]
            said = "=" if p >= 0.05 else ("better" if medians[0] > medians[1] else "WORSE")
            print(f"{name:10} {medians[0]:8.3f} {medians[1]:8.3f} {p:8.2g} {said}", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
