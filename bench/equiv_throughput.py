"""Seconds for each (rule, function) with 400 inputs: medians by rule and library.

Functions are drawn by seed; the engine asks what it asks in a run, and what it asks of one rule and one function is
examined together and timed: both sides, the checks, and the judging. Imports and the trial calls, which all rules
share, are not counted. CPU seconds of host and workers tell more than wall seconds where the machine has other work.

Usage: python bench/equiv_throughput.py LIBRARY [FUNCTIONS] [RULE,...]      (torch, tensorflow, jax, keras)
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import psutil
from measuring import Spent, cpu_of, median, spending, table

from tensorparity.campaign.engine_search import result_of
from tensorparity.commands.equiv import choose_libraries
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.oracle import Setup
from tensorparity.engines.eagle.engine import EagleEngine
from tensorparity.generators.equivalences.base import api_name
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner, with_cache
from tensorparity.triage.examine import Examined, Examiner

INPUTS = 400
_SEED = 19

Times = dict[tuple[str, str], Spent]


def measure(library: str, count: int, rules: Sequence[str], cache: Path) -> Times:
    """What each (rule, function) took."""
    targets = choose_libraries(library)
    settings = RunnerSettings(cache=cache)
    found: Times = defaultdict(Spent)
    with open_runner(targets, settings) as runner:
        setup = Setup(_SEED, tuple(targets), traits_of(runner.targets))
        examiner = Examiner(with_cache(runner, settings), setup)
        names = _drawn(setup, examiner, count)
        print(f"{library}: {', '.join(names)}", flush=True)
        told = {"inputs": INPUTS, "apis": names, **({"rules": list(rules)} if rules else {})}
        engine = EagleEngine(Setup(_SEED, setup.targets, setup.traits, told))
        while asks := engine.ask():
            examined = [item for group in _groups(asks) for item in _timed(runner, examiner, group, found)]
            engine.tell([result_of(place, item) for place, item in enumerate(examined)])
    return found


def _drawn(setup: Setup, examiner: Examiner, count: int) -> list[str]:
    """Functions by seed, of all that the library lists."""
    asks = EagleEngine(setup).ask()
    replies = [outcome.reply for item in examiner.examine(asks) for outcome in item.own.values()]
    names = sorted(api["name"] for reply in replies if reply for api in reply["apis"])
    return [str(name) for name in np.random.default_rng(_SEED).permutation(names)[:count]]


def _groups(asks: Sequence[Ask]) -> Iterator[list[Ask]]:
    return (list(group) for _, group in groupby(asks, key=lambda ask: _key(ask.case)))


def _key(case: Case) -> tuple[str, str]:
    return (case.counterpart.rule if case.counterpart else "", api_name(case))


def _timed(runner: LocalRunner, examiner: Examiner, asks: Sequence[Ask], found: Times) -> list[Examined]:
    with spending(_cpu_of_workers) as spent:
        examined = examiner.examine(asks)
    own = found[_key(asks[0].case)]
    own.wall, own.here, own.others = own.wall + spent.wall, own.here + spent.here, own.others + spent.others
    print(
        f"{_key(asks[0].case)}: {len(asks)} cases, {spent.cpu:.2f} CPU s, {spent.wall:.2f} s",
        file=sys.stderr,
        flush=True,
    )
    return examined


def _cpu_of_workers() -> float:
    """Of all processes below this one; what has ended is counted by whoever waited for it."""
    own = psutil.Process().cpu_times()
    total = float(own.children_user + own.children_system)
    for child in psutil.Process().children(recursive=True):
        try:
            total += cpu_of(child)
        except psutil.Error:
            continue
    return total


def show(times: Times) -> None:
    """By rule: how many functions, and the median of CPU and wall seconds."""
    by_rule: dict[str, list[Spent]] = defaultdict(list)
    for (rule, _), spent in times.items():
        if rule:
            by_rule[rule].append(spent)
    rows = [
        [rule, str(len(own)), f"{median([s.cpu for s in own]):.2f}", f"{median([s.wall for s in own]):.2f}"]
        + [f"{max(s.cpu for s in own):.2f}"]
        for rule, own in sorted(by_rule.items(), key=lambda item: -sum(s.cpu for s in item[1]))
    ]
    print(table(["rule", "functions", "CPU s, median", "wall s, median", "CPU s, most"], rows))
    everything = [spent for own in by_rule.values() for spent in own]
    if everything:
        cheap = [s.cpu for rule, own in by_rule.items() if "inductor" not in rule for s in own]
        print(f"\n{len(everything)} pairs; without inductor {sum(cheap):.1f} CPU s, median {median(cheap):.2f}")


def main(library: str, count: int, rules: Sequence[str]) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        show(measure(library, count, rules, Path(folder)))
    print(f"{time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main(
        sys.argv[1],
        int(sys.argv[2]) if len(sys.argv) > 2 else 10,
        sys.argv[3].split(",") if len(sys.argv) > 3 else (),
    )
