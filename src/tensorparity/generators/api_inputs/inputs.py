"""Calls of public functions, from the most probable ones on, and better with everything that is told.

What is accepted is varied: one decision at a time is changed, and what a function refuses then is refused for that
reason. Everything depends on the seed and on what was told, in its order; never on time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.procedure import Goal, Procedure
from .constraints import LEFT_OUT, Constraint, Decision, State
from .free_numbers import free_numbers
from .listing import Api, ApiListing
from .model import CallModel, pick
from .values import CLASSES, draw

#: The kind of what is made for a model's parameters: there is no call of it alone.
OPTIMIZER = "optimizer"
_CALL = Procedure(goal=Goal.CALL)
#: Draws that may repeat a call before a function is taken to have no more.
_MOST_DRAWS = 12
#: A way to call is good while this share of its calls is accepted.
_GOOD = 0.8
_EXPLORED = 0.4
_EXPLORED_LATER = 0.04
_LATER = 120


@dataclass
class Way:
    """A choice for every decision, with what came of its calls."""

    overload: int
    choice: Mapping[str, Constraint]
    tried: int = 0
    accepted: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        return (self.overload, *(option.says for option in self.choice.values()))

    @property
    def good(self) -> bool:
        return self.accepted > 0 and self.accepted >= _GOOD * self.tried


@dataclass
class _Proposed:
    way: Way
    changed: str
    domains: Mapping[str, str]


@dataclass
class _Known:
    """What is known of one function."""

    models: list[CallModel]
    ways: dict[tuple[object, ...], Way] = field(default_factory=dict)
    proposed: dict[str, _Proposed] = field(default_factory=dict)
    tried: int = 0
    drawn: int = 0
    tried_overloads: list[int] = field(default_factory=list)


class ApiInputs:
    """Inputs of the functions of one library.

    Args:
        listing: what the library offers.
        seed: with it and what is told, everything is determined.
    """

    def __init__(self, listing: ApiListing, seed: int = 0) -> None:
        self.listing = listing
        self._seed = seed
        self._known: dict[str, _Known] = {}

    def configurations(self, api: str, count: int) -> list[Case]:
        """Up to that many calls that were not proposed before; fewer where a function has no more."""
        if self.listing.apis[api].kind == OPTIMIZER:
            return []
        known = self._of(api)
        found = []
        for _ in range(count):
            case = self._next(api, known)
            if case is None:
                break
            found.append(case)
        return found

    def learn(self, api: str, case: Case, accepted: bool) -> None:
        """Whether the library took a call. What was cut short, killed or flaky must not be told."""
        known = self._of(api)
        proposed = known.proposed.get(case.digest)
        if proposed is None:
            return
        known.tried += 1
        way = known.ways.setdefault(proposed.way.key, proposed.way)
        way.tried += 1
        way.accepted += accepted
        for name, option in way.choice.items():
            option.tell(accepted, alone=name == proposed.changed)

    def values(self, api: str, case: Case, count: int) -> list[Case]:
        """The same call with other numbers, in every class of values in turn; indices and sizes stay."""
        proposed = self._of(api).proposed.get(case.digest)
        domains = proposed.domains if proposed else free_numbers(case, self.listing.apis[api])
        rng = self._rng(api, f"values {case.digest}")
        return [
            replace(case, inputs=_redrawn(case, domains, rng, CLASSES[place % len(CLASSES)])) for place in range(count)
        ]

    def constraints(self, api: str, state: State | None = None) -> list[Constraint]:
        """What is proposed, kept and refused of a function."""
        options = [
            option
            for model in self._of(api).models
            for decision in model.decisions.values()
            for option in decision.options
        ]
        return [option for option in options if state is None or option.state is state]

    def _of(self, api: str) -> _Known:
        if api not in self._known:
            entry: Api = self.listing.apis[api]
            first = self.listing.library in _CHANNELS_FIRST
            models = [CallModel(entry, way, channels_first=first) for way in entry.overloads[:_MOST_OVERLOADS]]
            self._known[api] = _Known(models, tried_overloads=[0] * len(models))
        return self._known[api]

    def _rng(self, api: str, what: object) -> np.random.Generator:
        text = f"{self._seed} {self.listing.library} {api} {what}"
        return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little"))

    def _next(self, api: str, known: _Known) -> Case | None:
        for _ in range(_MOST_DRAWS):
            rng = self._rng(api, known.drawn)
            known.drawn += 1
            way, changed = _choose(known, rng)
            built = known.models[way.overload].build(way.choice, rng)
            case = Case(built.call, _CALL, inputs=built.arrays)
            if case.digest not in known.proposed:
                known.proposed[case.digest] = _Proposed(way, changed, built.domains)
                return case
        return None


#: Whose images have their channels before height and width.
_CHANNELS_FIRST = ("torch",)
_MOST_OVERLOADS = 4


def _choose(known: _Known, rng: np.random.Generator) -> tuple[Way, str]:
    """A way to call: a new one while none is accepted, then a good one, or a good one with one decision changed."""
    good = [way for way in known.ways.values() if way.good]
    if not good:
        return _invented(known, rng)
    parent = good[int(rng.integers(len(good)))]
    untried = _untried_dtypes(known.models[parent.overload].decisions["dtype"])
    if untried and rng.random() < _DTYPE:
        option = untried[int(rng.integers(len(untried)))]  # nothing may be told for some calls to come
        return Way(parent.overload, {**parent.choice, "dtype": option}), "dtype"
    if rng.random() >= (_EXPLORED if known.tried < _LATER else _EXPLORED_LATER):
        return parent, ""
    if rng.random() < _NEW:
        return _invented(known, rng)
    return _changed(known, parent, rng)


#: Of what is changed, how often it is a parameter that was left out: two settings tell more than two shapes.
_SETTING = 0.5
#: Of what is explored, entirely new ways: another overload, another layout and other roles at once.
_NEW = 0.15


def _invented(known: _Known, rng: np.random.Generator) -> tuple[Way, str]:
    place = int(rng.integers(len(known.models))) if known.tried > _PATIENCE else 0
    # At first the most probable alone; the longer nothing is accepted, the more is tried.
    sharpness = 2.0 if known.tried < _PATIENCE else max(0.6, 2.0 - known.tried / 60)
    return Way(place, known.models[place].choose(rng, sharpness)), ""


_PATIENCE = 8


def _changed(known: _Known, parent: Way, rng: np.random.Generator) -> tuple[Way, str]:
    decisions = known.models[parent.overload].decisions
    open_ones = [name for name, decision in decisions.items() if len(decision.options) > 1]
    if not open_ones:
        return parent, ""
    left_out = [name for name in open_ones if parent.choice[name].says == LEFT_OUT]
    if left_out and rng.random() < _SETTING:
        open_ones = left_out
    name = open_ones[int(rng.integers(len(open_ones)))]
    others = [option for option in decisions[name].options if option is not parent.choice[name]]
    option = pick(Decision(name, others), rng, 0.4)
    if option.state is State.REFUSED:
        return parent, ""
    return Way(parent.overload, {**parent.choice, name: option}), name


def _untried_dtypes(decision: Decision) -> list[Constraint]:
    """Types that the documentation names, or the registry, and that no call has had yet."""
    return [option for option in decision.options if option.source == "documentation" and not option.tried]


#: Of all calls, once one is accepted: how often a type that is documented, and that no call has had.
_DTYPE = 0.3


def _redrawn(case: Case, domains: Mapping[str, str], rng: np.random.Generator, values: str) -> dict[str, Array]:
    return {
        name: draw(rng, array.shape, array.dtype.name, values, domains[name]) if name in domains else array
        for name, array in case.inputs.items()
    }


def distinct(cases: Sequence[Case]) -> list[Case]:
    """Each call once."""
    return list({case.digest: case for case in cases}.values())
