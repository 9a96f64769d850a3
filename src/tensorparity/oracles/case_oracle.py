"""What the oracles of single cases have in common: failures first, then what the targets gave, then two rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from ..core.finding import Class
from ..core.oracle import Check, Seen
from ..core.outcome import Outcome
from ..operators.ruled_out import ruled_out
from .base import Asking, Steps, Stepwise
from .failures import each_apart, failures
from .measure.labels import is_of_labels, unfit
from .statements import Statement, in_verdicts

Outcomes = Mapping[str, Outcome]


class CaseOracle(Stepwise):
    """Judges one kind of case."""

    settings: ClassVar[tuple[str, ...]] = ()

    #: As the registry has it: the rule of saved models asks the same oracle again.
    name: ClassVar[str]

    @abstractmethod
    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        """What the targets gave; none of them ended badly, and at least one completed the case."""

    def steps(self, seen: Seen) -> Steps:
        said = yield from each_apart(seen.case, seen.own, lambda outcomes: self.look(seen, outcomes))
        said = _without_labels(seen, said)
        said = yield from self._before_saving(seen, said)
        return in_verdicts(said, seen.targets)

    def look(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        """One look at some of the outcomes: at bad endings, or else at what was given."""
        failed = yield from failures(seen, outcomes)
        return failed if failed is not None else (yield from self.answers(seen, outcomes))

    def _before_saving(self, seen: Seen, said: Statement) -> Asking[Statement]:
        """A model that is wrong before it is saved is filed as that; who was right then is not excused by it."""
        if not any(suspicion.case.procedure.reload for suspicion in said.suspicions):
            return said
        built = replace(seen.case, procedure=replace(seen.case.procedure, reload=False))
        (answer,) = yield [Check(built, seen.targets, self.name)]
        before = answer.judged
        assert before is not None  # a check without a key is never skipped
        pairs = zip(before.suspicions, before.verdicts, strict=True) if before.suspicions else ()
        defects = [(s, verdict.judged_by) for s, verdict in pairs if s.diagnosis.klass is Class.DEFECT]
        guilty = {name for suspicion, _ in defects for name in suspicion.diagnosis.suspects}
        others = said.only(lambda suspicion: not guilty & set(suspicion.diagnosis.suspects))
        return replace(others, convictions=(*defects, *others.convictions))


def _without_labels(seen: Seen, said: Statement) -> Statement:
    """Labels that do not fit their loss explain what came after the predictions."""
    if not said.convictions or ruled_out(seen.case) or not (reason := unfit(seen.case)):
        return said
    return said.only(lambda suspicion: not is_of_labels(suspicion, seen.own), reason)
