"""How many public functions get accepted inputs, and which share of the generated calls is accepted.

For each library its functions are enumerated in its worker. ``count``: every function is called with what ships inside
the library and with generated inputs, until 10 calls over 3 shapes and, where it has parameters, 2 settings of them
are accepted, or the tries are used up. ``share``: of functions without shipped inputs, drawn by seed, the share of
distinct generated calls that are accepted before anything was learned, and in the last hundred.

Usage: python bench/api_inputs.py count|share TARGET [TRIES] [APIS]      (a target such as torch:eager)
       python bench/api_inputs.py table                                  (of what was measured, in bench-results)
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measuring import table

from tensorparity.core.call import ApiCall, argument_to_json
from tensorparity.core.case import Case
from tensorparity.core.outcome import Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.generators.api_inputs import Api, ApiInputs, ApiListing, shipped_cases
from tensorparity.targets.attempts import Attempt, attempt_calls
from tensorparity.targets.runner import LocalRunner, RunnerSettings, default_cache, open_runner, with_cache

ACCEPTED, SHAPES, SETTINGS = 10, 3, 2
_PER_ROUND = 10
_BEFORE = 20
_LAST = 100
_RESULTS = Path("bench-results")
_SECONDS = 4.0
#: Functions that share a forked process, which has to wake up the library's runtime first.
_TOGETHER = 16
#: Of the inputs that ship inside a library, those that are tried.
_SHIPPED = 14
#: A function that ends so many workers is left alone, and counted.
_MOST_LOST = 2
_GONE = (Status.CRASHED, Status.TIMED_OUT, Status.OUT_OF_MEMORY)


@dataclass
class Tally:
    """What came of the calls of one function."""

    accepted: int = 0
    refused: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    shapes: set[str] = field(default_factory=set)
    settings: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    series: list[bool] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case, attempt: Attempt) -> None:
        if attempt.status in _GONE:
            self.lost[attempt.type] += 1
            return
        self.series.append(attempt.accepted)
        self.accepted += attempt.accepted
        self.refused += not attempt.accepted
        if attempt.accepted:
            # What makes arrays out of numbers alone has its shapes among them.
            self.shapes.add(str([array.shape for array in case.inputs.values()]) if case.inputs else _settings(case))
            self.settings.add(_settings(case))
            self.dtypes.add(str([array.dtype.name for array in case.inputs.values()]))
        else:
            self.refusals[f"{attempt.type}: {attempt.message[:160]}"] += 1

    def enough(self, api: Api) -> bool:
        settings = SETTINGS if api.has_settings else 1
        return self.accepted >= ACCEPTED and len(self.shapes) >= SHAPES and len(self.settings) >= settings

    @property
    def given_up(self) -> bool:
        return self.lost.total() >= _MOST_LOST


def _settings(case: Case) -> str:
    """Everything but the arrays."""
    assert isinstance(case.subject, ApiCall)
    return json.dumps(argument_to_json(case.subject), sort_keys=True, default=str)


@dataclass
class Library:
    """A target, what it offers and what ships inside it."""

    target: str
    runner: LocalRunner
    listing: ApiListing
    shipped: Mapping[str, Sequence[Case]]
    inputs: ApiInputs

    def run(self, asked: Sequence[tuple[str, Sequence[Case]]], tallies: Mapping[str, Tally], *, learn: bool) -> int:
        """Try the calls; several functions share a process, and those behind one that ended it are tried alone."""
        asked = [item for item in asked if item[1]]
        together = [asked[place : place + _TOGETHER] for place in range(0, len(asked), _TOGETHER)]
        alone = []
        for group, attempts in zip(together, self._attempt(together), strict=True):
            for api, cases in group:
                mine, attempts = attempts[: len(cases)], attempts[len(cases) :]
                if any(attempt.untried for attempt in mine):
                    alone.append([(api, [case for case, item in zip(cases, mine, strict=True) if item.untried])])
                self._tell(api, cases, mine, tallies, learn=learn)
        for [(api, cases)], attempts in zip(alone, self._attempt(alone), strict=True):
            if not tallies[api].given_up:
                self._tell(api, cases, attempts, tallies, learn=learn)
        return sum(len(cases) for _, cases in asked)

    def _attempt(self, groups: Sequence[Sequence[tuple[str, Sequence[Case]]]]) -> list[list[Attempt]]:
        calls = [[case for _, cases in group for case in cases] for group in groups]
        return attempt_calls(self.runner, self.target, calls, _SECONDS)

    def _tell(
        self, api: str, cases: Sequence[Case], attempts: Sequence[Attempt], tallies: Mapping[str, Tally], *, learn: bool
    ) -> None:
        """Note what came of the calls; what ends a process, or takes too long, teaches nothing."""
        for case, attempt in zip(cases, attempts, strict=True):
            if attempt.untried:
                continue
            tallies[api].add(case, attempt)
            if learn and attempt.status not in _GONE:
                self.inputs.learn(api, case, attempt.accepted)


def opened(target: str, seed: int) -> Library:
    settings = RunnerSettings(cache=default_cache())
    with open_runner([target], settings) as telling:  # a worker that has listed is not forked
        cached = with_cache(telling, settings)
        listed, brought = (
            cached.run_pairs([(Case(ApiCall(""), Procedure(goal=goal)), target)])[0]
            for goal in (Goal.APIS, Goal.SAMPLES)
        )
    if not listed.completed:
        raise SystemExit(f"{target} lists nothing: {listed.failure}")
    listing = ApiListing.from_json(listed.reply)
    shipped = shipped_cases(brought, listing) if brought.completed else {}
    missing = brought.reply["missing"] if brought.completed and brought.reply else [str(brought.failure)]
    print(f"{target}: {len(listing.apis)} functions, {len(shipped)} with shipped inputs; missing {missing}", flush=True)
    return Library(target, open_runner([target], settings), listing, shipped, ApiInputs(listing, seed))


def count(target: str, tries: int, names: Sequence[str]) -> None:
    """Every function until it has enough, or the tries are used up."""
    began = time.time()
    library = opened(target, 0)
    names = names or sorted(library.listing.apis)
    tallies: dict[str, Tally] = defaultdict(Tally)
    library.run([(api, list(library.shipped.get(api, ()))[:_SHIPPED]) for api in names], tallies, learn=False)
    _write(f"count-{target}", _counted(library, tallies, names, time.time() - began))
    for number in range(-(-tries // _PER_ROUND)):
        left = [api for api in names if not _done(library, tallies, api)]
        print(f"{time.time() - began:6.0f} s, round {number}: {len(left)} functions left", flush=True)
        asked = [(api, library.inputs.configurations(api, _PER_ROUND)) for api in left]
        if not library.run(asked, tallies, learn=True):
            break
        _write(f"count-{target}", _counted(library, tallies, names, time.time() - began))  # in case nobody waits longer
    _keep(f"count-{target}", _counted(library, tallies, names, time.time() - began))


def _done(library: Library, tallies: Mapping[str, Tally], api: str) -> bool:
    return tallies[api].enough(library.listing.apis[api]) or tallies[api].given_up


def _counted(library: Library, tallies: Mapping[str, Tally], names: Iterable[str], seconds: float) -> dict[str, Any]:
    apis = library.listing.apis
    enough = [api for api in names if tallies[api].enough(apis[api])]
    return {
        "library": library.listing.library,
        "listed": len(apis),
        "raw": sum(api.kind == "raw op" for api in apis.values()),
        "excluded": dict(Counter(library.listing.excluded.values()).most_common()),
        "shipped": len(library.shipped),
        "enough": len(enough),
        "enough_raw": sum(apis[api].kind == "raw op" for api in enough),
        "some": sum(tallies[api].accepted > 0 for api in names),
        "killed": {api: dict(tallies[api].lost) for api in names if tallies[api].lost},
        "without": [api for api in names if not tallies[api].enough(apis[api])],
        "refusals": {api: tallies[api].refusals.most_common(2) for api in names if not tallies[api].accepted},
        "seconds": seconds,
    }


def share(target: str, tries: int, number: int) -> None:
    """Functions without shipped inputs: the first calls, of which nothing was told, and the last hundred."""
    began = time.time()
    library = opened(target, 1)
    candidates = sorted(set(library.listing.apis) - set(library.shipped))
    chosen = sorted(np.random.default_rng(7).permutation(candidates)[:number].tolist())
    tallies: dict[str, Tally] = defaultdict(Tally)
    first = [(api, library.inputs.configurations(api, _BEFORE)) for api in chosen]
    library.run(first, tallies, learn=True)
    before = {api: list(tallies[api].series) for api in chosen}
    for _ in range((tries - _BEFORE) // _PER_ROUND):
        going = [api for api in chosen if not tallies[api].given_up]
        asked = [(api, library.inputs.configurations(api, _PER_ROUND)) for api in going]
        size = library.run(asked, tallies, learn=True)
        print(f"{time.time() - began:6.0f} s, {size} calls", flush=True)
        _write(f"share-{target}", _shared(library, tallies, before, time.time() - began))
    _keep(f"share-{target}", _shared(library, tallies, before, time.time() - began))


def _shared(
    library: Library, tallies: Mapping[str, Tally], before: Mapping[str, list[bool]], seconds: float
) -> dict[str, Any]:
    late = {api: tally.series[-_LAST:] for api, tally in tallies.items() if tally.series}
    early = {api: series for api, series in before.items() if series}
    reached = {api: series for api, series in late.items() if tallies[api].accepted}
    return {
        "library": library.listing.library,
        "functions": len(tallies),
        "calls": sum(len(tally.series) for tally in tallies.values()),
        "before": _mean(early),
        "last": _mean(late),
        "reached": len(reached),
        "last_reached": _mean(reached),
        "shapes": float(np.median([len(tally.shapes) for tally in tallies.values()])),
        "dtypes": float(np.median([len(tally.dtypes) for tally in tallies.values()])),
        "settings": float(np.median([len(tally.settings) for tally in tallies.values()])),
        "refusals": {api: tally.refusals.most_common(2) for api, tally in tallies.items() if not tally.accepted},
        "seconds": seconds,
    }


def _mean(series: Mapping[str, Sequence[bool]]) -> float:
    return float(np.mean([np.mean(items) for items in series.values()])) if series else float("nan")


def _write(name: str, facts: dict[str, Any]) -> None:
    _RESULTS.mkdir(exist_ok=True)
    (_RESULTS / f"api-inputs-{name.replace(':', '-')}.json").write_text(json.dumps(facts, indent=1))


def _keep(name: str, facts: dict[str, Any]) -> None:
    _write(name, facts)
    print(json.dumps({key: value for key, value in facts.items() if key not in ("without", "refusals")}, indent=1))


def show() -> None:
    """The tables of what was measured."""
    rows, shares = [], []
    for path in sorted(_RESULTS.glob("api-inputs-*.json")):
        facts = json.loads(path.read_text())
        if "listed" in facts:
            rows.append(
                [str(facts[key]) for key in ("library", "listed", "raw", "shipped", "some", "enough", "enough_raw")]
            )
            rows[-1] += [str(sum(facts["excluded"].values())), str(len(facts["killed"])), f"{facts['seconds']:.0f}"]
        else:
            numbers = [f"{facts[key]:.0%}" for key in ("before", "last", "last_reached")]
            spread = [f"{facts[key]:.0f}" for key in ("shapes", "dtypes", "settings")]
            shares.append([facts["library"], str(facts["functions"]), str(facts["calls"]), *numbers, *spread])
    head = ["library", "listed", "raw ops", "shipped", "some accepted", "enough", "of them raw ops", "excluded"]
    print(table([*head, "ended a worker", "s"], rows))
    print(
        table(
            ["library", "functions", "calls", "before", "last 100", "reached", "shapes", "dtypes", "settings"], shares
        )
    )


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "count":
        count(rest[0], int(rest[1]) if len(rest) > 1 else 60, rest[2:])
    elif what == "share":
        share(rest[0], int(rest[1]) if len(rest) > 1 else 220, int(rest[2]) if len(rest) > 2 else 60)
    else:
        show()
