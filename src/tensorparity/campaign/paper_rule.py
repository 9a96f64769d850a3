"""The paper's rule in a run (``--oracle muffin``): what it finds in a training step, and whether it finds it again."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..core.case import Case
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.outcome import Outcome
from ..core.policies import policy_named
from ..core.verdict import Kind, Measure, Stage
from ..oracles.muffin import THRESHOLD, Inconsistency, inconsistencies, odd_ones
from ..triage.diagnose import public_name


def by_paper(
    case: Case, outcomes: Mapping[str, Outcome], stages: Collection[Stage], threshold: float = THRESHOLD
) -> list[Inconsistency]:
    """What the paper would report of one case, in the stages that are judged.

    Its threshold is absolute and meant for float32: in half precision, where neighbouring numbers may be further apart,
    only NaN and infinities are.
    """
    assert isinstance(case.subject, LayerGraph)
    half = policy_named(case.procedure.dtype).half
    loss = case.procedure.loss.name if case.procedure.loss else "loss"
    found = [
        item
        for a, b in itertools.combinations(outcomes.values(), 2)
        for item in inconsistencies(case.subject, loss, a, b, threshold)
    ]
    return [item for item in found if item.stage in stages and (item.nan or not half)]


@dataclass(frozen=True)
class PaperTrial:
    """An inconsistency, and the target that a vote names for it; its case is the whole network.

    Args:
        odd: None where no majority stands against one target.
    """

    case: Case
    item: Inconsistency
    odd: str | None

    @property
    def api(self) -> str:
        name = self.item.layer
        return f"keras.losses.{name}" if self.item.stage is Stage.LOSS else public_name(name)

    @property
    def parted(self) -> tuple[str, str]:
        return (self.item.a, self.item.b)

    @property
    def place(self) -> tuple[str, ...]:
        return (self.item.stage.value, self.api, self.odd or ",".join(self.parted))

    @property
    def key(self) -> tuple[str, ...]:
        """The paper counts a layer once, whatever its parameters are."""
        return (*self.place, "by the paper")

    @property
    def kind(self) -> Kind:
        return Kind.NAN if self.item.nan else Kind.INCONSISTENCY

    @property
    def diagnosis(self) -> Diagnosis:
        """The odd one is wrong; of two that part, nobody can say which, so neither is blamed."""
        item = self.item
        parting = f"{item.a} and {item.b} part in {item.layer} by {item.distance:.3g}, what flows in agrees"
        vote = f"all others agree against {self.odd}" if self.odd else "no majority says which of them is wrong"
        return Diagnosis(
            Class.DEFECT if self.odd else Class.PRECISION,
            (self.odd,) if self.odd else (),
            node=item.node or None,
            api=self.api,
            evidence=(parting, vote),
            measure=Measure("chebyshev", item.distance),
            threshold=THRESHOLD,
        )

    def shows_in(self, outcomes: Mapping[str, Outcome]) -> bool:
        """The same pair parts at the same place in the same way, and the vote is the same."""
        found = by_paper(self.case, outcomes, [self.item.stage])
        return any(trial.same_as(self) for trial in paper_trials(self.case, found, outcomes))

    def same_as(self, other: PaperTrial) -> bool:
        mine, its = self.item, other.item
        parting = (mine.stage, mine.layer, mine.node, mine.a, mine.b, mine.nan, self.odd)
        return parting == (its.stage, its.layer, its.node, its.a, its.b, its.nan, other.odd)


def paper_trials(case: Case, found: Sequence[Inconsistency], outcomes: Mapping[str, Outcome]) -> Iterator[PaperTrial]:
    """Each inconsistency with what the vote says of it."""
    voted = odd_ones(found, outcomes)
    for item in found:
        yield PaperTrial(case, item, voted.get((item.stage, item.layer, item.node)))
