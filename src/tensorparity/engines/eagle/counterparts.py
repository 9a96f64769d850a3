"""Which functions of two libraries mean the same: those of one name that agree in a trial on ordinary numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ...core.case import Case
from ...core.engine import Result
from ...core.jsontext import Json
from ...generators.api_inputs import Api, ApiListing
from ...generators.equivalences.base import library_of_name
from ...generators.equivalences.direct_counterparts import carried_over, counterparts_of, plain_name
from ...oracles.direct_counterpart import ALIKE, APART

#: Ordinary inputs on which both must agree before the pair counts, over how many calls.
ENOUGH_INPUTS, ENOUGH_CALLS = 12, 3
#: Calls of one pair that are held against each other once it counts.
_MOST = 12


@dataclass
class _Trial:
    """What is known of one pair."""

    alike: int = 0
    calls: int = 0
    apart: bool = False
    waiting: list[Case] = field(default_factory=list)
    asked: int = 0

    @property
    def counts(self) -> bool:
        return not self.apart and self.alike >= ENOUGH_INPUTS and self.calls >= ENOUGH_CALLS


class Counterparts:
    """The pairs of a run.

    Args:
        listings: what each library offers.
    """

    def __init__(self, listings: Mapping[str, ApiListing]) -> None:
        self._listings = listings
        self._trials: dict[tuple[str, str], _Trial] = {}
        self._found: dict[str, list[Api]] = {}

    def trials(self, api: str, case: Case) -> list[Case]:
        """The call of a function beside that of each other function that may be its counterpart."""
        found = []
        for other in self._others(api):
            trial = self._trials.setdefault((api, other.name), _Trial())
            both = carried_over(case, self._listings[library_of_name(api)].apis[api], other)
            if both is not None and not trial.apart and trial.asked < _MOST:
                trial.asked += 1
                found.append(both)
        return found

    def _others(self, api: str) -> list[Api]:
        if api not in self._found:
            described = self._listings[library_of_name(api)].apis[api]
            self._found[api] = list(counterparts_of(described, self._listings))
        return self._found[api]

    def tell(self, api: str, case: Case, result: Result) -> list[Case]:
        """What came of a trial; the cases that may be judged now that the pair counts, gradients as well."""
        trial = self._trials[api, other_of(case)]
        trial.apart = trial.apart or bool(result.facts.get(APART))
        alike = int(result.facts.get(ALIKE, 0))
        trial.alike, trial.calls = trial.alike + alike, trial.calls + (alike > 0)
        trial.waiting.append(case)
        if not trial.counts:
            return []
        ready, trial.waiting = trial.waiting, []
        return ready

    def to_json(self) -> Json:
        """The pairs that mean the same, and how many did not."""
        kept = sorted(f"{api} = {other}" for (api, other), trial in self._trials.items() if trial.counts)
        return {"tried": len(self._trials), "same": kept}


def other_of(case: Case) -> str:
    """The name of the function on the other side."""
    other = case.counterpart.subject if case.counterpart else None
    return str(getattr(other, "api", ""))


def with_gradients(case: Case, order: int) -> Case:
    """Both sides pulled back."""
    assert case.counterpart is not None
    return replace(case, procedure=replace(case.procedure, derivative=order))


def counterparts(apis: Iterable[str], listed: Mapping[str, Iterable[str]]) -> dict[str, Json]:
    """By function, the other libraries that have a function of that name, as far as letters and digits go."""
    plain = {library: {plain_name(name) for name in names} for library, names in listed.items()}
    return {
        api: [other for other in sorted(plain) if other != library_of_name(api) and plain_name(api) in plain[other]]
        for api in sorted(set(apis))
    }
