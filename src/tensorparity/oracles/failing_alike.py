"""The oracle of bad endings: who raises, dies or hangs on a case, and ends alike with whom.

Whoever ends so is accused, in one suspicion of all of them: another target says the same in its own words. Where
everybody ends so, the code that they share is accused. What a target says it lacks is no failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..core.case import Case
from ..core.endings import KIND_OF_ENDING
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json
from ..core.oracle import Judged, Seen, Setup
from ..core.outcome import Failure, Outcome, Status
from ..core.procedure import Goal
from ..core.signature import Key, is_whole, policy_parameter
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Judgement, Kind, Stage, Verdict
from ..operators.catalogue import has_layer, layer
from ..operators.losses.alone import is_loss_alone
from ..operators.losses.catalogue import LOSSES
from ..operators.masks_and_states import layer_of
from ..operators.optimizers.catalogue import OPTIMIZERS
from .failure_search import alike_in_type, failure_evidence, stage_of_failure
from .measure.diagnose import public_name
from .measure.support import is_lack

#: The name of this oracle.
FAILURE = "failure"
_STATUS_OF_KIND = {kind: status for status, kind in KIND_OF_ENDING.items()}
_STEPS = (Goal.GRADIENTS, Goal.UPDATE)


def accused_of_failure(ended: Sequence[str], targets: Sequence[str], traits: Traits) -> tuple[str, ...]:
    """Who ended so; where everybody did, the code they share, if more than one implementation takes part."""
    families = traits.families(ended)
    shared = set(families.values())
    everybody = len(ended) == len(targets) and len(shared) == 1
    return (shared.pop(),) if everybody and len(traits.implementations(targets)) > 1 else tuple(ended)


@dataclass(frozen=True)
class _Manner:
    """How a case ends.

    Args:
        exception: its type, of the one who was found first.
    """

    status: Status
    stage: Stage
    api: str
    exception: str

    def fits(self, outcome: Outcome, seen: Seen) -> bool:
        failure = outcome.failure
        if failure is None or outcome.status is not self.status or is_lack(outcome, seen.case, seen.traits):
            return False
        return alike_in_type(outcome.status, self.stage, failure.type, self.exception)


class FailingAlike:
    """Judges nothing but how a case ends; with a claim, whether it ends as that says."""

    settings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        found = [self._suspicion(seen, manner, group) for manner in _manners(seen) for group in _groups(seen, manner)]
        return Judged((_verdict(seen, found),), tuple(found))

    def _suspicion(self, seen: Seen, manner: _Manner, group: Mapping[str, Outcome]) -> Suspicion:
        suspects = accused_of_failure(list(group), seen.targets, seen.traits)
        node = _node_of(seen.case, manner.stage)
        parameters = _parameters(seen.case, manner.stage)
        diagnosis = Diagnosis(
            Class.DEFECT,
            suspects,
            node=node.key if node else None,
            api=manner.api or None,
            parameters=parameters,
            evidence=failure_evidence(group, seen.own, manner.api, parameters),
        )
        kind = KIND_OF_ENDING[manner.status]
        return Suspicion(kind, diagnosis, seen.case, seen.targets, manner.exception, manner.stage, oracle=FAILURE)


def _manners(seen: Seen) -> Iterator[_Manner]:
    """The one that is claimed, unless the case is of something else by now; else all that there are."""
    if is_whole(seen.claim):  # of a case file, only the suspects are known
        yield from _claimed_manners(seen, seen.claim)
        return
    told: list[_Manner] = []
    for outcome in seen.own.values():
        failure = outcome.failure
        if outcome.status not in KIND_OF_ENDING or failure is None or is_lack(outcome, seen.case, seen.traits):
            continue
        stage = _stage(seen.case, failure)
        if not any(one.stage is stage and one.fits(outcome, seen) for one in told):
            told.append(_Manner(outcome.status, stage, _api(seen.case, stage), failure.type))
    yield from told


def _claimed_manners(seen: Seen, claim: Key) -> Iterator[_Manner]:
    kind, stage, _, api, exception = claim
    own = _api(seen.case, Stage(stage))
    if Kind(kind) in _STATUS_OF_KIND and (not own or not api or own == api):
        yield _Manner(_STATUS_OF_KIND[Kind(kind)], Stage(stage), own or api, exception)


def _groups(seen: Seen, manner: _Manner) -> list[dict[str, Outcome]]:
    """Those who end so; of a case of several layers, each place at which somebody does is a reason of its own."""
    groups: dict[tuple[str | None, str], dict[str, Outcome]] = {}
    procedure = seen.case.procedure
    placed = (procedure.goal in _STEPS or procedure.trace) and not is_loss_alone(seen.case)
    for target, outcome in seen.own.items():
        failure = outcome.failure
        if failure is None or not manner.fits(outcome, seen):
            continue
        if seen.claim is None and _stage(seen.case, failure) is not manner.stage:
            continue
        groups.setdefault((failure.node, failure.stage) if placed else (None, ""), {})[target] = outcome
    return list(groups.values())


def _stage(case: Case, failure: Failure) -> Stage:
    if is_loss_alone(case):
        return Stage.LOSS
    return Stage.BACKWARD if case.cotangents else stage_of_failure(failure, Stage.FORWARD)


def _api(case: Case, stage: Stage) -> str:
    """The public name of what runs alone; empty where several layers do."""
    loss, optimizer = case.procedure.loss, case.procedure.optimizer
    if loss is not None and is_loss_alone(case):
        return LOSSES[loss.name].api if loss.name in LOSSES else ""
    if stage is Stage.UPDATE and optimizer is not None:
        return OPTIMIZERS[optimizer.name].api if optimizer.name in OPTIMIZERS else ""
    node = _node_of(case, stage)
    return public_name(node.op) if node else ""


def _node_of(case: Case, stage: Stage) -> Node | None:
    if stage is Stage.UPDATE or is_loss_alone(case) or not isinstance(case.subject, LayerGraph):
        return None
    return layer_of(case.subject) if case.subject.nodes else None


def _parameters(case: Case, stage: Stage) -> dict[str, Json]:
    """Of what runs alone, the parameters that are not at their default."""
    procedure = case.procedure
    recipe = procedure.loss if is_loss_alone(case) else procedure.optimizer if stage is Stage.UPDATE else None
    node = _node_of(case, stage)
    own = dict(recipe.params) if recipe is not None else {}
    if node is not None and has_layer(node.op):
        own = layer(node.op).significant({**node.params, **node.call_params})
    return {**own, **policy_parameter(procedure.dtype)} if recipe is not None or node is not None else {}


def _verdict(seen: Seen, found: Sequence[Suspicion]) -> Verdict:
    if found:
        first = found[0]
        reason = f"{first.stage.value}: {first.diagnosis.api or 'the network'} fails"
        return Verdict(Judgement.FAIL, seen.targets, reason, kind=first.kind, stage=first.stage)
    if len(seen.completed) == len(seen.own):
        return Verdict(Judgement.PASS, seen.targets, "every target comes to its end")
    return Verdict(Judgement.UNDECIDED, seen.targets, "nobody fails as it is claimed, and not all of them complete it")
