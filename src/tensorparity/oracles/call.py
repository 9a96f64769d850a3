"""One call of a public function, against its reference."""

from __future__ import annotations

from ..core.oracle import Seen
from ..operators.functions.native import case_operator
from .base import Asking, Steps
from .both_ways import only_one_way
from .by_pairs import by_pairs
from .by_reference import by_reference
from .case_oracle import CaseOracle, Outcomes
from .operator_error import judge_operator
from .references import references
from .statements import Statement


class CallOracle(CaseOracle):
    """Where the catalogue has no reference, the targets are held against each other.

    A call of an operator is judged as a search for its errors judges it.
    """

    name = "call"

    def steps(self, seen: Seen) -> Steps:
        judge = judge_operator(seen) if case_operator(seen.case) is not None else super().steps(seen)
        return (yield from judge)

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        truth = references(seen.case)
        said = by_reference(seen, outcomes, truth) if truth else by_pairs(outcomes)
        return (yield from only_one_way(seen, outcomes, said))
