"""What all steps of judging one whole model share: the model as far as it is known, and what was said of it so far."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ...core.arrays import Array, Arrays
from ...core.case import Case, ModelFile
from ...core.comparison import Comparison
from ...core.errors import UsageError
from ...core.graph import LayerGraph, Node
from ...core.messages import gist
from ...core.model import Model
from ...core.oracle import Answer, Check, Seen
from ...core.outcome import Outcome
from ...core.procedure import Goal, Procedure
from ...core.settings import defaults_of
from ...core.suspicion import Suspicion
from ...operators.read_layers import read_layers
from ..measure.distances import METRICS, SHARE, TOP_K
from ..measure.node_errors import NodeErrors
from ..pair import PairOracle, PairSettings, compare_outcomes, judge_parity
from ..subjects import exporters_of

T = TypeVar("T")
#: Yields checks, is sent their answers, returns a T.
Asking = Generator[Sequence[Check], Sequence[Answer], T]


#: The settings of an oracle of whole models.
WHOLE_SETTINGS = ("localize", "arbiters", "batch", "thresholds", "share", "k", "metric", "study")


@dataclass(frozen=True)
class WholeSettings:
    """How a whole model is judged.

    Args:
        rule: judges one output of one pair.
        localize: ``auto`` looks at the layers where outputs differ, ``always`` and ``never`` say so.
        arbiters: targets that are not compared, but asked about layers that the others dispute.
        batch: the only batch size that the model takes.
        oracle: the name of the oracle that this is.
        needs_labels: its rule says nothing without them, and decides alone: layers only explain.
        study: also say what other thresholds would report.
    """

    rule: PairOracle = judge_parity
    pairs: PairSettings = field(default_factory=PairSettings)
    localize: str = "auto"
    arbiters: tuple[str, ...] = ()
    batch: int | None = None
    oracle: str = "parity"
    needs_labels: bool = False
    study: bool = False

    @classmethod
    def of(
        cls, settings: Mapping[str, Any], rule: PairOracle, oracle: str, *, needs_labels: bool = False
    ) -> WholeSettings:
        """From an oracle's section.

        Raises:
            UsageError: for a metric that there is not.
        """
        metric = settings.get("metric", METRICS[0])
        if metric not in METRICS:
            raise UsageError(f"unknown metric {metric!r}; known are {', '.join(METRICS)}")
        share, k = settings.get("share", SHARE), settings.get("k", TOP_K)
        pairs = PairSettings(dict(settings.get("thresholds", {})), share, k, metric)
        arbiters = tuple(settings.get("arbiters", ()))
        localize, study = settings.get("localize", "auto"), bool(settings.get("study", False))
        return cls(rule, pairs, localize, arbiters, settings.get("batch"), oracle, needs_labels, study)


WHOLE_DEFAULTS = defaults_of(PairSettings, WholeSettings)


@dataclass(frozen=True)
class ModelPlace:
    """Where a suspicion can be seen: a case, and the oracle that sees it there."""

    case: Case
    oracle: str


@dataclass(frozen=True)
class Found:
    """A suspicion, and the places where it may show, the smallest first; the last one is taken without a look."""

    suspicion: Suspicion
    places: tuple[ModelPlace, ...]


@dataclass
class Sight:
    """One model on several targets.

    Args:
        model: gets its graph when somebody needs it.
        exporters: by target, who wrote the file it was given; of arbiters once they were asked.
        doubts: layers on which every target disagrees with the reference, and no code they share can be blamed.
        exact: keys of the layers that give whole numbers or truth values, wherever they were traced.
    """

    seen: Seen
    settings: WholeSettings
    model: Model
    exporters: dict[str, str]
    labels: dict[str, Array] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    measured: list[NodeErrors] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    exact: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, seen: Seen, settings: WholeSettings) -> Sight:
        return cls(seen, settings, model_of(seen.case), exporters_of(seen))

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        return self.seen.own

    @property
    def delivered(self) -> Model:
        """The model as everybody is asked for it: by its file, where it has one; who is given what is delivery's."""
        file, everybody = self.model.file, (*self.seen.targets, *self.settings.arbiters)
        return replace(self.model, files=dict.fromkeys(everybody, file)) if file is not None else self.model

    @property
    def inputs(self) -> Arrays:
        return self.seen.case.inputs

    @property
    def completed(self) -> list[str]:
        return list(self.seen.completed)

    @property
    def graph(self) -> LayerGraph:
        assert self.model.graph is not None
        return self.model.graph

    @property
    def nodes(self) -> Sequence[Node]:
        return self.model.graph.nodes if self.model.graph else ()

    @property
    def suspicions(self) -> list[Suspicion]:
        return [item.suspicion for item in self.found]

    def families(self, targets: Collection[str]) -> dict[str, str]:
        return self.seen.traits.families(targets)

    def own_case(self, procedure: Procedure, inputs: Arrays, labels: Arrays | None = None) -> Case:
        """The model as the user has it, on other inputs; every target is given its own form of it."""
        return replace(self.seen.case, procedure=procedure, inputs=inputs, labels=labels or {})

    def compare(self) -> list[Comparison]:
        """Every pair of targets, output by output."""
        settings = self.settings
        return [
            replace(comparison, accusable=tuple(sorted(self.accusable(comparison))))
            for a, b in itertools.combinations(self.outcomes.values(), 2)
            for comparison in compare_outcomes(a, b, self.labels, settings.rule, settings.pairs)
        ]

    def accusable(self, comparison: Comparison) -> set[str]:
        """Everybody whose fault a difference of this pair can be: they, the code they share, the exporter between."""
        pair = {comparison.a, comparison.b}
        families = set(self.families(pair).values())
        exporters = {f"exporter:{self.exporters[target]}" for target in pair if target in self.exporters}
        crossed = exporters if len(pair - set(self.exporters)) == 1 else set()
        return pair | families | crossed

    def need_graph(self) -> Asking[bool]:
        """Read the layers, where they can be; otherwise a note says why not."""
        if self.model.graph is None:
            read = yield from layers_of(self.seen)
            if isinstance(read, str):
                self.notes.append(f"the layers could not be read: {self.model.name} could not be read: {read}")
            else:
                graph, weights = read
                self.model = replace(self.model, graph=graph, weights=weights)
        return self.model.graph is not None


def model_of(case: Case) -> Model:
    """The model in a case; of a file, the layers are not known yet."""
    if isinstance(case.subject, ModelFile):
        return Model(Path(case.subject.path).name, file=case.subject)
    if isinstance(case.subject, LayerGraph):
        return Model(case.subject.name, case.subject, case.weights)
    raise ValueError(f"a {case.subject.kind} is no model")


def layers_of(seen: Seen) -> Asking[tuple[LayerGraph, Arrays] | str]:
    """Graph and weights of the case's model, read by the first target that can; or why nobody could."""
    file = seen.case.subject
    if isinstance(file, LayerGraph):
        return file, seen.case.weights
    if not isinstance(file, ModelFile):
        return "it is no model"
    problem = f"none of the targets reads .{file.format} files"
    for target in (target for target in seen.own if file.format in seen.traits[target].reads):
        (answer,) = yield [Check(Case(file, Procedure(goal=Goal.LAYERS)), (target,))]
        outcome = answer.outcomes[target]
        if outcome.completed:
            return read_layers(outcome)
        failure = outcome.failure
        problem = f"{target}: {failure.type}: {gist(failure.message)}" if failure else outcome.status.value
    return problem
