"""The same optimizer steps on the same batches, everywhere: where do the trainings part, and is anybody wrong?

Where they part, the backward pass of every layer is replayed alone, on identical inputs and cotangents; and where that
is right, the first step is held against the optimizer's formula.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array
from ..core.case import Case, ModelFile
from ..core.comparison import Comparison
from ..core.endings import KIND_OF_ENDING, ended_badly
from ..core.finding import Class, Diagnosis
from ..core.graph import Node
from ..core.messages import gist
from ..core.model import Model, node_inputs
from ..core.oracle import Check, Judged, Seen
from ..core.outcome import Outcome
from ..core.procedure import Goal, Procedure
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Stage, Verdict
from .base import Asking, Steps, Stepwise
from .kinds import oracle_of
from .measure.backward import GradientErrors, accuse_gradients
from .measure.diagnose import Accusation
from .measure.drift import compare_trainings
from .measure.gradients import replay_gradients
from .measure.node_errors import NodeErrors
from .trained_layer import by_optimizer
from .training_pairs import compare_pair, decide_pair, is_open
from .whole.cases import one_layer_case
from .whole.layers import IN_MODEL
from .whole.sight import layers_of, model_of

#: The oracle of a whole step of training, which takes no network apart.
_STEP = "trained_layer"


class TrainingDrift(Stepwise):
    """Judges a whole training (``Goal.FIT``) of a model.

    ``Judged.facts`` has the trainings side by side as ``training``. A claim about a whole training is one about how it
    ended: whatever else is found has a smaller case of its own.
    """

    settings: ClassVar[tuple[str, ...]] = ()

    name = "training_drift"

    def steps(self, seen: Seen) -> Steps:
        if seen.case.procedure.goal is not Goal.FIT:  # what is smaller than a training is another case
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, "nothing is trained"),))
        endings = _endings(seen)
        if seen.claim is not None:
            return Judged(suspicions=tuple(endings))
        drift = _Drift(seen, model_of(seen.case))
        yield from drift.read_layers()
        comparisons = drift.compare()
        suspicions = endings
        if any(map(is_open, comparisons)):
            found = yield from drift.look()
            suspicions = [*endings, *found]
            comparisons = [decide_pair(comparison, drift.measured, found, drift.model) for comparison in comparisons]
        done = list(seen.completed.values())
        training = compare_trainings(done, drift.model.weights, seen.case.procedure.steps or 0)
        return Judged(
            verdicts=tuple(comparison.verdict for comparison in comparisons),
            suspicions=tuple(suspicions),
            comparisons=tuple(comparisons),
            notes=tuple(drift.notes),
            facts={"training": training},
        )


def _endings(seen: Seen) -> list[Suspicion]:
    """Targets that raised, crashed or hung while training, where another one did train."""
    bad = [outcome for outcome in seen.own.values() if ended_badly(outcome) and outcome.failure is not None]
    return [_ending(seen, outcome) for outcome in bad] if seen.completed else []


def _ending(seen: Seen, outcome: Outcome) -> Suspicion:
    failure = outcome.failure
    assert failure is not None
    said = f"{outcome.target} {outcome.status.value} while training: {failure.type}: {gist(failure.message)}"
    diagnosis = Diagnosis(Class.DEFECT, (outcome.target,), node=failure.node, evidence=(said,))
    kind = KIND_OF_ENDING[outcome.status]
    return Suspicion(kind, diagnosis, seen.case, seen.targets, failure.type, Stage.UPDATE)


@dataclass
class _Drift:
    """Trainings of one model, and what its layers say of them.

    Args:
        model: gets its graph where it can be read.
        measured: gradients of layers, each alone.
    """

    seen: Seen
    model: Model
    measured: list[NodeErrors] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def read_layers(self) -> Asking[None]:
        """The layers and the weights they all began with, where they can be read; otherwise a note says why not."""
        if self.model.graph is not None:
            return
        read = yield from layers_of(self.seen)
        if isinstance(read, str):
            self.notes.append(f"the layers could not be read: {self.model.name} could not be read: {read}")
        else:
            graph, weights = read
            self.model = replace(self.model, graph=graph, weights=weights)

    def compare(self) -> list[Comparison]:
        start, steps = self.model.weights, self.seen.case.procedure.steps or 0
        return [compare_pair(a, b, start, steps) for a, b in itertools.combinations(self.seen.own.values(), 2)]

    def look(self) -> Asking[list[Suspicion]]:
        """Every layer's gradient alone; where none is wrong, the optimizer's step."""
        if self.model.graph is None:
            return []
        found = yield from self._gradients()
        if any(suspicion.diagnosis.klass is Class.DEFECT for suspicion in found):
            return found
        return found + (yield from self._update())

    @property
    def _targets(self) -> tuple[str, ...]:
        return tuple(self.seen.completed)

    def _first_batch(self) -> Case:
        """The model on the first batch, forward."""
        case, steps = self.seen.case, self.seen.case.procedure.steps or 1
        few = {name: array[: len(array) // steps] for name, array in case.inputs.items()}
        return replace(case, procedure=Procedure(trace=True), inputs=few, labels={})

    def _gradients(self) -> Asking[list[Suspicion]]:
        batch = self._first_batch()
        (answer,) = yield [Check(batch, self._targets)]
        traced = next((outcome for outcome in answer.outcomes.values() if outcome.completed), None)
        if traced is None:
            return []
        nodes = traced.trace.nodes
        replayed = yield from replay_gradients(batch, self.model, nodes, self._targets, self.seen.traits)
        self.measured = [item.errors for item in replayed]
        accused = _first_of_each(replayed, self.seen.traits.families(self._targets))
        cases = [_gradient_case(self.model, item.first.node, batch, nodes) for item in accused]
        answers = yield [Check(case, self._targets, _oracle_of_gradient(case)) for case in cases]
        return [
            self._suspected(accusation, case, answer.judged)
            for accusation, case, answer in zip(accused, cases, answers, strict=True)
        ]

    def _suspected(self, accusation: Accusation, case: Case, alone: Judged | None) -> Suspicion:
        """By its gradient alone; a vote on a kink, where everybody is right, is taken back by the reference."""
        free = [s for s in alone.suspicions if s.diagnosis.klass is Class.SPECIFICATION] if alone else []
        kind, diagnosis = accusation.kind, accusation.diagnosis
        if free:
            kind, diagnosis = free[0].kind, free[0].diagnosis
        return Suspicion(kind, diagnosis, case, self._targets, stage=Stage.BACKWARD, oracle=_oracle_of_gradient(case))

    def _update(self) -> Asking[list[Suspicion]]:
        """The first step alone: is it the optimizer's formula, on the gradients that each target has?"""
        model, case = self.model, self.seen.case
        assert model.graph is not None
        steps = case.procedure.steps or 1
        inputs, labels = (
            {name: array[: len(array) // steps] for name, array in arrays.items()}
            for arrays in (case.inputs, case.labels)
        )
        one = replace(case.procedure, goal=Goal.UPDATE, steps=None)
        step = Case(model.graph, one, inputs, labels, model.weights, seed=case.seed)
        (answer,) = yield [Check(step, self._targets)]
        done = {target: outcome for target, outcome in answer.outcomes.items() if outcome.completed}
        suspicion = by_optimizer(step, self._targets, done, self.seen.traits) if len(done) > 1 else None
        return [replace(suspicion, oracle=_STEP)] if suspicion else []


def _first_of_each(measured: Sequence[GradientErrors], families: Mapping[str, str]) -> list[Accusation]:
    """One accusation per layer type, class and suspects, in the order of the graph."""
    groups: dict[tuple[object, ...], Accusation] = {}
    for item in measured:
        accusation = accuse_gradients(item, families)
        if accusation is not None:
            diagnosis = accusation.diagnosis
            groups.setdefault((item.errors.node.op, diagnosis.klass, diagnosis.suspects), accusation)
    return list(groups.values())


def _oracle_of_gradient(case: Case) -> str:
    """A layer that stays in its file is judged by whoever reads its name and its weights there."""
    return IN_MODEL if isinstance(case.subject, ModelFile) else oracle_of(case)


def _gradient_case(model: Model, node: Node, batch: Case, activations: Mapping[str, Array]) -> Case:
    """The backward pass of one layer alone: its inputs, and the cotangent that is pulled back."""
    assert model.graph is not None
    given = node_inputs(model.graph, node, batch.inputs, activations)
    alone = one_layer_case(model, node, given, batch.seed)
    key = node.key if isinstance(alone.subject, ModelFile) else f"{node.layer}#0"
    rng = np.random.default_rng([batch.seed, 0xBAC])
    output = activations[node.key]
    return replace(
        alone,
        procedure=Procedure(goal=Goal.REPLAY, nodes=(key,), training=True),
        inputs={f"{key}/{index}": array for index, array in enumerate(given)},
        cotangents={key: np.asarray(rng.standard_normal(output.shape)).astype(output.dtype)},
    )
