"""What is known of one training step besides verdicts and suspicions: what the paper's tables are made of.

All of it goes to JSON and back, because results are stored and told to an engine again when a campaign is resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.endings import without_limits
from ..core.graph import LayerGraph
from ..core.jsontext import Json, tag, untag
from ..core.messages import normalised_message
from ..core.model import node_inputs
from ..core.outcome import Outcome, Status
from ..core.traits import Traits
from ..core.verdict import Kind, Stage
from .muffin import Inconsistency, odd_ones

#: The name of these facts among those of a ``Judged`` or a ``Result``.
STEP = "step"

Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class Known:
    """Something that has been convicted often enough, seen once more."""

    place: tuple[str, ...]
    stage: Stage
    api: str
    suspects: tuple[str, ...]
    kind: Kind = Kind.INCONSISTENCY

    def to_json(self) -> Json:
        names = {"place": list(self.place), "api": self.api, "suspects": list(self.suspects)}
        return {**names, "stage": self.stage.value, "kind": self.kind.value}

    @classmethod
    def from_json(cls, data: Json) -> Known:
        place, suspects = tuple(data["place"]), tuple(data["suspects"])
        return cls(place, Stage(data["stage"]), data["api"], suspects, Kind(data["kind"]))


@dataclass(frozen=True)
class StepFacts:
    """What the tables of a fuzzing run count of one training step.

    Args:
        statuses: by target, how it ended; a refusal is ``unsupported``. Who ran into a limit of time or memory is left
            out: that depends on how loaded the machine is.
        unsupported: by target, what it says that it lacks.
        inconsistent: what the paper's rule says, whatever the verdicts are by.
        parting: what it would say with the smallest of figure 5's thresholds.
        voted: (target, stage, layer) where all others agree against one target.
        ended: (target, column of table 5, message or layer), where at least one target is well.
        convicted: public names of what was convicted in it.
        known: what was not tried again, because it had been convicted often enough.
        open: doubts that nothing explains, as stage and public name.
        settled: doubts that a check dispelled, and why there were any.
    """

    statuses: Mapping[str, str] = field(default_factory=dict)
    unsupported: Mapping[str, str] = field(default_factory=dict)
    unbuildable: bool = False
    inconsistent: tuple[Inconsistency, ...] = ()
    parting: tuple[Inconsistency, ...] = ()
    voted: tuple[tuple[str, str, str], ...] = ()
    ended: tuple[tuple[str, str, str], ...] = ()
    convicted: tuple[str, ...] = ()
    known: tuple[Known, ...] = ()
    open: tuple[tuple[str, str], ...] = ()
    settled: tuple[str, ...] = ()

    @property
    def completed(self) -> bool:
        """Whether at least one target ran it to its end."""
        return Status.COMPLETED.value in self.statuses.values()

    def to_json(self) -> Json:
        plain = {**vars(self), "statuses": dict(self.statuses), "unsupported": dict(self.unsupported)}
        plain["known"] = [known.to_json() for known in self.known]
        for name in ("inconsistent", "parting"):
            plain[name] = [_item_to_json(item) for item in plain[name]]
        for name in ("voted", "ended", "open"):
            plain[name] = [list(item) for item in plain[name]]
        for name in ("convicted", "settled"):
            plain[name] = list(plain[name])
        return tag(plain)

    @classmethod
    def from_json(cls, data: Json) -> StepFacts:
        plain = dict(untag(data))
        plain["known"] = tuple(map(Known.from_json, plain["known"]))
        for name in ("inconsistent", "parting"):
            plain[name] = tuple(map(_item_from_json, plain[name]))
        for name in ("voted", "ended", "open"):
            plain[name] = tuple(map(tuple, plain[name]))
        for name in ("convicted", "settled"):
            plain[name] = tuple(plain[name])
        return cls(**plain)


def _item_to_json(item: Inconsistency) -> Json:
    return {**asdict(item), "stage": item.stage.value}


def _item_from_json(data: Json) -> Inconsistency:
    return Inconsistency(**{**data, "stage": Stage(data["stage"])})


def with_outcome_counts(facts: StepFacts, case: Case, outcomes: Outcomes, traits: Traits) -> StepFacts:
    """The facts, with what the outcomes themselves say."""
    numbers = [item for item in facts.inconsistent if not item.nan]
    endings = {target: outcome.status for target, outcome in outcomes.items()}
    votes = odd_ones(numbers, outcomes, traits)
    voted = {(target, place[0].value, place[1]) for place, odd in votes.items() for target in odd}
    return replace(
        facts,
        statuses={target: status.value for target, status in without_limits(endings).items() if status is not None},
        unbuildable=all(_failed_to_build(outcome) for outcome in outcomes.values()),
        voted=tuple(sorted(voted)),
        ended=tuple(sorted(_crash_keys(facts, case, outcomes))),
    )


#: Forward, NaN is counted where it arises; here, where the paper's rule places it.
_LATER = (Stage.LOSS, Stage.BACKWARD)


def _crash_keys(facts: StepFacts, case: Case, outcomes: Outcomes) -> set[tuple[str, str, str]]:
    """NaN, generation and execution crashes, where at least one target is well (section 4.3.3)."""
    done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    found: set[tuple[str, str, str]] = set()
    for target, outcome in outcomes.items():
        if outcome.status in (Status.RAISED, Status.CRASHED) and outcome.failure and done:
            column = "generation" if outcome.failure.stage == "build" else "execution"
            found.add((target, column, normalised_message(outcome.failure.message)))
    later = {(item.broken, item.layer) for item in facts.inconsistent if item.broken and item.stage in _LATER}
    return found | {(target, "nan", op) for target, op in _nan_layers(case, done) | later}


def _failed_to_build(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.stage == "build"


def _nan_layers(case: Case, done: Outcomes) -> set[tuple[str, str]]:
    """(target, layer) where a target makes what is not finite of what is, and another does not."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    found: set[tuple[str, str]] = set()
    for node in graph.nodes:
        broken, well = [], 0
        for target, outcome in done.items():
            output = outcome.trace.nodes.get(node.key)
            if output is None or _finite(output):
                well += output is not None
                continue
            try:
                given = node_inputs(graph, node, case.inputs, outcome.trace.nodes)
            except KeyError:
                continue
            if all(_finite(array) for array in given):
                broken.append(target)
        if well:
            found.update((target, node.op) for target in broken)
    return found


def _finite(array: Array) -> bool:
    return array.dtype.kind in "iub" or bool(np.isfinite(array.astype(np.float64)).all())
