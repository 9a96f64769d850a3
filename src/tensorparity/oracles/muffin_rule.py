"""The paper's rule in a run (``--oracle muffin``): what it finds in a training step, as suspicions."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..core.case import Case
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.outcome import Outcome
from ..core.policies import policy_named
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Kind, Measure, Stage
from .measure.diagnose import public_name
from .muffin import EPSILON, THRESHOLD, Inconsistency, inconsistencies, odd_ones


def by_paper(
    case: Case,
    outcomes: Mapping[str, Outcome],
    stages: Collection[Stage],
    threshold: float = THRESHOLD,
    epsilon: float = EPSILON,
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
        for item in inconsistencies(case.subject, loss, a, b, threshold, epsilon)
    ]
    return [item for item in found if item.stage in stages and (item.nan or not half)]


@dataclass(frozen=True)
class MuffinParting:
    """An inconsistency, and whom a vote names for it; its case is the whole network.

    Args:
        odd: nobody where no majority stands against one library.
    """

    case: Case
    item: Inconsistency
    odd: tuple[str, ...]
    threshold: float = THRESHOLD

    @property
    def stage(self) -> Stage:
        return self.item.stage

    @property
    def api(self) -> str:
        name = self.item.layer
        return f"keras.losses.{name}" if self.item.stage is Stage.LOSS else public_name(name)

    @property
    def suspects(self) -> tuple[str, ...]:
        return self.odd

    @property
    def place(self) -> tuple[str, ...]:
        return (self.item.stage.value, self.api, ",".join(self.odd or (self.item.a, self.item.b)))

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
        parting = observed("paper-parts", a=item.a, b=item.b, layer=item.layer, distance=item.distance)
        vote = observed("paper-vote", odd=" and ".join(self.odd) or None)
        return Diagnosis(
            Class.DEFECT if self.odd else Class.PRECISION,
            self.suspects,
            node=item.node or None,
            api=self.api,
            evidence=(parting, vote),
            measure=Measure("chebyshev", item.distance),
            threshold=self.threshold,
        )

    def suspicion(self, targets: Sequence[str]) -> Suspicion:
        return Suspicion(
            self.kind, self.diagnosis, self.case, tuple(targets), stage=self.stage, oracle="muffin", known_by=self.key
        )


def partings(
    case: Case,
    found: Sequence[Inconsistency],
    outcomes: Mapping[str, Outcome],
    threshold: float = THRESHOLD,
    traits: Traits | None = None,
) -> Iterator[MuffinParting]:
    """Each inconsistency with what the vote says of it."""
    voted = odd_ones(found, outcomes, traits)
    for item in found:
        yield MuffinParting(case, item, voted.get((item.stage, item.layer, item.node), ()), threshold)
