"""Audee's search against random Cauchy noise of the same scale with the same number of evaluations.

    python bench/search_against_random.py [--models lenet5,...] [--seeds 10] [--generations 8] [--size 32]

For every model, level and goal: the best fitness of both over seeds that are fixed beforehand (0, 1, 2, ...), and the
exact p of the paired one-sided Wilcoxon signed-rank test over log10 of it. Every cell is printed, with both curves:
the median of the best fitness at a quarter, half, three quarters and all of the evaluations.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from searching import Searched, calibrated, run_search, search_of, wilcoxon

from tensorparity.generators.search.genetic import GENETIC, LEVELS, RANDOM, SearchSettings
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner

PAIR = ("keras:tensorflow", "keras:torch")


def both(
    runner: LocalRunner, model: str, level: str, goal: str, seed: int, options: argparse.Namespace
) -> list[Searched]:
    found = []
    graph, weights, inputs = calibrated(model)
    for strategy in (GENETIC, RANDOM):
        settings = SearchSettings(
            size=options.size, parents=max(2, options.size // 8), scale=options.scale, strategy=strategy
        )
        search = search_of(graph, weights, inputs, level, settings, seed)
        targets = PAIR if goal == "inconsistency" else PAIR[:1]
        found.append(run_search(runner, search, targets, goal, options.generations))
    return found


def scored(value: float) -> float:
    return math.log10(min(max(value, 1e-30), 1e30))


def cell(runner: LocalRunner, model: str, level: str, goal: str, options: argparse.Namespace) -> str:
    began = time.monotonic()
    runs = [both(runner, model, level, goal, seed, options) for seed in range(options.seeds)]
    equal = min(len(run.fitness) for pair in runs for run in pair)
    last = [[scored(run.best(equal)) for run in pair] for pair in runs]
    p = wilcoxon([genetic - random for genetic, random in last])
    curves = []
    for side, name in enumerate((GENETIC, RANDOM)):
        points = [int(equal * share) for share in (0.25, 0.5, 0.75, 1.0)]
        medians = [10 ** float(np.median([scored(pair[side].best(n)) for pair in runs])) for n in points]
        curves.append(f"{name} {' '.join(f'{value:.3g}' for value in medians)}")
    failed = [sum(pair[side].failed is not None for pair in runs) for side in (0, 1)]
    seconds = time.monotonic() - began
    return (
        f"{model:12} {level:13} {goal:14} p={p:.4f} {'yes' if p < 0.05 else 'NO ':3} {equal} evaluations | "
        f"{' | '.join(curves)} | failed {failed[0]} / {failed[1]} of {len(runs)} | {seconds:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="lenet5,resnet20,lstm5-imdb")
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--goals", default="inconsistency,nan")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--scale", type=float, default=0.1)
    options = parser.parse_args()
    with open_runner(PAIR, RunnerSettings(cache=None)) as runner:
        for model in options.models.split(","):
            for level in options.levels.split(","):
                for goal in options.goals.split(","):
                    print(cell(runner, model, level, goal, options), flush=True)


if __name__ == "__main__":
    main()
