"""Two trainings of one model: the first step and weight where they part, and what their layers make of that.

Rounding parts two trainings sooner or later, at kinks sooner. So a parting alone is no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Arrays
from ..core.comparison import Comparison
from ..core.finding import Class
from ..core.model import Model
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..core.training import Parting
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from .measure.drift import LOSSES_PARTED, PARTED, LossParting, losses_part, shares_of_movement
from .measure.node_errors import NodeErrors
from .pair import compare_outcomes, judge_parity
from .whole.verdicts import BY_LAYERS

_LOSS_APART = "loss-apart"
_OUTPUT = "training"


def compare_pair(a: Outcome, b: Outcome, start: Arrays, steps: int) -> Comparison:
    """The first step and weight where a pair parts, by the share of what the weights have moved.

    Args:
        start: the weights that both began with.
    """
    return replace(_compared(a, b, start, steps), accusable=(a.target, b.target))


def _compared(a: Outcome, b: Outcome, start: Arrays, steps: int) -> Comparison:
    pair = (a.target, b.target)
    if not (a.completed and b.completed):
        ended = compare_outcomes(a, b, {}, judge_parity)[0]
        return replace(ended, output=_OUTPUT, verdict=replace(ended.verdict, stage=Stage.UPDATE))
    if set(a.trace.weights) != set(b.trace.weights):
        odd = sorted(set(a.trace.weights) ^ set(b.trace.weights))[0].partition(":")[2]
        reason = f"{odd} is a weight of one of them only"
        return Comparison(*pair, _OUTPUT, _verdict(Judgement.FAIL, pair, reason, float("inf")), steps)
    parting, largest = _weights_part(a, b, start, steps)
    loss = losses_part(a.trace.losses, b.trace.losses)
    if loss is not None and (parting is None or loss.step <= parting.step):
        return Comparison(*pair, _OUTPUT, _of_losses(pair, loss), steps, max_rel=loss.apart)
    if parting is not None:
        reason = f"they diverge at step {parting.step} in {parting.weight} ({parting.apart:.2g} of its movement)"
        verdict = _verdict(Judgement.UNDECIDED, pair, reason, parting.apart)
        return Comparison(*pair, _OUTPUT, verdict, steps, max_rel=parting.apart)
    verdict = _verdict(Judgement.PASS, pair, "the trainings stay together", largest)
    return Comparison(*pair, _OUTPUT, verdict, steps, max_rel=largest)


def _weights_part(a: Outcome, b: Outcome, start: Arrays, steps: int) -> tuple[Parting | None, float]:
    """Where the weights part, and the largest share of movement up to there."""
    largest = 0.0
    for step, name, apart in shares_of_movement(a, b, start, steps):
        largest = max(largest, apart)
        if apart > PARTED:
            return Parting(a.target, b.target, step, name, apart), largest
    return None, largest


def _of_losses(pair: tuple[str, str], loss: LossParting) -> Verdict:
    reason = f"their losses differ at step {loss.step} ({loss.a:.4g} and {loss.b:.4g}) on weights that are together"
    measure = Measure(_LOSS_APART, loss.apart)
    return Verdict(Judgement.UNDECIDED, pair, reason, measure, LOSSES_PARTED, Kind.INCONSISTENCY, Stage.UPDATE)


def _verdict(judgement: Judgement, pair: tuple[str, str], reason: str, apart: float) -> Verdict:
    kind = None if judgement is Judgement.PASS else Kind.INCONSISTENCY
    return Verdict(judgement, pair, reason, Measure("weights-apart", apart), PARTED, kind, Stage.UPDATE)


def is_open(comparison: Comparison) -> bool:
    """Both were trained, and whether somebody is wrong is not known yet."""
    return bool(comparison.instances) and comparison.verdict.judgement is Judgement.UNDECIDED


def decide_pair(
    comparison: Comparison, measured: Sequence[NodeErrors], suspicions: Sequence[Suspicion], model: Model
) -> Comparison:
    """The verdict of a pair that parts, by what its layers and its optimizer do alone.

    Args:
        measured: gradients of layers, each alone.
    """
    if not is_open(comparison):
        return comparison
    return replace(comparison, verdict=_decided(comparison, measured, suspicions, model))


def _decided(
    comparison: Comparison, measured: Sequence[NodeErrors], suspicions: Sequence[Suspicion], model: Model
) -> Verdict:
    verdict, pair = comparison.verdict, {comparison.a, comparison.b}
    guilty = [s for s in suspicions if s.diagnosis.klass is Class.DEFECT and pair & set(s.diagnosis.suspects)]
    if guilty:
        reason = f"{verdict.reason}; {_guilt(guilty[0])}"
        return replace(verdict, judgement=Judgement.FAIL, reason=reason, judged_by=BY_LAYERS)
    if verdict.measure is not None and verdict.measure.name == _LOSS_APART:
        return replace(verdict, reason=f"{verdict.reason}: the loss itself, or the forward pass when training")
    open_layer = _unjudged(pair, measured, model)
    if open_layer or comparison.max_rel is None or not np.isfinite(comparison.max_rel):
        reason = f"{verdict.reason}; {open_layer or 'a weight that is not finite'} could not be judged"
        return replace(verdict, reason=reason)
    reason = f"{verdict.reason}; every layer's gradient agrees alone: rounding, at kinks"
    return replace(verdict, judgement=Judgement.PASS, reason=reason)


def _guilt(suspicion: Suspicion) -> str:
    diagnosis = suspicion.diagnosis
    layer = (diagnosis.node or "").partition("#")[0]
    what = f"the gradient of {layer}" if suspicion.stage is Stage.BACKWARD else f"the step of {diagnosis.api}"
    return f"{what} is wrong on {', '.join(diagnosis.suspects)}"


def _unjudged(pair: set[str], measured: Sequence[NodeErrors], model: Model) -> str:
    """The first trainable layer whose gradient was not judged on both sides."""
    if model.graph is None:
        return "the layers, which are not known,"
    settled = [m for m in measured if m.errors and (m.judged_by != "nothing" or m.mutual <= m.limit)]
    judged = {m.node.layer: set(m.errors) for m in settled}
    trained = {name.partition("/")[0] for name in model.weights}
    for node in model.graph.nodes:
        if node.layer in trained and not pair <= judged.get(node.layer, set()):
            return f"the gradient of {node.layer}"
    return ""
