"""What a look at one case says, before it is put into verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.finding import Class
from ..core.oracle import Judged
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Verdict

#: What a verdict was measured against.
BY_REFERENCE, BY_VOTE, BY_SUBGRADIENT, BY_NOTHING = "reference", "vote", "subgradient", "nothing"


@dataclass(frozen=True)
class Statement:
    """Who is accused, or why nobody can tell; neither where all is well.

    Args:
        convictions: each suspicion with what it was measured against.
        judged_by: what the whole was measured against, where nobody is accused.
    """

    convictions: tuple[tuple[Suspicion, str], ...] = ()
    undecided: str = ""
    judged_by: str = ""

    @property
    def suspicions(self) -> tuple[Suspicion, ...]:
        return tuple(suspicion for suspicion, _ in self.convictions)

    def only(self, kept: Callable[[Suspicion], bool], undecided: str = "") -> Statement:
        """Those convictions that are kept; where none is, why nobody can tell."""
        left = tuple(item for item in self.convictions if kept(item[0]))
        return Statement(left, "" if left else undecided, self.judged_by)


def convicts(suspicion: Suspicion, judged_by: str = "") -> Statement:
    return Statement(((suspicion, judged_by),))


def doubts(reason: str, judged_by: str = BY_NOTHING) -> Statement:
    """Nobody can tell, for this reason; without one, all is well."""
    return Statement(undecided=reason, judged_by=judged_by)


def clears(judged_by: str = "") -> Statement:
    return Statement(judged_by=judged_by)


def in_verdicts(said: Statement, targets: tuple[str, ...]) -> Judged:
    """The verdicts and suspicions of a case."""
    if said.convictions:
        return Judged(tuple(_verdict(*item) for item in said.convictions), said.suspicions)
    if said.undecided:
        return Judged((Verdict(Judgement.UNDECIDED, targets, said.undecided, judged_by=said.judged_by),))
    return Judged((Verdict(Judgement.PASS, targets, "nothing is wrong", judged_by=said.judged_by),))


def _verdict(suspicion: Suspicion, judged_by: str) -> Verdict:
    """Only a defect fails; what blames nobody passes, with its class as the reason."""
    diagnosis = suspicion.diagnosis
    failed = diagnosis.klass is Class.DEFECT
    return Verdict(
        Judgement.FAIL if failed else Judgement.PASS,
        suspicion.targets,
        f"{diagnosis.klass.value}: {diagnosis.api or 'the case'} on {', '.join(diagnosis.suspects) or 'all targets'}",
        diagnosis.measure,
        diagnosis.threshold,
        suspicion.kind,
        suspicion.stage,
        judged_by,
    )
