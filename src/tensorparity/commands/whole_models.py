"""One model on several targets, through the loop: run, judged, confirmed, and filed where somebody wants that."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..campaign.budget import StopReason
from ..campaign.events import CaseDone, Confirmed, Event, Listener, Progress, silent, to_all
from ..campaign.loop import run_engines
from ..campaign.session import CampaignSession
from ..core.arrays import Arrays
from ..core.case import Case
from ..core.comparison import Comparison
from ..core.engine import Ask, Engine
from ..core.errors import ModelRefusedError, OutOfTimeError
from ..core.finding import Class
from ..core.model import Model
from ..core.oracle import Judged, JudgingTime, Setup
from ..core.outcome import Outcome
from ..core.precision import HighPrecision
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.self_agreement import SelfAgreement
from ..core.suspicion import Suspicion
from ..core.training import Training
from ..core.traits import Traits
from ..core.verdict import Verdict
from ..engines.cradle import OneModel, ask_for_training
from ..generators.training import Schedule, training_case
from ..oracles.measure.node_errors import NodeErrors
from ..oracles.whole.instances import named_labels
from ..oracles.whole.verdicts import after_confirmation
from ..targets.delivery import Delivery
from ..targets.model_layers import read_model
from ..targets.slicing import SlicingRunner
from ..triage.examine import Examiner

#: Measures how far every target is from a run in high precision.
HIGH_PRECISION = "high_precision"
#: Measures how far every target is from itself.
WITH_ITSELF = "with_itself"


@dataclass
class ExaminedModel:
    """What came of an examination: a handler of the events of its loop.

    Args:
        labels: as the user gave them; they are refused where they fit no output.
        suspicions: confirmed.
    """

    labels: Arrays = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    suspicions: list[Suspicion] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    measured: Sequence[NodeErrors] = ()
    doubts: list[str] = field(default_factory=list)
    high_precision: HighPrecision | None = None
    self_agreement: tuple[SelfAgreement, ...] = ()
    training: Training | None = None
    #: When the last of its events came.
    last: float = field(default_factory=time.monotonic)

    @property
    def verdicts(self) -> list[Verdict]:
        return [comparison.verdict for comparison in self.comparisons]

    def __call__(self, event: Event) -> None:
        """Take up what a case showed, and what confirmation made of it.

        Raises:
            DataError: if the labels do not fit the outputs.
        """
        if isinstance(event, CaseDone):
            judged, *others = event.judged
            self.notes += [note for note in judged.notes if note not in self.notes]
            self.comparisons += judged.comparisons
            if "training" in judged.facts:
                self._take_training(judged)
            else:
                named_labels(self.labels, event.outcomes)
                self._take(event.outcomes, judged, others, event.times)
        elif isinstance(event, Confirmed):
            self._take_confirmed(event)

    def _seconds(self) -> float:
        """Since the last event."""
        before, self.last = self.last, time.monotonic()
        return self.last - before

    def _take(
        self,
        outcomes: Mapping[str, Outcome],
        judged: Judged,
        others: Sequence[Judged],
        times: Sequence[JudgingTime],
    ) -> None:
        self.outcomes = outcomes
        self.measured = judged.facts.get("measured", ())
        self.doubts = list(judged.facts.get("doubts", ()))
        spent, (own, *of_others) = self._seconds(), times
        extract = max(0.0, spent - sum(time.total for time in times))
        self.phases = {"extract": extract, "compare": own.first, "localize": own.checks}
        for measured, took in zip(others, of_others, strict=True):
            if measured.facts.get(HIGH_PRECISION) is not None:
                self.high_precision = measured.facts[HIGH_PRECISION]
                self.phases["high precision"] = took.total
            if WITH_ITSELF in measured.facts:
                self.self_agreement = tuple(measured.facts[WITH_ITSELF])
                self.phases["with itself"] = took.total

    def _take_training(self, judged: Judged) -> None:
        self.training = judged.facts["training"]
        self.phases["train"] = self._seconds()

    def _take_confirmed(self, event: Confirmed) -> None:
        self.suspicions += event.suspicions
        self.comparisons = after_confirmation(self.comparisons, self.suspicions)
        if any(suspicion.diagnosis.klass in (Class.DEFECT, Class.FLAKY) for suspicion in event.suspicions):
            self.phases["localize"] = self.phases.get("localize", 0.0) + event.seconds
        self._seconds()


@dataclass
class ModelExaminer:
    """Examines one model.

    Args:
        oracle: who judges whole models, ``settings`` are its settings (see ``oracles/output_pair``).
        measures: oracles that only measure, with the same settings.
        sections: by the name of any oracle, what the user sets; it has the last word.
        schedule: also train the model on every target that can.
    """

    runner: Runner
    model: Model
    targets: Sequence[str]
    traits: Traits
    oracle: str = "parity"
    settings: Mapping[str, Any] = field(default_factory=dict)
    measures: Sequence[str] = ()
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    batch_size: int | None = None
    seed: int = 0
    schedule: Schedule | None = None
    tell: Listener = silent

    def examine(self, inputs: Arrays, labels: Arrays) -> ExaminedModel:
        """Run the model on these instances everywhere, judge it and confirm what is suspected; nothing is filed.

        Raises:
            DataError: if the labels do not fit the outputs.
        """
        found = self.begin(labels)
        session = CampaignSession(self.examiner(), None, to_all([found, self.tell]), subject=self.model.name)
        run_model(session, self.engine(inputs, labels), found)
        return found

    def begin(self, labels: Arrays) -> ExaminedModel:
        """The handler of the events to come; a target that reads no file of this model needs its layers first."""
        found = ExaminedModel(labels)
        if any(self.model.needs_graph(target) for target in self.targets):
            try:
                self.model = read_model(self.runner, self.model, self.targets)
            except ModelRefusedError as error:
                found.notes.append(f"the layers could not be read: {error}")
        found.last = time.monotonic()
        return found

    def engine(self, inputs: Arrays, labels: Arrays) -> OneModel:
        """What is asked for: the model on these instances, and its training.

        Raises:
            DataError: if it is to be trained, and there are no labels or too few instances.
        """
        case = own_case(self.model, Procedure(batch_size=self.batch_size), inputs, labels, self.seed)
        asked = Ask(case, tuple(self.targets), (self.oracle, *self.measures))
        training = training_case(case, self.schedule) if self.schedule else None
        able = [target for target in self.targets if self.traits[target].max_goal is Goal.UPDATE]
        return OneModel(asked, ask_for_training(training, able) if training and able else None)

    def examiner(self) -> Examiner:
        """Made for this model: every target is given its own form of it, and many instances in pieces."""
        runner = SlicingRunner(TellingRunner(self.runner, self.tell), self.model)
        own = {"batch": self.model.batch, **self.settings}
        told = {name: {**own, **self.sections.get(name, {})} for name in (self.oracle, *self.measures)}
        setup = Setup(self.seed, tuple(self.targets), self.traits)
        return Examiner(runner, setup, deliver=Delivery(self.model), settings={**self.sections, **told})


def run_model(
    session: CampaignSession,
    engine: Engine,
    found: ExaminedModel,
    seconds: float | None = None,
    began: float | None = None,
) -> StopReason:
    """Run the engine of one model to its end.

    Args:
        seconds: the whole time, counted from ``began``.

    Raises:
        DataError: if the labels do not fit the outputs.
        OutOfTimeError: if the time was used up before anything could be compared.
        KeyboardInterrupt: if it was interrupted before there was anything to tell.
    """
    stop = run_engines(session, [engine], seconds=seconds, began=began)
    if stop is StopReason.BUDGET:
        if not found.outcomes:
            raise OutOfTimeError("the budget was used up before the targets had answered; give a longer --budget")
        found.notes.append(stop.value)
    if stop is StopReason.INTERRUPTED:
        if not found.outcomes:
            raise KeyboardInterrupt
        found.notes.append(stop.value)
    return stop


def own_case(model: Model, procedure: Procedure, inputs: Arrays, labels: Arrays, seed: int) -> Case:
    """The case of a model as the user has it."""
    if model.file is not None:
        return Case(model.file, procedure, inputs, labels, seed=seed)
    assert model.graph is not None
    return Case(model.graph, procedure, inputs, labels, model.weights, seed=seed)


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
