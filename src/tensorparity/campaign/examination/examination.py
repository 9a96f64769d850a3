"""Examining one model: run it everywhere, compare pairs, look at the layers, say who is wrong."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence

from ...core.arrays import Arrays
from ...core.comparison import Comparison
from ...core.model import Model
from ...core.outcome import Outcome
from ...core.procedure import Procedure
from ...core.runner import Runner
from ...core.verdict import Judgement
from ...oracles.pair import compare_outcomes
from ..events import Listener, Progress, silent
from .endings import Endings
from .instances import cut, hardly_depends_on_inputs, merged, named_labels, slices_of
from .layers import Layers
from .setting import Examined, Rules, Setting
from .verdicts import Verdicts


class Examination:
    """One model on several targets; the arguments are those of ``Setting``."""

    def __init__(
        self,
        runner: Runner,
        model: Model,
        rules: Rules,
        *,
        arbiters: Sequence[str] = (),
        import_graph: Callable[[Model], Model] | None = None,
        listener: Listener = silent,
    ) -> None:
        self._at = Setting(runner, model, rules, arbiters, import_graph, listener)
        #: Per target, the inputs it failed on first.
        self._failed_on: dict[str, slice] = {}

    def run(self, inputs: Arrays, labels: Arrays, targets: Sequence[str]) -> Examined:
        found = Examined()
        with _Clock(found.phases, "extract"):
            found.outcomes = self._forward(inputs, targets, found)
        with _Clock(found.phases, "compare"):
            labels = named_labels(labels, found.outcomes)
            found.comparisons = self._compare(found.outcomes, labels)
        with _Clock(found.phases, "localize"):
            self._localize(found, inputs, labels)
        return found

    def _localize(self, found: Examined, inputs: Arrays, labels: Arrays) -> None:
        verdicts = Verdicts(self._at)
        if self._wants_layers(found) and Layers(self._at).look(found, inputs, labels):
            found.comparisons = [verdicts.decide(comparison, found) for comparison in found.comparisons]
        endings = Endings(self._at, verdicts, self._failed_on)
        endings.file_endings(found, inputs)
        endings.file_uncovered(found, inputs)

    @property
    def runner(self) -> Runner:
        return self._at.runner

    @property
    def model(self) -> Model:
        return self._at.model

    def with_graph(self, found: Examined) -> Model:
        """The model with its layers read, where they can be."""
        self._at.need_graph(found)
        return self._at.model

    def _forward(self, inputs: Arrays, targets: Sequence[str], found: Examined) -> dict[str, Outcome]:
        """Outputs of all instances; a target that fails on the first slice is not asked for the others."""
        if any(self._at.model.needs_graph(target) for target in targets):
            self._at.need_graph(found)
        slices = slices_of(inputs, self._at.rules.batch_size, self._at.model.batch)
        procedure = Procedure(batch_size=self._at.rules.batch_size)
        total, done = len(slices) * len(targets), itertools.count(1)
        self._at.tell(Progress("running", 0, total))

        def told(outcome: Outcome) -> None:
            self._at.tell(Progress("running", next(done), total, outcome.target))

        parts: dict[str, list[Outcome]] = {target: [] for target in targets}
        for group in ([slices[0]], slices[1:]):
            alive = [target for target in targets if all(part.completed for part in parts[target])]
            pairs = [
                (self._at.model.case(target, procedure, cut(inputs, piece), seed=self._at.rules.seed), target)
                for piece in group
                for target in alive
                if not self._at.model.needs_graph(target)
            ]
            for outcome in self._at.runner.run_pairs(pairs, on_outcome=told):
                if not outcome.completed:
                    self._failed_on.setdefault(outcome.target, slices[len(parts[outcome.target])])
                parts[outcome.target].append(outcome)
        return {target: merged(target, outcomes) for target, outcomes in parts.items()}

    def _compare(self, outcomes: Mapping[str, Outcome], labels: Arrays) -> list[Comparison]:
        rules = self._at.rules
        return [
            comparison
            for a, b in itertools.combinations(outcomes.values(), 2)
            for comparison in compare_outcomes(a, b, labels, rules.oracle, rules.pairs)
        ]

    def _wants_layers(self, found: Examined) -> bool:
        if self._at.rules.localize == "never" or not found.comparisons:
            return False
        different = [c for c in found.comparisons if c.instances and c.verdict.judgement is not Judgement.PASS]
        if different or self._at.rules.localize == "always":
            return True
        if hardly_depends_on_inputs(found.outcomes):
            found.notes.append("the outputs hardly depend on the inputs, so the layers were compared one by one")
            return True
        return False


class _Clock:
    """Seconds of a phase, added up."""

    def __init__(self, phases: dict[str, float], name: str) -> None:
        self._phases = phases
        self._name = name

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._phases[self._name] = self._phases.get(self._name, 0.0) + time.monotonic() - self._began
