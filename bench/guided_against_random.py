"""Guided search against the paper's random one: measure ``operator``, equal inputs, ten seeds.

What is compared is the area under the curve of the largest error so far, in units of what rounding explains, on a
logarithmic scale. p is that of the two-sided Mann-Whitney test over the seeds (normal approximation, ties corrected).
"""

from __future__ import annotations

import argparse
import math
import os
import time

import numpy as np

from tensorparity.campaign.engine_search import result_of
from tensorparity.core.arrays import Array
from tensorparity.core.oracle import Setup
from tensorparity.engines.predoo.engine import Phase, PredooEngine, Searching
from tensorparity.operators.functions.catalogue import find_operators
from tensorparity.operators.functions.spec import Operator
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner

#: Who is asked for an operator: the first that has it.
_TARGETS = {"torch": "torch:eager", "jax": "jax:eager", "tensorflow": "tensorflow:eager"}


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


def areas_of(runner: LocalRunner, operator: Operator, strategy: str, options: argparse.Namespace) -> list[float]:
    """The area of every seed."""
    target = options.target or next(_TARGETS[library] for library in _TARGETS if library in operator.calls)
    settings = {
        "operators": (operator.name,),
        "dtypes": (options.dtype,),
        "strategies": (strategy,),
        "inputs": options.inputs,
    }
    setups = [Setup(seed, (target,), traits_of([target]), settings) for seed in range(options.seeds)]
    found = [notebook for setup in setups for notebook in searched(runner, setup).notebooks]
    return [area(notebook.records[target].chronicle) for notebook in found if notebook.records[target].inputs]


def searched(runner: LocalRunner, setup: Setup) -> Searching:
    """The search alone; nobody is blamed."""
    engine = PredooEngine(setup)
    searching = engine.searching
    assert searching is not None
    examiner, index = Examiner(runner, setup), 0
    while searching.phase in (Phase.EAGER, Phase.COMPILED) and (asks := engine.ask()):
        engine.tell([result_of(place, examined) for place, examined in enumerate(examiner.examine(asks), index)])
        index += len(asks)
    return searching


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--target", help="torch:eager, or who has the operator")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--op", action="append", default=[], help="glob; all operators by default")
    options = parser.parse_args()
    print(f"{'operator':26} {'guided':>8} {'random':>8} {'p':>8}")
    counts = dict.fromkeys(("better", "=", "WORSE"), 0)
    with open_runner([options.target] if options.target else _TARGETS.values(), RunnerSettings()) as runner:
        for operator in find_operators(tuple(options.op)):
            guided, random = (areas_of(runner, operator, strategy, options) for strategy in ("guided", "random"))
            if not guided or not random:
                print(f"{operator.name:26} has no answer in {options.dtype}", flush=True)
                continue
            p = mann_whitney(guided, random)
            medians = float(np.median(guided)), float(np.median(random))
            said = "=" if p >= 0.05 else ("better" if medians[0] > medians[1] else "WORSE")
            counts[said] += 1
            print(f"{operator.name:26} {medians[0]:8.3f} {medians[1]:8.3f} {p:8.2g} {said}", flush=True)
    print(", ".join(f"{count} {said}" for said, count in counts.items()))
    workers = sum(runner.pool.cpu_seconds.values())
    print(f"CPU seconds: {time.process_time():.0f} of this process, {workers:.0f} of the workers")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
