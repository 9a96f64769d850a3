"""EAGLE: functions of a library, each computed in two ways that must agree.

First every library is asked what it offers; then, function by function in an order by seed, calls are tried plainly,
and on those that are accepted every rule that speaks of the function is held against it, the cheap rules first.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
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
from ...core.settings import defaults_of
from ...generators.api_inputs import Api, ApiListing
from ...generators.equivalences.base import LIBRARIES, MODEL, ONNX, Equivalence, library_of_name
from ...generators.equivalences.models import ModelRule
from ...oracles.call_rows import ONE_SIDED
from ...oracles.declared_valid import DECLARED_VALID, declared
from ...oracles.plain_call import PLAIN_CALL
from .counterparts import Counterparts, counterparts, other_of, with_gradients
from .inputs import InputSource, describe, listings, questions, samples_questions
from .settings import COMPILED_BY_C, EagleSettings
from .tables import EagleTally, settings_of
from .zoo_models import zoo_models

#: Who says whether two functions mean the same.
TRIAL = "counterpart_trial"
#: Who says that the calls in a library's own tests are valid.
_TESTS = "a test of the library's own"
#: Words of documentation in which a call may end in any way.
_UNDEFINED = re.compile(r"undefined behaviou?r|is undefined and may|not (?:bounds|range)[- ]?checked|may crash|unsafe")
#: Functions tried in one round.
_APIS = 6
#: Configurations of a function that are tried before anything of them is told: at first, and whenever it is its turn
#: again. Every function is tried a little before any is tried much.
_TRIED_FIRST, _TRIED_AT_ONCE = 4, 8
#: Functions whose inputs, as they ship inside, are asked for at once.
_SAMPLED_AT_ONCE = 48
#: Equivalences in one round: what is compiled takes long, and goes in small pieces.
_PAIRS = 48


@dataclass
class _Asked:
    """What a case was asked for.

    Args:
        api: of which function.
        rule: by which rule; None where it is tried plainly.
        target: who alone is asked for the inputs that it brings along.
        trial: whether the function of another library means the same is only tried.
        oracle: who judges a call by itself.
    """

    api: str
    case: Case
    rule: Equivalence | None = None
    target: str = ""
    trial: bool = False
    oracle: str = ""


@dataclass
class _Plan:
    """What is left to do, in order."""

    apis: deque[tuple[str, int]] = field(default_factory=deque)
    pairs: deque[_Asked] = field(default_factory=deque)
    last: deque[_Asked] = field(default_factory=deque)
    #: Functions whose inputs, as they ship inside, are still to be asked for; in the order of ``apis``.
    unsampled: deque[str] = field(default_factory=deque)


class EagleEngine:
    """What is asked depends on the seed, on the installed libraries, and on which calls were accepted."""

    name = "eagle"
    settings: ClassVar[tuple[str, ...]] = tuple(item.name for item in fields(EagleSettings))
    defaults: ClassVar[Mapping[str, object]] = defaults_of(EagleSettings)
    ahead = 1

    def __init__(self, setup: Setup) -> None:
        self._settings = EagleSettings.from_mapping(setup.settings)
        self._seed = setup.seed
        self.rules = {rule.name: rule for rule in self._settings.chosen()}
        self._targets = targets_by_library(setup)
        self._questions = questions(self._targets, setup.seed)
        self._listings: dict[str, ApiListing] = {}
        self._source: InputSource | None = None
        self._counterparts = Counterparts({})
        self._plan = _Plan()
        self._rounds: deque[list[_Asked]] = deque()
        self._open = 0
        #: Questions about inputs inside libraries that are under way.
        self._sampling = 0
        self._dear: Counter[tuple[str, str]] = Counter()
        self.tally = EagleTally()
        self.enumerated: list[str] = []

    # Asking

    def ask(self) -> Sequence[Ask]:
        if self._source is None:
            if self._rounds:
                return []  # until it is told what there is
            self._rounds.append([])
            return [Ask(case, (target,), (OUTCOMES,), counted=False) for case, target in self._questions]
        asked = self._samples() or self._pairs() or self._trials() or self._dear_ones()
        if not asked:
            return []
        self._rounds.append(asked)
        self._open += 1
        return [self._ask(item) for item in asked]

    def _ask(self, item: _Asked) -> Ask:
        targets = (item.target,) if item.target else self._targets[library_of_name(item.api)]
        if item.rule is None:
            return Ask(item.case, targets, (item.oracle or self._watching(item),), counted=False)
        if item.rule.across:
            both = (targets[0], self._targets[library_of_name(other_of(item.case))][0])
            return Ask(item.case, both, (TRIAL if item.trial else item.rule.oracle,), counted=not item.trial)
        return Ask(item.case, targets, (item.rule.oracle,) if item.rule.oracle else ())

    def _watching(self, item: _Asked) -> str:
        """Who looks at how a plain call ends: nobody, where it is documented that anything may happen."""
        described = self._described(item.api)
        return OUTCOMES if described is None or _UNDEFINED.search(described.doc) else PLAIN_CALL

    def _samples(self) -> list[_Asked]:
        """The inputs inside the libraries of the functions whose turn comes next."""
        if not self._plan.unsampled or len(self._sampled_ahead()) == _APIS:
            return []
        waiting = self._plan.unsampled
        names = [waiting.popleft() for _ in range(min(_SAMPLED_AT_ONCE, len(waiting)))]
        questions_now = samples_questions(self._listings, self._targets, names)
        self._sampling += len(questions_now)
        return [_Asked("", case, target=target) for case, target in questions_now]

    def _sampled_ahead(self) -> list[str]:
        """Of the functions that come next, those whose inputs were asked for."""
        first = self._plan.unsampled[0] if self._plan.unsampled else None
        ahead: list[str] = []
        for api, _ in self._plan.apis:
            if api == first or len(ahead) == _APIS:
                break
            ahead.append(api)
        return ahead

    def _pairs(self) -> list[_Asked]:
        waiting = self._plan.pairs
        return [waiting.popleft() for _ in range(min(_PAIRS, len(waiting)))]

    def _dear_ones(self) -> list[_Asked]:
        """What a C++ compiler is needed for comes last, when nothing else is under way."""
        if self._open:
            return []
        waiting = self._plan.last
        return [waiting.popleft() for _ in range(min(16, len(waiting)))]

    def _trials(self) -> list[_Asked]:
        assert self._source is not None
        found: list[_Asked] = []
        total = self._settings.configurations
        for _ in range(0 if self._sampling else min(_APIS, len(self._plan.apis))):
            api, asked = self._plan.apis.popleft()
            count = min(_TRIED_AT_ONCE if asked else _TRIED_FIRST, total - asked)
            found += [_Asked(api, case) for case in self._source.configurations(api, count, asked, total)]
            if asked + count < total:
                self._plan.apis.append((api, asked + count))  # what was told of the first ones helps the next ones
        return found or (self._trials() if self._plan.apis and not self._sampling else [])

    # Being told

    def tell(self, results: Sequence[Result]) -> None:
        asked = self._rounds.popleft()
        if self._source is None:
            self._take_replies(results)
            return
        self._open -= 1
        planned: list[_Asked] = []
        for item, result in zip(asked, results, strict=False):
            if item.target:
                planned += self._of_documented(self._source.take_in(describe(result)))
                self._sampling -= 1
            elif item.oracle:
                continue  # judged, and nothing more to be learned of it
            elif item.rule is None:
                planned += self._take_trial(item, result)
            elif item.trial:
                planned += self._take_counterpart(item, result)
            else:
                alone = int(result.facts.get(ONE_SIDED, 0))
                self.tally.add_pair(item.rule, item.api, item.case.procedure.rows or 1, result.verdicts, alone)
        # rule by rule, for what is run in one way goes to a compiler together
        planned.sort(key=_order)
        self._plan.pairs.extend(planned)

    def _take_replies(self, results: Sequence[Result]) -> None:
        """What each library offers."""
        self._listings = listings([describe(result) for result in results])
        self._source = InputSource(self._listings, self._seed)
        self._counterparts = Counterparts(self._listings)
        self.enumerated = self._source.apis()
        names = [api for api in self._source.apis() if self._is_spoken_of(api)]
        np.random.default_rng([self._seed, 19]).shuffle(names)
        self._plan.apis.extend((name, 0) for name in names)
        self._plan.unsampled.extend(names)
        for rule in self.rules.values():
            for library in self._targets:
                if library in rule.libraries():
                    self._plan_own(rule, library)
        self._plan_zoo()

    def _plan_own(self, rule: Equivalence, library: str) -> None:
        """The cases that a rule makes itself are accepted as they are."""
        for case in rule.own_cases(library, self._settings.configurations, self._seed):
            if not self._settings.wants(rule.about(case)):
                continue
            if rule.cost < COMPILED_BY_C:
                self._plan.pairs.extend(self._planned(rule, _Asked(rule.about(case), case)))
            elif (both := rule.equivalence(case)) is not None:
                self._plan.last.append(_Asked(rule.about(case), both, rule))

    def _plan_zoo(self) -> None:
        """Whole models come last: each takes seconds."""
        rules = [rule for rule in self.rules.values() if isinstance(rule, ModelRule) and "keras" in rule.libraries()]
        if not rules or "keras" not in self._targets or not self._settings.wants(MODEL):
            return
        for _, model in zoo_models(self._settings.models, self._seed):
            for rule in rules:
                if (both := rule.equivalence(rule.trying(model))) is not None:
                    self._plan.last.append(_Asked(MODEL, both, rule))

    def _of_documented(self, taken: Mapping[str, Sequence[Case]]) -> list[_Asked]:
        """Calls of which a library says itself what they give, by the rules about these; and what rules make of any."""
        rules = [rule for rule in self.rules.values() if rule.documented]
        said = [(api, case) for api, cases in sorted(taken.items()) for case in cases if case.labels]
        asked = [(rule, api, case) for rule in rules for api, case in said]
        for rule in self.rules.values():
            made = ((api, rule.of_sample(case)) for api, cases in sorted(taken.items()) for case in cases)
            asked += [(rule, api, case) for api, case in made if case is not None]
        return [pair for rule, api, case in asked for pair in self._planned(rule, _Asked(api, case))]

    def _is_spoken_of(self, api: str) -> bool:
        rules = (rule for rule in self.rules.values() if not rule.own_only)
        return self._settings.wants(api) and any(self._applies(rule, api) for rule in rules)

    def _applies(self, rule: Equivalence, api: str) -> bool:
        described = self._described(api)
        return rule.applies(api) and (described is None or rule.speaks_of(described))

    def _described(self, api: str) -> Api | None:
        """A function as its library lists it."""
        listing = self._listings.get(library_of_name(api))
        return listing.apis.get(api) if listing is not None else None

    def _take_trial(self, item: _Asked, result: Result) -> list[_Asked]:
        """What is to be held against rules, where it was accepted."""
        assert self._source is not None
        accepted = max((_answered(item.case, result, target) for target in result.endings), default=0)
        described, call = self._described(item.api), item.case.subject
        settable = described is not None and described.has_settings
        assert isinstance(call, ApiCall)
        self.tally.add_plain(item.api, _shapes(item.case), accepted, settings_of(call), settable=settable)
        shipped = self._source.shipped(item.case)
        self._source.learn(item.case, accepted > 0)
        if shipped is not None and library_of_name(item.api) != ONNX and _first_is_refused(result):
            self._plan.pairs.append(_Asked(item.api, declared(shipped, _TESTS), oracle=DECLARED_VALID))
        return [pair for rule in self.rules.values() for pair in self._of_rule(rule, item)] if accepted else []

    def _of_rule(self, rule: Equivalence, item: _Asked) -> Iterator[_Asked]:
        """The equivalences of a rule and an accepted call."""
        if not rule.across:
            yield from self._planned(rule, item)
        elif self._applies(rule, item.api):
            for case in self._counterparts.trials(item.api, item.case):
                yield _Asked(item.api, case, rule, trial=True)

    def _take_counterpart(self, item: _Asked, result: Result) -> list[_Asked]:
        """Once two functions mean the same, what they were tried on is judged, and pulled back."""
        assert item.rule is not None
        most = min(item.rule.derivative, self._settings.derivatives)
        return [
            _Asked(item.api, with_gradients(case, order), item.rule)
            for case in self._counterparts.tell(item.api, item.case, result)
            for order in range((most if _is_differentiable(case) else 0) + 1)
        ]

    def _planned(self, rule: Equivalence, item: _Asked) -> Iterator[_Asked]:
        """The equivalences of a rule and a case; those that take a C++ compiler are put off."""
        if library_of_name(item.api) not in rule.libraries() or not self._applies(rule, item.api):
            return
        most = min(rule.derivative, self._settings.derivatives) if _is_differentiable(item.case) else 0
        for order in range(most + 1):
            procedure = replace(item.case.procedure, derivative=order)
            case = rule.equivalence(replace(item.case, procedure=procedure))
            if case is None:
                continue
            if rule.cost < COMPILED_BY_C:
                yield _Asked(item.api, case, rule)
            elif self._dear[item.api, rule.name] < self._settings.few:
                self._dear[item.api, rule.name] += 1
                self._plan.last.append(_Asked(item.api, case, rule))

    def tables(self) -> Mapping[str, Json]:
        tables = self.tally.to_json(self.rules, self.enumerated)
        names = {library: listing.apis for library, listing in self._listings.items()}
        return {
            **tables,
            "libraries": sorted(names),
            "counterparts": counterparts(self.tally.inconsistent_apis, names),
            "direct_counterparts": self._counterparts.to_json(),
        }


def targets_by_library(setup: Setup) -> dict[str, tuple[str, ...]]:
    """Who runs the functions of each library: those that compile nothing by themselves."""
    found: dict[str, tuple[str, ...]] = {}
    for library in (*LIBRARIES, ONNX):
        able = [t for t in setup.targets if setup.traits[t].calls == library]
        plain = [t for t in able if not setup.traits[t].compiled] or able
        if plain:
            found[library] = tuple(plain)
    return found


def _order(item: _Asked) -> tuple[int, str, int]:
    assert item.rule is not None
    return item.rule.cost, item.rule.name, item.case.procedure.derivative


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


def _first_is_refused(result: Result) -> bool:
    """Whether some target raised on the first of the inputs, which is the one that was brought along."""
    told = [reply.get("rows", {}) for reply in result.replies.values() if isinstance(reply, dict)]
    return Status.RAISED in result.endings.values() or any("0" in rows for rows in told)


def _shapes(case: Case) -> str:
    assert isinstance(case.subject, ApiCall)
    return ";".join(str(array.shape[1:]) for array in case.inputs.values())
