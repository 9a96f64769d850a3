"""One model on several targets, through the examiner: run, judged, confirmed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.arrays import Arrays
from ..core.case import Case
from ..core.comparison import Comparison
from ..core.engine import Ask
from ..core.errors import ModelRefusedError
from ..core.finding import Class
from ..core.model import Model
from ..core.oracle import Judged, Setup
from ..core.outcome import Outcome
from ..core.precision import HighPrecision
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.training import Training
from ..core.traits import Traits
from ..core.verdict import Verdict
from ..operators.read_layers import read_layers
from ..oracles.whole.instances import named_labels
from ..oracles.whole.sight import model_of
from ..oracles.whole.verdicts import after_confirmation
from ..targets.delivery import Delivery
from ..targets.slicing import SlicingRunner
from ..triage.examine import Examined, Examiner
from ..triage.node_errors import NodeErrors
from .events import Listener, Progress, silent

#: Measures how far every target is from a run in high precision.
HIGH_PRECISION = "high_precision"


@dataclass
class ExaminedModel:
    """What came of an examination; suspicions are confirmed."""

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    suspicions: list[Suspicion] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    measured: Sequence[NodeErrors] = ()
    doubts: list[str] = field(default_factory=list)
    high_precision: HighPrecision | None = None
    training: Training | None = None

    @property
    def verdicts(self) -> list[Verdict]:
        return [comparison.verdict for comparison in self.comparisons]


@dataclass
class ModelExaminer:
    """Examines one model.

    Args:
        oracle: who judges whole models, ``settings`` are its settings (see ``oracles/output_pair``).
        measures: oracles that only measure.
    """

    runner: Runner
    model: Model
    targets: Sequence[str]
    traits: Traits
    oracle: str = "parity"
    settings: Mapping[str, Any] = field(default_factory=dict)
    measures: Sequence[str] = ()
    batch_size: int | None = None
    seed: int = 0
    tell: Listener = silent

    def examine(self, inputs: Arrays, labels: Arrays) -> ExaminedModel:
        """Run the model on these instances everywhere, judge it and confirm what is suspected.

        Raises:
            DataError: if the labels do not fit the outputs.
        """
        found = ExaminedModel()
        self._read_graph(found)
        case = own_case(self.model, Procedure(batch_size=self.batch_size), inputs, labels, self.seed)
        examiner = self.examiner()
        began = time.monotonic()
        (seen,) = examiner.examine([Ask(case, tuple(self.targets), (self.oracle, *self.measures))])
        named_labels(labels, seen.own)
        _take(found, seen, time.monotonic() - began)
        self._confirm(examiner, seen, found)
        return found

    def examiner(self) -> Examiner:
        """Made for this model: every target is given its own form of it, and many instances in pieces."""
        runner = SlicingRunner(TellingRunner(self.runner, self.tell), self.model)
        settings = {"batch": self.model.batch, **self.settings}
        setup = Setup(self.seed, tuple(self.targets), self.traits)
        names = (self.oracle, *self.measures, "training_drift")
        return Examiner(runner, setup, deliver=Delivery(self.model), settings=dict.fromkeys(names, settings))

    def _confirm(self, examiner: Examiner, seen: Examined, found: ExaminedModel) -> None:
        began = time.monotonic()
        found.suspicions = confirmed(examiner, seen)
        found.comparisons = after_confirmation(found.comparisons, found.suspicions)
        if any(suspicion.diagnosis.klass is Class.DEFECT for suspicion in seen.judged.suspicions):
            found.phases["localize"] = found.phases.get("localize", 0.0) + time.monotonic() - began

    def with_graph(self, found: ExaminedModel) -> Model:
        """The model with its layers read, where they can be; otherwise a note says why not."""
        if self.model.graph is None:
            try:
                self.model = read_model(self.runner, self.model, self.targets)
            except ModelRefusedError as error:
                found.notes.append(f"the layers could not be read: {error}")
        return self.model

    def _read_graph(self, found: ExaminedModel) -> None:
        """A target that reads no file of this model needs its layers before anything can be run."""
        if any(self.model.needs_graph(target) for target in self.targets):
            self.with_graph(found)


def own_case(model: Model, procedure: Procedure, inputs: Arrays, labels: Arrays, seed: int) -> Case:
    """The case of a model as the user has it."""
    if model.file is not None:
        return Case(model.file, procedure, inputs, labels, seed=seed)
    assert model.graph is not None
    return Case(model.graph, procedure, inputs, labels, model.weights, seed=seed)


def read_model(runner: Runner, model: Model, targets: Sequence[str]) -> Model:
    """The model with its graph and weights, read by the first target that can.

    Raises:
        ModelRefusedError: if no target that reads such files succeeds.
    """
    file = model.file
    assert file is not None
    problem = f"none of the targets reads .{file.format} files"
    for target in (target for target in targets if model.file_for(target) == file):
        (outcome,) = runner.run_pairs([(Case(file, Procedure(goal=Goal.LAYERS)), target)])
        if outcome.completed:
            graph, weights = read_layers(outcome)
            return replace(model, graph=graph, weights=weights)
        failure = outcome.failure
        problem = f"{target}: {failure.type}: {failure.message}" if failure else outcome.status.value
    raise ModelRefusedError(f"{model.name} could not be read: {problem}")


def confirmed(examiner: Examiner, seen: Examined) -> list[Suspicion]:
    """The suspicions of a model, its defects seen again in fresh processes; the others blame nobody, and stand."""
    defects = tuple(s for s in seen.judged.suspicions if s.diagnosis.klass is Class.DEFECT)
    only = [replace(seen, judged=replace(seen.judged, suspicions=defects))]
    again = iter([suspicion for suspicion, _ in examiner.confirm(only)] if defects else ())
    return [next(again) if s.diagnosis.klass is Class.DEFECT else s for s in seen.judged.suspicions]


def _take(found: ExaminedModel, seen: Examined, seconds: float) -> None:
    judged = seen.judged
    found.outcomes = seen.own
    found.comparisons = list(judged.comparisons)
    found.notes += judged.notes
    found.measured = judged.facts.get("measured", ())
    found.doubts = list(judged.facts.get("doubts", ()))
    phases = dict(judged.facts.get("phases", {}))
    found.phases = {"extract": max(0.0, seconds - sum(phases.values())), **phases}
    for measured in seen.measured:
        _take_measured(found, measured)


def _take_measured(found: ExaminedModel, measured: Judged) -> None:
    if measured.facts.get(HIGH_PRECISION) is not None:
        found.high_precision = measured.facts[HIGH_PRECISION]
        found.phases["high precision"] = measured.facts["seconds"]


class TellingRunner:
    """A Runner around a Runner that tells a listener what is being run, and why."""

    def __init__(self, inner: Runner, tell: Listener) -> None:
        self._inner = inner
        self._tell = tell

    @property
    def targets(self) -> Sequence[str]:
        return self._inner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        if not pairs:
            return []
        words, done = _in_words(pairs[0][0], fresh), itertools.count(1)
        self._tell(Progress(words, 0, len(pairs)))

        def told(outcome: Outcome) -> None:
            self._tell(Progress(words, next(done), len(pairs), outcome.target))
            if on_outcome:
                on_outcome(outcome)

        return self._inner.run_pairs(pairs, fresh=fresh, deadline_factor=deadline_factor, on_outcome=told)


_WORDS = {Goal.LAYERS: "reading the layers", Goal.REPLAY: "replaying layers", Goal.FIT: "training"}


def _in_words(case: Case, fresh: bool) -> str:
    if fresh:
        return "confirming in fresh processes"
    if case.cotangents:
        return "replaying gradients"
    return _WORDS.get(case.procedure.goal) or ("tracing" if case.procedure.trace else "running")


__all__ = ["ExaminedModel", "ModelExaminer", "confirmed", "model_of", "own_case", "read_model"]
