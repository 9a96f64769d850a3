"""One layer, forward: against its reference, in training, or by the vote."""

from __future__ import annotations

from ..core.case import Case
from ..core.oracle import Seen
from ..core.suspicion import Suspicion
from ..operators.catalogue import has_reference
from .base import Asking
from .blaming import accusations
from .both_ways import only_one_way
from .by_pairs import by_pairs
from .by_reference import by_reference
from .case_oracle import CaseOracle, Outcomes
from .isolated_checks import judge_form, judge_layer
from .references import references
from .statements import BY_REFERENCE, Statement, clears, convicts
from .subjects import only_layer


class LayerOracle(CaseOracle):
    """One layer, behind nothing but what gives its inputs their masks."""

    name = "layer"

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        training = seen.case.procedure.training
        truth = {} if training else references(seen.case)
        if truth:
            said = by_reference(seen, outcomes, truth)
            return (yield from only_one_way(seen, outcomes, said))
        return _by_layer(seen, outcomes) if training or _is_voted(seen.case) else by_pairs(outcomes)


def _is_voted(case: Case) -> bool:
    """A layer of which there is no reference."""
    node = only_layer(case)
    return node is not None and not has_reference(node.op)


def _by_layer(seen: Seen, outcomes: Outcomes) -> Statement:
    """One layer in training, or without a reference, by the judge of isolated checks."""
    case = seen.case
    completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    errors = judge_layer(case, outcomes, seen.traits)
    form = judge_form(case, completed, seen.traits) if _is_voted(case) else None
    for measured in (errors, *([form] if form else ())):
        for accusation in accusations([measured], seen.traits):
            found = Suspicion(accusation.kind, accusation.diagnosis, case, tuple(outcomes))
            return convicts(found, measured.judged_by)
    known = errors.judged_by == BY_REFERENCE and bool(errors.errors)
    cleared = known and all(error <= errors.limit for error in errors.errors.values())
    return clears(BY_REFERENCE) if cleared else by_pairs(outcomes)
