"""What documentation rules out: whoever completes it is wrong, whatever the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.endings import ended_badly
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.graph import Node
from ..core.jsontext import Json
from ..core.oracle import Seen
from ..core.outcome import Status
from ..core.suspicion import Suspicion
from ..core.verdict import Kind, Stage
from ..operators.ruled_out import ruled_out
from .base import Asking
from .blaming import independent
from .case_oracle import CaseOracle, Outcomes
from .failures import NOBODY_COMPLETED, failure
from .measure.diagnose import public_name
from .statements import Statement, convicts, doubts

#: The stage of what has a public name and is no layer; everything else is a call.
_STAGES = {"keras.losses": Stage.LOSS, "keras.optimizers": Stage.UPDATE}
#: How a target ends that neither refuses nor answers.
_DEADLY = (Status.CRASHED, Status.TIMED_OUT)


class RefusalOracle(CaseOracle):
    """Raising is the right answer; dying of it is not, nor never coming back, and both are worse than answering."""

    name = "refusal"

    def look(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        outcomes = {target: outcome for target, outcome in outcomes.items() if _was_asked(seen, target)}
        died = {target: outcome for target, outcome in outcomes.items() if outcome.status in _DEADLY}
        alone = all(target in died for target, outcome in outcomes.items() if ended_badly(outcome))
        completed = any(outcome.completed for outcome in outcomes.values())
        if died and (completed or not alone):
            return convicts(failure(seen, outcomes, died))
        return (yield from self.answers(seen, outcomes)) if completed else doubts(NOBODY_COMPLETED)

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        yield from ()
        invalid = ruled_out(seen.case)
        return (
            convicts(_suspicion_of_acceptance(seen, outcomes, *invalid))
            if invalid
            else doubts("nothing in it is ruled out")
        )


def _was_asked(seen: Seen, target: str) -> bool:
    """Whether a target was given what must be refused: who cannot train is not given the optimizer."""
    ran = seen.ran[0].get(target) if seen.ran else None
    return ran is None or ruled_out(replace(seen.case, procedure=ran.procedure)) is not None or not ruled_out(seen.case)


def _suspicion_of_acceptance(seen: Seen, outcomes: Outcomes, node: Node, invalid: dict[str, Json]) -> Suspicion:
    """Whoever answers is wrong; where nobody refuses, the code they share is."""
    accepting = [target for target, outcome in outcomes.items() if outcome.completed]
    refusing = [target for target, outcome in seen.own.items() if outcome.status is Status.RAISED]
    named = "." in node.op  # a function, a loss or an optimizer: no node of a graph
    diagnosis = Diagnosis(
        Class.DEFECT,
        tuple(accepting) if refusing else _shared_code_of(seen, accepting),
        node=None if named else node.key,
        api=node.op if named else public_name(node.op),
        parameters=invalid,
        evidence=(
            *(observed("accepts", target=target, parameters=dict(invalid)) for target in accepting),
            *(observed("refuses", target=target) for target in refusing),
        ),
    )
    stage = _STAGES.get(node.op.rpartition(".")[0], Stage.CALL) if named else Stage.BUILD
    return Suspicion(Kind.ACCEPTS_INVALID, diagnosis, seen.case, tuple(outcomes), stage=stage)


def _shared_code_of(seen: Seen, accepting: Sequence[str]) -> tuple[str, ...]:
    shared = set(seen.traits.families(accepting).values())
    if len(accepting) < 2 or len(shared) > 1:
        return tuple(accepting)
    return independent(tuple(shared), accepting, seen.traits)
