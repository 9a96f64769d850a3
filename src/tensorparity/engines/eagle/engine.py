"""EAGLE: functions of a library, each computed in two ways that must agree.

First every library is asked what it offers; then, function by function in an order by seed, calls are tried plainly,
and on those that are accepted every rule that speaks of the function is held against it, the cheap rules first.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from ...core.arrays import dtype_name, is_floating
from ...core.call import ApiCall
from ...core.case import Case
from ...core.engine import Ask, Result
from ...core.jsontext import Json
from ...core.oracle import OUTCOMES, Setup
from ...core.outcome import Status
from ...generators.api_inputs import ApiListing
from ...generators.equivalences.base import LIBRARIES, Equivalence, library_of_name
from ...generators.equivalences.models import model_name
from ...oracles.call_rows import ONE_SIDED
from .inputs import InputSource, describe, listings, questions, samples_questions
from .settings import COMPILED_BY_C, EagleSettings
from .tables import EagleTally

#: Functions tried in one round.
_APIS = 6
#: Configurations of a function that are tried before anything of them is told.
_TRIED_AT_ONCE = 8
#: Equivalences in one round: what is compiled takes long, and goes in small pieces.
_PAIRS = 48


@dataclass
class _Asked:
    """What a case was asked for: of which function, and by which rule; None where it is tried plainly."""

    api: str
    case: Case
    rule: Equivalence | None = None


@dataclass
class _Plan:
    """What is left to do, in order."""

    apis: deque[tuple[str, int]] = field(default_factory=deque)
    pairs: deque[tuple[str, Equivalence, Case]] = field(default_factory=deque)
    last: deque[tuple[str, Equivalence, Case]] = field(default_factory=deque)


class EagleEngine:
    """What is asked depends on the seed, on the installed libraries, and on which calls were accepted."""

    name = "eagle"
    settings: ClassVar[tuple[str, ...]] = tuple(item.name for item in fields(EagleSettings))
    ahead = 1

    def __init__(self, setup: Setup) -> None:
        self._settings = EagleSettings.from_mapping(setup.settings)
        self._seed = setup.seed
        self.rules = {rule.name: rule for rule in self._settings.chosen()}
        self._targets = targets_by_library(setup)
        self._questions = questions(self._targets, setup.seed)
        self._listings: dict[str, ApiListing] = {}
        self._source: InputSource | None = None
        self._plan = _Plan()
        self._rounds: deque[list[_Asked]] = deque()
        self._open = 0
        self._dear: Counter[tuple[str, str]] = Counter()
        self.tally = EagleTally()
        self.enumerated: dict[str, int] = {}

    # Asking

    def ask(self) -> Sequence[Ask]:
        if self._source is None:
            if self._rounds:
                return []  # until it is told what there is
            self._rounds.append([])
            if self._listings:
                self._questions = samples_questions(self._listings, self._targets, self._is_spoken_of)
            return [Ask(case, (target,), (OUTCOMES,), counted=False) for case, target in self._questions]
        asked = self._pairs() or self._trials() or self._dear_ones()
        if not asked:
            return []
        self._rounds.append(asked)
        self._open += 1
        return [self._ask(item) for item in asked]

    def _ask(self, item: _Asked) -> Ask:
        targets = self._targets[library_of_name(item.api)]
        if item.rule is None:
            return Ask(item.case, targets, (OUTCOMES,), counted=False)
        return Ask(item.case, targets, (item.rule.oracle,) if item.rule.oracle else ())

    def _pairs(self) -> list[_Asked]:
        waiting = self._plan.pairs
        taken = [waiting.popleft() for _ in range(min(_PAIRS, len(waiting)))]
        return [_Asked(api, case, rule) for api, rule, case in taken]

    def _dear_ones(self) -> list[_Asked]:
        """What a C++ compiler is needed for comes last, when nothing else is under way."""
        if self._open:
            return []
        waiting = self._plan.last
        taken = [waiting.popleft() for _ in range(min(16, len(waiting)))]
        return [_Asked(api, case, rule) for api, rule, case in taken]

    def _trials(self) -> list[_Asked]:
        assert self._source is not None
        found: list[_Asked] = []
        total = self._settings.configurations
        again = []
        for _ in range(min(_APIS, len(self._plan.apis))):
            api, asked = self._plan.apis.popleft()
            count = min(_TRIED_AT_ONCE, total - asked)
            found += [_Asked(api, case) for case in self._source.configurations(api, count, asked, total)]
            if asked + count < total:
                again.append((api, asked + count))
        self._plan.apis.extendleft(reversed(again))  # what was told of the first ones helps the next ones
        return found or (self._trials() if self._plan.apis else [])

    # Being told

    def tell(self, results: Sequence[Result]) -> None:
        asked = self._rounds.popleft()
        if self._source is None:
            self._take_replies(results)
            return
        self._open -= 1
        for item, result in zip(asked, results, strict=False):
            if item.rule is None:
                self._take_trial(item, result)
            else:
                alone = int(result.facts.get(ONE_SIDED, 0))
                self.tally.add_pair(item.rule, item.api, item.case.procedure.rows or 1, result.verdicts, alone)

    def _take_replies(self, results: Sequence[Result]) -> None:
        """First what each library offers, then the inputs that it brings along."""
        replies = [describe(result) for result in results]
        if not self._listings:
            self._listings = listings(replies)
            if samples_questions(self._listings, self._targets, self._is_spoken_of):
                return
            replies = []
        self._take_inputs(replies)

    def _take_inputs(self, replies: Sequence[Json]) -> None:
        self._source = InputSource(self._listings, replies, self._seed)
        self.enumerated = self._source.enumerated()
        names = [api for api in self._source.apis() if self._is_spoken_of(api)]
        np.random.default_rng([self._seed, 19]).shuffle(names)
        self._plan.apis.extend((name, 0) for name in names)
        for rule in self.rules.values():
            for library in self._targets:
                if library in rule.libraries():
                    self._plan_own(rule, library)

    def _plan_own(self, rule: Equivalence, library: str) -> None:
        """The cases that a rule makes itself are accepted as they are."""
        for case in rule.own_cases(library, self._settings.configurations, self._seed):
            if self._settings.wants(model_name(case)):
                self._plan_rule(rule, _Asked(model_name(case), case))

    def _is_spoken_of(self, api: str) -> bool:
        return self._settings.wants(api) and any(rule.applies(api) for rule in self.rules.values())

    def _take_trial(self, item: _Asked, result: Result) -> None:
        assert self._source is not None
        accepted = max((_answered(item.case, result, target) for target in result.endings), default=0)
        self.tally.add_plain(item.api, _shapes(item.case), accepted)
        self._source.learn(item.case, accepted > 0)
        if accepted:
            self._plan_pairs(item)

    def _plan_pairs(self, item: _Asked) -> None:
        for rule in self.rules.values():
            self._plan_rule(rule, item)

    def _plan_rule(self, rule: Equivalence, item: _Asked) -> None:
        if library_of_name(item.api) not in rule.libraries():
            return
        most = min(rule.derivative, self._settings.derivatives) if _is_differentiable(item.case) else 0
        for order in range(most + 1):
            procedure = replace(item.case.procedure, derivative=order)
            case = rule.equivalence(replace(item.case, procedure=procedure))
            if case is None:
                continue
            if rule.cost < COMPILED_BY_C:
                self._plan.pairs.append((item.api, rule, case))
            elif self._dear[item.api, rule.name] < self._settings.few:
                self._dear[item.api, rule.name] += 1
                self._plan.last.append((item.api, rule, case))

    def tables(self) -> Mapping[str, Json]:
        tables = self.tally.to_json(self.rules, self.enumerated)
        names = {library: listing.apis for library, listing in self._listings.items()}
        return {**tables, "libraries": sorted(names), "counterparts": counterparts(self.tally.inconsistent_apis, names)}


def targets_by_library(setup: Setup) -> dict[str, tuple[str, ...]]:
    """Who runs the functions of each library: those that compile nothing by themselves."""
    found: dict[str, tuple[str, ...]] = {}
    for library in LIBRARIES:
        able = [t for t in setup.targets if setup.traits[t].calls == library]
        plain = [t for t in able if not setup.traits[t].compiled] or able
        if plain:
            found[library] = tuple(plain)
    return found


def counterparts(apis: Iterable[str], listed: Mapping[str, Iterable[str]]) -> dict[str, Json]:
    """By function, the other libraries that have a function of that name, as far as letters and digits go."""
    plain = {library: {_plain_name(name) for name in names} for library, names in listed.items()}
    return {
        api: [other for other in sorted(plain) if other != library_of_name(api) and _plain_name(api) in plain[other]]
        for api in sorted(set(apis))
    }


def _plain_name(api: str) -> str:
    return "".join(letter for letter in api.rpartition(".")[2].lower() if letter.isalnum())


def _is_differentiable(case: Case) -> bool:
    """Whether there is anything that a gradient could be taken with respect to."""
    return any(is_floating(dtype_name(array)) or array.dtype.kind == "c" for array in case.inputs.values())


def _answered(case: Case, result: Result, target: str) -> int:
    """How many inputs of a trial were answered."""
    if result.endings.get(target) is not Status.COMPLETED:
        return 0
    reply = result.replies.get(target)
    failed = reply.get("rows", {}) if isinstance(reply, dict) else {}
    return (case.procedure.rows or 1) - len(failed)


def _shapes(case: Case) -> str:
    assert isinstance(case.subject, ApiCall)
    return ";".join(str(array.shape[1:]) for array in case.inputs.values())
