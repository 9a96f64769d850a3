"""A failure is believed only after it has failed again in fresh processes, with every cache off, in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import ApiCall, Case
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.oracle import Judged
from ..core.outcome import Outcome, Status
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..operators.reference.rounding import K
from ..oracles.measure.node_errors import VOTE_MARGIN
from ..oracles.measure.votes import judge_by_vote
from .reduction.order import sort_key

#: A hang must hang alone at this many times the deadline.
HANG_FACTOR = 10.0

#: Of what did not fail again, and of what one look of several saw.
NOT_AGAIN, SOMETIMES = observed("not-again"), observed("sometimes")

_ANSWER = Node("answer", "answer", ())


def flaky(diagnosis: Diagnosis, *notes: Evidence | str) -> Diagnosis:
    """What did not fail again in the same way: recorded, with what makes it so, and nobody's defect."""
    notes = notes or (NOT_AGAIN,)
    return replace(diagnosis, klass=Class.FLAKY, evidence=(*diagnosis.evidence, *notes))


def unsteady(diagnosis: Diagnosis, *wavering: str) -> Diagnosis:
    """What was wrong every time, but not with the same answer, stays what it is; that it wavers is evidence.

    Args:
        wavering: the suspects that gave two answers.
    """
    new = [target for target in dict.fromkeys(wavering) if target not in diagnosis.wavering]
    notes = [observed("two-answers", target=target) for target in new]
    return replace(diagnosis, wavering=(*diagnosis.wavering, *new), evidence=(*diagnosis.evidence, *notes))


def seen_again(
    suspicion: Suspicion,
    before: Mapping[str, Outcome] | None,
    again: Judged,
    outcomes: Mapping[str, Outcome],
    families: Mapping[str, str],
    otherwise: Evidence = NOT_AGAIN,
) -> Suspicion:
    """The suspicion, where another look at its case convicts by the same key; ``flaky`` where it does not.

    Args:
        before: what the targets did when it was convicted, where that is known: two answers are evidence.
        again: what the same oracle says of the other look, ``outcomes`` what the targets did there.
        otherwise: what is said of one that is flaky.
    """
    if again.of_key(suspicion.key) is None:
        return replace(suspicion, diagnosis=flaky(suspicion.diagnosis, otherwise))
    notes = two_answers(suspicion.diagnosis.suspects, families, before, outcomes) if before is not None else ()
    return replace(suspicion, diagnosis=unsteady(suspicion.diagnosis, *notes)) if notes else suspicion


def run_fresh(runner: Runner, pairs: Sequence[tuple[Case, str]], factor: float = 1.0) -> list[Outcome]:
    """In fresh workers; what does not answer in time is asked again at ten times its deadline, while others go on.

    Of what hangs alike on one target the smallest case is asked again, and speaks for the others.

    Args:
        factor: multiplies the deadline; whoever does not answer at ten times it hangs.
    """
    outcomes = runner.run_pairs(pairs, fresh=True, deadline_factor=factor) if pairs else []
    if factor >= HANG_FACTOR:
        return outcomes
    late = [place for place, outcome in enumerate(outcomes) if outcome.status is Status.TIMED_OUT]
    alike: dict[tuple[str, ...], list[int]] = {}
    for place in sorted(late, key=lambda place: sort_key(pairs[place][0])):
        alike.setdefault(_what_hangs(*pairs[place]), []).append(place)
    first = _ask_again(runner, pairs, [places[0] for places in alike.values()])
    answered = [places[1:] for places in alike.values() if first[places[0]].status is not Status.TIMED_OUT]
    rest = _ask_again(runner, pairs, [place for places in answered for place in places])
    return [(first | rest).get(place, outcome) for place, outcome in enumerate(outcomes)]


def _ask_again(runner: Runner, pairs: Sequence[tuple[Case, str]], places: Sequence[int]) -> dict[int, Outcome]:
    asked = [pairs[place] for place in places]
    outcomes = runner.run_pairs(asked, fresh=True, deadline_factor=HANG_FACTOR) if asked else []
    return dict(zip(places, outcomes, strict=True))


def _what_hangs(case: Case, target: str) -> tuple[str, ...]:
    """What two cases that hang have in common, if one speaks for the other."""
    subject = case.subject
    if isinstance(subject, ApiCall):
        return target, subject.api
    ops = sorted({node.op for node in subject.nodes}) if isinstance(subject, LayerGraph) else [case.digest]
    return target, case.procedure.goal.value, *ops


# --- two runs of one case


def two_answers(
    suspects: Sequence[str], families: Mapping[str, str], before: Mapping[str, Outcome], again: Mapping[str, Outcome]
) -> list[str]:
    """Which of the suspects gave one answer and then another, further apart than rounding explains."""
    return [
        target
        for target in before
        if _is_suspect(target, suspects, families)
        and target in again
        and before[target].completed
        and again[target].completed
        and _apart(_arrays(before[target]), _arrays(again[target]))
    ]


def _is_suspect(target: str, suspects: Sequence[str], families: Mapping[str, str]) -> bool:
    return target in suspects or families.get(target) in suspects


def _apart(before: Arrays, again: Arrays) -> bool:
    votes = judge_by_vote(_ANSWER, {"before": before, "again": again}, Traits(), complete=True)
    return votes.mutual > K * VOTE_MARGIN


def _arrays(outcome: Outcome) -> dict[str, Array]:
    """Everything an outcome answers, by names that do not collide."""
    trace = outcome.trace
    losses = trace.losses or ((trace.loss,) if trace.loss is not None else ())
    groups = {"output": outcome.outputs, "node": trace.nodes, "gradient": trace.gradients, "weight": trace.weights}
    found = {f"{group} {name}": array for group, arrays in groups.items() for name, array in arrays.items()}
    return found | {f"loss {step}": np.asarray(value, np.float32) for step, value in enumerate(losses)}
