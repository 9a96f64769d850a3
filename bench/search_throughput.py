"""Individuals per second of Audee's search, per level, against the bare forward passes of the same network.

    python bench/search_throughput.py [--models lenet5,resnet20] [--target keras:tensorflow] [--generations 4]

Ours is a search as ``mutate`` runs it: children made, sent, their weights made in the worker, run, measured, selected.
Bare is the worker's own model called in a loop on numbers that are there already: on the input level in batches of the
population's size, else one row after another, no weight ever set. What counts is CPU time of host and worker together,
of both the quickest of several turns: whatever else the machine does only adds to it.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
from searching import calibrated, search_of

from tensorparity.core.case import Case
from tensorparity.core.population import Individual
from tensorparity.core.runner import run_case
from tensorparity.generators.search.genetic import INPUT, LEVELS, SearchSettings
from tensorparity.oracles.measure.individuals import RANGE, measure_rows, outputs_looked_at
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner

_TURNS = 4


def ours(runner: LocalRunner, model: str, level: str, target: str, generations: int, size: int) -> tuple[float, float]:
    """CPU and wall seconds per individual of the quickest generation; the first one traces and compiles."""
    graph, weights, inputs = calibrated(model)
    search = search_of(graph, weights, inputs, level, SearchSettings(size=size), 0)
    cpu, wall = [], []
    for generation in range(generations + 1):
        began, own = time.monotonic(), time.process_time()
        case = search.next_case()
        outcome = run_case(runner, case, [target])[target]
        assert outcome.completed, outcome.failure
        names = outputs_looked_at(case.subject)  # type: ignore[arg-type]
        fitness = measure_rows(names, {target: outcome}, len(search.evolution.children))[RANGE][target]
        search.tell(fitness)
        if generation:
            cpu.append((time.process_time() - own + outcome.cpu_seconds) / len(fitness))
            wall.append((time.monotonic() - began) / len(fitness))
    return min(cpu), min(wall)


def bare(runner: LocalRunner, model: str, level: str, target: str, size: int) -> float:
    """CPU seconds of one forward pass: a population without genes runs the model and sets nothing."""
    graph, weights, inputs = calibrated(model)
    search = search_of(graph, weights, inputs, level, SearchSettings(size=size), 0)
    case = search.next_case()
    if level == INPUT:
        times = [run_case(runner, _moved(case, turn), [target])[target].cpu_seconds for turn in range(_TURNS)]
        return min(times[1:]) / size
    population = case.procedure.population
    assert population is not None
    idle = replace(population, ranges={}, individuals=(Individual(),) * (4 * size))
    still = replace(case, procedure=replace(case.procedure, population=idle), parents={})
    one = {name: array[:1] for name, array in still.inputs.items()}
    alike = (replace(still, inputs=one, seed=turn) for turn in range(_TURNS))
    times = [run_case(runner, case, [target])[target].cpu_seconds for case in alike]
    return min(times[1:]) / (4 * size)


def _moved(case: Case, turn: int) -> Case:
    return replace(case, inputs={name: array + np.float32(turn) for name, array in case.inputs.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="lenet5,resnet20")
    parser.add_argument("--target", default="keras:tensorflow")
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--size", type=int, default=64)
    options = parser.parse_args()
    with open_runner([options.target], RunnerSettings(cache=None)) as runner:
        for model in options.models.split(","):
            for level in LEVELS:
                forward = bare(runner, model, level, options.target, options.size)
                cpu, wall = ours(runner, model, level, options.target, options.generations, options.size)
                print(
                    f"{model:10} {level:13} {options.target}: {1 / cpu:.0f} individuals per CPU second "
                    f"({60 / wall:.0f} per minute of this clock), bare {1 / forward:.0f}: {100 * forward / cpu:.0f} %",
                    flush=True,
                )


if __name__ == "__main__":
    main()
