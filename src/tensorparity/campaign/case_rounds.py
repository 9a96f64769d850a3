"""Single cases beside networks: a few a round, judged alone, and what is doubted confirmed in fresh processes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from ..core.case import Case
from ..core.finding import Class
from ..core.outcome import Outcome
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..operators.ruled_out import ruled_out
from .examining import judge_case
from .reducing import confirmed


class CaseRounds:
    """Proposes a few cases at a time, judges them and remembers what has to be confirmed: defects, as of networks.

    A freedom that libraries take, a lack that they name and an ill-conditioned case blame nobody.

    Args:
        cases: in the order in which they are run; where they end, rounds are empty.
        per_round: how many of them are a round.
    """

    def __init__(self, runner: Runner, cases: Iterator[Case], per_round: int) -> None:
        self._runner = runner
        self._cases, self._per_round = cases, per_round
        self._doubted: dict[tuple[str, ...], Suspicion] = {}
        self._known: set[tuple[str, ...]] = set()
        self.outcomes: dict[str, Outcome] = {}
        self.count = 0
        #: Why nothing was said of a case, and the classes of what blames nobody, each with how often.
        self.undecided: Counter[str] = Counter()
        self.blameless: Counter[str] = Counter()

    def propose(self) -> list[Case]:
        """A few more cases."""
        cases = list(itertools.islice(self._cases, self._per_round))
        self.count += len(cases)
        return cases

    def judge(self, case: Case, outcomes: dict[str, Outcome]) -> None:
        """One of them, with what each target did."""
        checked = judge_case(self._runner, case, outcomes)
        if checked.undecided and not ruled_out(case):  # what everybody refuses is refused, as it should be
            self.undecided[checked.undecided] += 1
        accused = [suspicion for suspicion in checked.suspicions if suspicion.diagnosis.klass is Class.DEFECT]
        others = {suspicion.diagnosis.klass.value for suspicion in checked.suspicions} - {Class.DEFECT.value}
        self.blameless.update(others)
        self.outcomes = outcomes if accused else self.outcomes
        for suspicion in accused:
            self._doubted.setdefault(suspicion.key, suspicion)

    @property
    def doubted(self) -> list[Suspicion]:
        """What has to be confirmed."""
        return [suspicion for key, suspicion in self._doubted.items() if key not in self._known]

    def confirm(self) -> list[Suspicion]:
        """What was doubted, seen again in fresh processes; what does not show again is flaky, and may come again."""
        new = self.doubted
        found = confirmed(self._runner, new, hangs=True)
        for suspicion, again in zip(new, found, strict=True):
            if again.diagnosis.klass is Class.FLAKY:
                del self._doubted[suspicion.key]
            else:
                self._known.add(suspicion.key)
        return found
