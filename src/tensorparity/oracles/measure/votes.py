"""The vote: where nothing says what is right, what most implementations gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ...core.arrays import Array, dtype_name, unit_roundoff
from ...core.channels import channels, from_channels, is_exact, is_finite, magnitude
from ...core.graph import Node
from ...core.traits import Traits
from ...operators.reference.rounding import K
from ...operators.spec import Evaluation
from .node_errors import VOTE_MARGIN, NodeErrors, Place, largest_distance, reference_error, worst_place

#: Roundings of the output's scale that a kernel without a formula may make, in units that the vote multiplies.
_ACCUMULATED = 64.0
#: ... but never more than this share of the scale: the narrow formats would be allowed anything.
_MOST_ACCUMULATED = 2.0**-5
#: Operators that round to an integer: a legitimate last bit may turn into one step.
_STEPPING = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinear")
#: Added to what rounding explains there, so that one step passes the vote and two do not.
_ONE_STEP = 2.0**53 / 100.0


def judge_by_vote(
    node: Node, answers: Mapping[str, Mapping[str, Array]], traits: Traits, *, complete: bool = False
) -> NodeErrors:
    """Arrays by name from each target, judged by their vote.

    Args:
        complete: a target that lacks what most others have is infinitely wrong. Otherwise it is judged without it,
            as with gradients, where none means zero.
    """
    given = {target: arrays for target, arrays in answers.items() if arrays}
    names = sorted(set().union(*given.values())) if given else []
    errors = dict.fromkeys(given, 0.0)
    absolute = dict.fromkeys(given, 0.0)
    worst: dict[str, Place] = {}
    decided = unsettled = False
    mutual = 0.0
    for name in names:
        having = {target: [arrays[name]] for target, arrays in given.items() if name in arrays}
        lacking = [target for target in given if target not in having] if complete else []
        apart = float("inf") if lacking else widest_gap(node, list(having.values()))
        mutual = max(mutual, apart)
        if lacking and _is_outvoted(lacking, having, traits):
            decided = True
            errors |= dict.fromkeys(lacking, float("inf"))
            absolute |= dict.fromkeys(lacking, float("inf"))
            apart = widest_gap(node, list(having.values()))
        truth = vote(node, having, camps_of(node, having), traits)
        if truth is None:
            unsettled |= apart > K * VOTE_MARGIN
            continue
        decided = True
        for target, outputs in having.items():
            error = reference_error(outputs, truth)
            if error > max(errors[target], K * VOTE_MARGIN) and (place := worst_place(outputs, truth, name)):
                worst[target] = place
            errors[target] = max(errors[target], error)
            absolute[target] = max(absolute[target], largest_distance(outputs, truth))
    if not decided:
        errors = dict.fromkeys(given, float("nan"))
    judged_by = "vote" if decided else "nothing"
    shared = shared_code(given, traits, node.op)
    found = NodeErrors(node, errors, absolute, mutual, judged_by=judged_by, unsettled=unsettled, implementations=shared)
    return replace(found, worst=worst)


def shared_code(targets: Iterable[str], traits: Traits, op: str = "") -> dict[str, str]:
    """By target, the implementation that it votes for in this type of layer."""
    return {target: traits.implementation(target, op) for target in targets}


def _is_outvoted(few: Iterable[str], many: Iterable[str], traits: Traits) -> bool:
    own, others = traits.implementations(few), traits.implementations(many)
    return len(others) >= 2 and len(others) > len(own)


def vote(
    node: Node, answered: Mapping[str, Sequence[Array]], camps: Sequence[frozenset[str]], traits: Traits
) -> list[Evaluation] | None:
    """The middle of three or more ballots, among those of the shape that most of them have.

    Targets that share code and agree have one ballot. Where they disagree, whatever they share is not what
    differs, so each of their answers has one.
    """
    ballots: dict[tuple[int, str], Sequence[Array]] = {}
    for target, outputs in answered.items():
        camp = next(index for index, members in enumerate(camps) if target in members)
        ballots.setdefault((camp, traits.implementation(target, node.op)), outputs)
    shapes = Counter(_shapes(outputs) for outputs in ballots.values()).most_common(1)
    if len(ballots) < 3 or 2 * shapes[0][1] <= len(ballots):
        return None
    voters = {ballot: outputs for ballot, outputs in ballots.items() if _shapes(outputs) == shapes[0][0]}
    strongest = Counter(camp for camp, _ in voters).most_common(1)[0][0]
    chosen = next(outputs for (camp, _), outputs in voters.items() if camp == strongest)
    return [
        _by_scale(node, _middle([outputs[index] for outputs in voters.values()], own, _steps(node, own)), own)
        for index, own in enumerate(chosen)
    ]


def _middle(answers: Sequence[Array], chosen: Array, steps: bool) -> Array:
    """The median, channel by channel, with NaN beyond everything; of what is exact, what most of them chose."""
    if (is_exact(chosen) and not steps) or any(array.dtype.kind in "USO" for array in answers):
        return chosen
    if any(array.dtype.kind == "c" for array in answers):
        answers = [array.astype(np.complex128) for array in answers]
    ordered = np.sort(np.stack([channels(array) for array in answers]), axis=0)
    low, high = ordered[(len(answers) - 1) // 2], ordered[len(answers) // 2]
    with np.errstate(all="ignore"):
        return from_channels(np.where(low == high, low, low + (high - low) / 2))


def _shapes(outputs: Sequence[Array]) -> tuple[tuple[int, ...], ...]:
    return tuple(array.shape for array in outputs)


def _steps(node: Node, array: Array) -> bool:
    return array.dtype.kind in "iu" and node.op.rpartition(".")[2].startswith(_STEPPING)


def _by_scale(node: Node, value: Array, like: Array) -> Evaluation:
    """Without a formula the accumulation is unknown: be generous, by the scale of the whole output."""
    if _steps(node, like):
        return Evaluation(value.astype(np.float64), np.full(value.shape, _ONE_STEP))
    scale = magnitude(value)[is_finite(value)].max(initial=0.0)
    with np.errstate(over="ignore"):
        return Evaluation(value, np.full(value.shape, accumulated_roundings(dtype_name(like)) * scale))


def accumulated_roundings(dtype: str) -> float:
    """Roundings of the output's scale that the vote allows a kernel in a dtype."""
    roundoff = unit_roundoff(dtype)
    return min(_ACCUMULATED, _MOST_ACCUMULATED / (K * VOTE_MARGIN * roundoff)) if roundoff else _ACCUMULATED


def widest_gap(node: Node, answers: Sequence[Sequence[Array]]) -> float:
    """How far any two of the targets are from each other, where nothing else gives the units."""
    if len({_shapes(outputs) for outputs in answers}) > 1:
        return float("inf")
    pairs = (pair for one in combinations(answers, 2) for pair in (one, one[::-1]))
    return max((reference_error(b, [_by_scale(node, array, array) for array in a]) for a, b in pairs), default=0.0)


def camps_of(node: Node, answered: Mapping[str, Sequence[Array]]) -> tuple[frozenset[str], ...]:
    """Who agrees with whom: each target joins the first camp whose first member it is close to."""
    found: list[list[str]] = []
    for target, outputs in answered.items():
        near = (camp for camp in found if widest_gap(node, [answered[camp[0]], outputs]) <= K * VOTE_MARGIN)
        camp = next(near, None)
        if camp is None:
            found.append([target])
        else:
            camp.append(target)
    return tuple(map(frozenset, found))
