"""A population of a search through the examiner against the bare pool: 1,000 LeNet-5 individuals as rows of one case.

    python bench/population.py [INDIVIDUALS] [TIMES]

Both ways alternate; what counts is the CPU time of the host and of the libraries together, per individual.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.oracle import OUTCOMES, Setup
from tensorparity.core.outcome import Outcome
from tensorparity.core.runner import run_case
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import LocalRunner, open_runner
from tensorparity.triage.examine import Examiner
from tensorparity.zoo.entries import ARCHITECTURES
from tensorparity.zoo.weights import calibrated_weights, sample_inputs

TARGETS = ("keras:torch", "keras:tensorflow")

Way = Callable[[Case], Mapping[str, Outcome]]


def population(individuals: int, turn: int) -> Case:
    """Rows that differ from turn to turn, so that no cache answers."""
    graph = ARCHITECTURES["lenet5"]()
    rng = np.random.default_rng([individuals, turn])
    return Case(graph, inputs=sample_inputs(graph, rng, individuals), weights=calibrated_weights(graph, 0), seed=turn)


def ways(runner: LocalRunner) -> dict[str, Way]:
    examiner = Examiner(runner, Setup(0, TARGETS, traits_of(TARGETS)))
    return {
        "pool": lambda case: run_case(runner, case, TARGETS),
        "examiner": lambda case: examiner.examine([Ask(case, oracles=(OUTCOMES,))])[0].own,
    }


def cost(way: Way, case: Case) -> float:
    """CPU seconds of this process and of the libraries."""
    began = time.process_time()
    outcomes = way(case)
    assert all(outcome.completed for outcome in outcomes.values()), outcomes
    return time.process_time() - began + sum(outcome.cpu_seconds for outcome in outcomes.values())


def main() -> None:
    individuals = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with open_runner(TARGETS) as runner:
        both = ways(runner)
        for place, way in enumerate(both.values()):  # starting, building and compiling are no part of it
            cost(way, population(individuals, 10_000 + place))
        spent: dict[str, list[float]] = {name: [] for name in both}
        for turn in range(times):
            for place, (name, way) in enumerate(both.items()):
                spent[name].append(cost(way, population(individuals, 2 * turn + place)))
    medians = {name: statistics.median(seconds) for name, seconds in spent.items()}
    for name, seconds in medians.items():
        print(f"{name:9} {1e6 * seconds / individuals:8.1f} CPU microseconds per individual")
    ratios = [b / a for a, b in zip(spent["pool"], spent["examiner"], strict=True)]
    print(f"ratio     {statistics.median(ratios):8.3f} (median of {times}, {min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
