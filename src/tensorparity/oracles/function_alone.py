"""One public function on the arguments with which a layer calls it: by its own documentation, and nothing above it.

What it should give is said by the catalogue, where it declares the function or an operator that the function is; else
by the vote of three implementations on the same call. Where neither says it, nobody is accused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..core.call import TupleArg
from ..core.case import ApiCall, Case
from ..core.errors import TensorParityError
from ..core.graph import Node
from ..core.jsontext import Json
from ..core.oracle import Seen
from ..core.outcome import Outcome
from ..core.signature import claim_against
from ..core.suspicion import Suspicion
from ..core.verdict import Stage
from ..operators.functions.as_layers import evaluate_as_layer
from ..operators.functions.recognised import recognised
from ..operators.reference.rounding import K
from ..operators.spec import Evaluation, ShapeError
from .base import Asking
from .blaming import accusations
from .both_ways import only_one_way
from .by_pairs import by_pairs
from .by_reference import by_reference
from .case_oracle import CaseOracle, Outcomes
from .measure.node_errors import reference_error
from .measure.votes import judge_by_vote
from .references import references
from .statements import Statement, convicts
from .subjects import api_call, call_parameters

#: Its name in the registry.
FUNCTION = "function"


class FunctionOracle(CaseOracle):
    """Judges single calls alone; whoever it accuses is filed with the arguments that matter."""

    name = FUNCTION

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        truth = truth_of(seen.case)
        said = _by_truth(seen, outcomes, truth) if truth else None
        if said is None or not (said.convictions or _is_clear(said)):
            said = _by_vote(seen, outcomes) or said or by_pairs(outcomes)
        said = yield from only_one_way(seen, outcomes, said)
        return _with_arguments(said, seen.case)


def truth_of(case: Case) -> dict[str, Evaluation]:
    """What a call should give, where the catalogue can say it."""
    known = references(case)
    if known or not isinstance(case.subject, ApiCall):
        return known
    as_layer = evaluate_as_layer(case.subject, case.inputs) if not case.procedure.derivative else None
    if as_layer is not None:
        return {"0": as_layer}
    operator = recognised(case)
    if operator is None:
        return {}
    try:
        with np.errstate(all="ignore"):
            return {"0": operator.evaluate()}
    except (TensorParityError, ShapeError, ValueError, TypeError, IndexError):
        return {}


def _is_clear(said: Statement) -> bool:
    return not said.convictions and not said.undecided


def _by_truth(seen: Seen, outcomes: Outcomes, truth: Mapping[str, Evaluation]) -> Statement:
    said = by_reference(seen, outcomes, truth)
    completed = [target for target, outcome in outcomes.items() if outcome.completed]
    if said.convictions or len(completed) != 1 or not _is_well_conditioned(seen.case, truth):
        return said
    # a library's own function has nobody beside it: no excuse where the formula itself stays within the bound
    return by_reference(replace(seen, claim=claim_against(completed)), outcomes, truth)


def _is_well_conditioned(case: Case, truth: Mapping[str, Evaluation]) -> bool:
    """Whether the operator's formula, in the operands' own precision, comes near enough to the true value."""
    operator = recognised(case)
    if operator is None:
        return False
    try:
        with np.errstate(all="ignore"):
            plain = operator.evaluate(promoted=False).value
    except (TensorParityError, ShapeError, ValueError, TypeError, IndexError):
        return False
    dtype = operator.operands[0].dtype
    return reference_error([np.asarray(plain).astype(dtype)], [truth["0"]]) <= K


def _by_vote(seen: Seen, outcomes: Mapping[str, Outcome]) -> Statement | None:
    """Whom three implementations of the same call outvote; None where there are not as many, or nobody is."""
    assert isinstance(seen.case.subject, ApiCall)
    node = Node("call", seen.case.subject.api, ())
    answers = {target: dict(outcome.outputs) for target, outcome in outcomes.items() if outcome.completed}
    measured = judge_by_vote(node, answers, seen.traits, complete=True)
    for accusation in accusations([measured], seen.traits):
        found = replace(accusation.diagnosis, node=None, api=api_call(seen.case.subject).api)
        said = Suspicion(accusation.kind, found, seen.case, tuple(outcomes), stage=Stage.CALL)
        return convicts(said, measured.judged_by)
    return None


def _with_arguments(said: Statement, case: Case) -> Statement:
    """With the plain arguments of the call as the parameters that matter: reduction leaves no others."""
    given = {name: _plain(value) for name, value in call_parameters(case).items()}
    told = [
        (replace(s, diagnosis=replace(s.diagnosis, parameters={**given, **s.diagnosis.parameters})), judged_by)
        for s, judged_by in said.convictions
    ]
    return replace(said, convictions=tuple(told))


def _plain(value: Json) -> Json:
    """An argument as reports have it."""
    if isinstance(value, TupleArg):
        value = value.items
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
