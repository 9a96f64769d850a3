"""EAGLE: functions of a library, each computed in two ways that must agree.

First every library is asked what it offers; then, function by function in an order by seed, calls are tried plainly,
and on those that are accepted every rule that speaks of the function is held against it, a few of them at a time
(``schedule``). What takes a compiler seconds comes at the end, and has a share of the time of its own there.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
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
from .names import check_names
from .schedule import Column, Schedule
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
_APIS = 12
#: Configurations of a function that are tried before anything of them is told: at first, and whenever it is its turn
#: again. Every function is tried a little before any is tried much.
_TRIED_FIRST, _TRIED_AT_ONCE = 4, 8
#: Functions whose inputs, as they ship inside, are asked for at once.
_SAMPLED_AT_ONCE = 48
#: Equivalences in one round: what is compiled takes long, and goes in small pieces; larger ones where many functions
#: wait, so that a compiler gets what is compiled in one way together.
_PAIRS, _PAIRS_OF_MANY, _MANY = 48, 96, 16
#: Of what takes a compiler seconds, so many in the first round and at most: each round has twice as many as the one
#: before, so that little time is enough for a few, and much is not lost on small units.
_DEAR_AT_FIRST, _DEAR_AT_MOST = 2, 16
#: Of the time for searching, what is kept for that where time is limited; the phases before and after.
DEAR_SHARE = 0.15
FUNCTIONS, COMPILERS = "functions", "compilers"


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
    """What is left to do.

    Args:
        apis: functions that were not tried yet, in order, then those that were, with how many configurations.
        pairs: of rules and functions; ``last`` those that take a compiler seconds.
        counterparts: trials of functions of two libraries.
        unsampled: functions whose inputs, as they ship inside, are still to be asked for; in the order of ``apis``.
        own: cases that rules make themselves, by the function that they wait for.
    """

    pairs: Schedule[_Asked]
    last: Schedule[_Asked]
    apis: deque[tuple[str, int]] = field(default_factory=deque)
    counterparts: deque[_Asked] = field(default_factory=deque)
    unsampled: deque[str] = field(default_factory=deque)
    own: dict[str, list[tuple[Equivalence, Case]]] = field(default_factory=dict)


class EagleEngine:
    """What is asked depends on the seed, on the installed libraries, and on which calls were accepted."""

    name = "eagle"
    settings: ClassVar[tuple[str, ...]] = tuple(item.name for item in fields(EagleSettings))
    defaults: ClassVar[Mapping[str, object]] = defaults_of(EagleSettings)
    ahead = 1
    #: No phase files by itself what it finds.
    filed = ""
    settled = False

    def __init__(self, setup: Setup) -> None:
        self._settings = EagleSettings.from_mapping(setup.settings)
        self._seed = setup.seed
        self.rules = {rule.name: rule for rule in self._settings.chosen()}
        self._targets = targets_by_library(setup)
        self._questions = questions(self._targets, setup.seed)
        self._listings: dict[str, ApiListing] = {}
        self._source: InputSource | None = None
        self._counterparts = Counterparts({})
        self._plan = _Plan(Schedule(setup.seed), Schedule(setup.seed))
        self._rounds: deque[list[_Asked]] = deque()
        self._open = 0
        #: Questions about inputs inside libraries that are under way.
        self._sampling = 0
        self._dear: Counter[tuple[str, str]] = Counter()
        self._dear_at_once = _DEAR_AT_FIRST
        self.phase = FUNCTIONS
        #: Rules that cost too much; those that would have been run if they cost less.
        self._too_dear = self._settings.left_out()
        self._left_out: set[str] = set()
        self.tally = EagleTally()
        self.enumerated: list[str] = []
        #: Of these, the functions whose calls are tried.
        self._tried: set[str] = set()

    # Asking

    def ask(self) -> Sequence[Ask]:
        if self._source is None:
            if self._rounds:
                return []  # until it is told what there is
            self._rounds.append([])
            return [Ask(case, (target,), (OUTCOMES,), counted=False) for case, target in self._questions]
        asked = self._next()
        if not asked:
            return []
        self._rounds.append(asked)
        self._open += 1
        return [self._ask(item) for item in asked]

    def _next(self) -> list[_Asked]:
        """What takes a compiler seconds comes when nothing else is left or under way, or when its time has come."""
        if self.phase == COMPILERS:
            return self._dear_ones() or self._cheap_ones()
        return self._cheap_ones() or ([] if self._open else self._dear_ones())

    def _dear_ones(self) -> list[_Asked]:
        found = self._plan.last.turns(self._dear_at_once)
        self._dear_at_once = min(_DEAR_AT_MOST, 2 * self._dear_at_once)
        return _in_order(found)

    def _cheap_ones(self) -> list[_Asked]:
        """A little of every function before much of any."""
        return (
            self._samples()
            or self._trials_of_counterparts()
            or _in_order(self._plan.pairs.first_turns(_PAIRS))
            or self._trials(again=False)
            or _in_order(self._plan.pairs.turns(_PAIRS if len(self._plan.pairs) < _MANY else _PAIRS_OF_MANY))
            or self._trials(again=True)
        )

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

    def _trials_of_counterparts(self) -> list[_Asked]:
        waiting = self._plan.counterparts
        return [waiting.popleft() for _ in range(min(_PAIRS, len(waiting)))]

    def _trials(self, *, again: bool) -> list[_Asked]:
        """Functions that were not tried yet; ``again`` those that were, which are behind all of the others."""
        waiting = self._plan.apis
        while waiting and not self._sampling and (again or not waiting[0][1]):
            names = [waiting.popleft() for _ in range(_APIS) if waiting and (again or not waiting[0][1])]
            found = [item for api, asked in names for item in self._trials_of(api, asked)]
            if found := found or _in_order(self._plan.pairs.first_turns(_PAIRS)):
                return found
        return []

    def _trials_of(self, api: str, asked: int) -> list[_Asked]:
        assert self._source is not None
        for rule, case in self._plan.own.pop(api, ()):
            self._offer_own(rule, case)
        if api not in self._tried:
            return []
        total = self._settings.configurations
        count = min(_TRIED_AT_ONCE if asked else _TRIED_FIRST, total - asked)
        if asked + count < total:
            self._plan.apis.append((api, asked + count))  # what was told of the first ones helps the next ones
        return [_Asked(api, case) for case in self._source.configurations(api, count, asked, total)]

    # Phases, where time is limited

    @property
    def shares(self) -> Mapping[str, float]:
        """Of the time for searching, what may be spent before that which takes a compiler seconds begins."""
        dear = any(rule.cost >= COMPILED_BY_C for rule in self.rules.values())
        return {FUNCTIONS: 1 - DEAR_SHARE} if dear else {}

    def end_phase(self) -> bool:
        """Go on with what takes a compiler seconds, where there is anything."""
        if self.phase == COMPILERS or not len(self._plan.last):
            return False
        self.phase = COMPILERS
        return True

    # Being told

    def tell(self, results: Sequence[Result]) -> None:
        asked = self._rounds.popleft()
        if self._source is None:
            self._take_replies(results)
            return
        self._open -= 1
        for item, result in zip(asked, results, strict=False):
            if item.target:
                self._take_documented(self._source.take_in(describe(result)))
                self._sampling -= 1
            elif item.oracle:
                continue  # judged, and nothing more to be learned of it
            elif item.rule is None:
                self._take_trial(item, result)
            elif item.trial:
                self._take_counterpart(item, result)
            else:
                alone = int(result.facts.get(ONE_SIDED, 0))
                self.tally.add_pair(item.rule, item.api, item.case.procedure.rows or 1, result.verdicts, alone)

    def _take_replies(self, results: Sequence[Result]) -> None:
        """What each library offers."""
        self._listings = listings([describe(result) for result in results])
        self._source = InputSource(self._listings, self._seed)
        self._counterparts = Counterparts(self._listings)
        self.enumerated = self._source.apis()
        own = self._own_cases()
        self._check_names({*self.enumerated, *own})
        self._tried = {api for api in self.enumerated if self._is_spoken_of(api)}
        names = [*(api for api in self.enumerated if api in self._tried), *sorted({*own} - self._tried)]
        np.random.default_rng([self._seed, 19]).shuffle(names)
        self._plan.apis.extend((name, 0) for name in names)
        self._plan.unsampled.extend(names)
        self._plan_own(own, names)
        self._plan_zoo()

    def _check_names(self, known: Collection[str]) -> None:
        """A function that no library has is a mistake, where all libraries said what they have."""
        if len(self._listings) == len(self._targets):
            check_names(self._settings.apis, known, self._listings.values())

    def _own_cases(self) -> dict[str, list[tuple[Equivalence, Case]]]:
        """By function, the cases that rules make themselves; these are accepted as they are."""
        found: dict[str, list[tuple[Equivalence, Case]]] = {}
        for rule in filter(self._settings.concerns, (*self.rules.values(), *self._too_dear)):
            for library in (library for library in self._targets if library in rule.libraries()):
                for case in rule.own_cases(library, self._settings.configurations, self._seed):
                    if self._settings.wants(rule.about(case)):
                        found.setdefault(rule.about(case), []).append((rule, case))
        return found

    def _plan_own(self, own: Mapping[str, list[tuple[Equivalence, Case]]], names: Sequence[str]) -> None:
        """One function of every rule at once, the others when it is their turn: no rule waits for its only function."""
        met: set[str] = set()
        for name in (name for name in names if name in own):
            rules = {rule.name for rule, _ in own[name]}
            self._plan.own[name] = own[name]
            if not rules <= met:
                met |= rules
                for rule, case in self._plan.own.pop(name):
                    self._offer_own(rule, case)

    def _offer_own(self, rule: Equivalence, case: Case) -> None:
        api = rule.about(case)
        if rule.name not in self.rules:
            self._left_out.add(rule.name)
        elif rule.cost < COMPILED_BY_C:
            self._offer(_Asked(api, case), (rule,))
        elif (both := rule.equivalence(case)) is not None:
            self._plan.last.offer(api, [_column(rule)], _just(_Asked(api, both, rule)))

    def _plan_zoo(self) -> None:
        """Whole models come last: each takes seconds."""
        rules = [rule for rule in self.rules.values() if isinstance(rule, ModelRule) and "keras" in rule.libraries()]
        if not rules or "keras" not in self._targets or not self._settings.wants(MODEL):
            return
        for _, model in zoo_models(self._settings.models, self._seed):
            for rule in rules:
                if (both := rule.equivalence(rule.trying(model))) is not None:
                    self._plan.last.offer(MODEL, [_column(rule)], _just(_Asked(MODEL, both, rule)))

    def _take_documented(self, taken: Mapping[str, Sequence[Case]]) -> None:
        """Calls of which a library says itself what they give, for the rules about these; what rules make of any."""
        documented = [rule for rule in self.rules.values() if rule.documented]
        for api, case in ((api, case) for api, cases in sorted(taken.items()) for case in cases):
            if case.labels:
                self._offer(_Asked(api, case), documented)
            for rule in self.rules.values():
                if (made := rule.of_sample(case)) is not None:
                    self._offer(_Asked(api, made), (rule,))

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

    def _take_trial(self, item: _Asked, result: Result) -> None:
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
            refused = _Asked(item.api, declared(shipped, _TESTS), oracle=DECLARED_VALID)
            self._plan.pairs.offer(item.api, [Column(0, DECLARED_VALID)], _just(refused))
        if accepted:
            self._offer(item, self.rules.values())
            self._left_out.update(rule.name for rule in self._too_dear if self._is_for(rule, item.api))
            if len(self.tally.apis[item.api].shapes) == 1:
                self._plan.pairs.bring_forward(item.api)

    def _take_counterpart(self, item: _Asked, result: Result) -> None:
        """Once two functions mean the same, what they were tried on is judged, and pulled back."""
        assert item.rule is not None
        for case in self._counterparts.tell(item.api, item.case, result):
            for order in range(self._orders(item.rule, case)):
                both = _Asked(item.api, with_gradients(case, order), item.rule)
                self._plan.pairs.offer(item.api, [_column(item.rule, order)], _just(both))

    def _orders(self, rule: Equivalence, case: Case) -> int:
        """The orders of gradients that are compared, the values among them."""
        return 1 + (min(rule.derivative, self._settings.derivatives) if _is_differentiable(case) else 0)

    def _is_for(self, rule: Equivalence, api: str) -> bool:
        """Whether a rule may be held against an accepted call of a function."""
        return not rule.own_only and library_of_name(api) in rule.libraries() and self._applies(rule, api)

    def _offer(self, item: _Asked, rules: Iterable[Equivalence]) -> None:
        """An accepted call, for the rules that speak of its function."""
        cheap: list[Column] = []
        dear: list[Column] = []
        for rule in rules:
            if rule.across:
                self._offer_across(rule, item)
            elif library_of_name(item.api) in rule.libraries() and self._applies(rule, item.api):
                into = cheap if rule.cost < COMPILED_BY_C else dear
                into += [_column(rule, order) for order in range(self._orders(rule, item.case))]
        self._plan.pairs.offer(item.api, cheap, partial(self._made, item))
        self._plan.last.offer(item.api, dear, partial(self._made_dear, item))

    def _offer_across(self, rule: Equivalence, item: _Asked) -> None:
        if self._applies(rule, item.api):
            trials = self._counterparts.trials(item.api, item.case)
            self._plan.counterparts.extend(_Asked(item.api, case, rule, trial=True) for case in trials)

    def _made(self, item: _Asked, column: Column) -> _Asked | None:
        """The equivalence of a call by a rule; None where the rule says nothing of it."""
        rule = self.rules[column.rule]
        procedure = replace(item.case.procedure, derivative=column.order)
        case = rule.equivalence(replace(item.case, procedure=procedure))
        return _Asked(item.api, case, rule) if case is not None else None

    def _made_dear(self, item: _Asked, column: Column) -> _Asked | None:
        """The same of few calls of a function."""
        if self._dear[item.api, column.rule] >= self._settings.few:
            return None
        made = self._made(item, column)
        self._dear[item.api, column.rule] += made is not None
        return made

    def tables(self) -> Mapping[str, Json]:
        tables = self.tally.to_json(self.rules, self.enumerated)
        names = {library: listing.apis for library, listing in self._listings.items()}
        return {
            **tables,
            "libraries": sorted(names),
            "left_out": sorted(self._left_out),
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


def _column(rule: Equivalence, order: int = 0) -> Column:
    return Column(rule.cost, rule.name, order)


def _just(item: _Asked) -> Callable[[Column], _Asked]:
    """What makes a pair that is made already."""
    return lambda column: item


def _in_order(items: Sequence[_Asked]) -> list[_Asked]:
    """A round rule by rule, the cheap ones first: what is run in one way goes to a compiler together."""
    return sorted(items, key=_order)


def _order(item: _Asked) -> tuple[int, str, int]:
    cost, name = (item.rule.cost, item.rule.name) if item.rule is not None else (0, "")
    return cost, name, item.case.procedure.derivative


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
