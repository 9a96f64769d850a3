"""``compare --stress``: how far apart can two targets come on inputs like the user's?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..campaign.events import EngineEnded, Event, Listener
from ..campaign.loop import run_engines
from ..campaign.session import CampaignSession
from ..core.case import ModelFile
from ..core.engine import KeptCase
from ..core.errors import TensorParityError, UsageError
from ..core.finding import Finding
from ..core.graph import LayerGraph
from ..core.jsontext import Json
from ..core.model import Model
from ..core.oracle import Setup
from ..engines.audee.populations import runs_populations
from ..engines.audee.stress import STRESS, StressEngine, StressSettings
from ..generators.inputs.models import Data
from ..operators.catalogue import has_layer
from ..reporting.words import under_stress, weights_stay
from ..store.casefile import CaseFile
from ..targets.catalogue import traits_of
from ..targets.model_layers import read_model
from ..targets.runner import LocalRunner
from ..triage.examine import Examiner


@dataclass(frozen=True)
class Stressed:
    """What came of it.

    Args:
        pairs: one document each.
        notes: the same in words, and why something was not searched.
        findings: of the campaign, with those that only the search has shown.
    """

    pairs: tuple[Json, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass
class Stress:
    """One model under stress, in the campaign of a comparison.

    Args:
        opened: the session of the comparison: what is found is reduced and filed as there.
        seconds: what is left of the budget; None for as long as it takes.
        sections: by the name of an oracle, what the user sets.
    """

    runner: LocalRunner
    model: Model
    data: Data
    targets: Sequence[str]
    settings: StressSettings
    seed: int
    seconds: float | None = None
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _kept: list[KeptCase] = field(default_factory=list)

    def run(self, opened: CampaignSession, listener: Listener) -> Stressed:
        try:
            engine, notes = self._engine()
        except TensorParityError as error:
            return Stressed(notes=(f"not stressed: {error}",), findings=tuple(opened.findings.values()))
        setup = Setup(self.seed, tuple(self.targets), traits_of(self.targets))
        examiner = Examiner(self.runner, setup, settings=self.sections)
        session = replace(opened, examiner=examiner, emit=self._watch(listener), resumable=False)
        run_engines(session, [engine], seconds=self.seconds)
        where = self._keep(session)
        pairs = [{**pair, "case": where.get(row, "")} for row, pair in enumerate(engine.tables()[STRESS])]
        said = [under_stress(pair) for pair in pairs]
        return Stressed(tuple(pairs), (*notes, *said), tuple(session.findings.values()))

    def _engine(self) -> tuple[StressEngine, list[str]]:
        """The search; layers that nobody can read, or nobody knows, leave the file as it is."""
        subject, weights, notes = self._subject()
        traits = traits_of(self.targets)
        engine = StressEngine(
            subject, weights, self.data.inputs, self.targets, self.settings, traits, self.seed, self.model.batch
        )
        if engine.embedded:
            notes.append("stress: what the embeddings give is moved within its range, which no token may give")
        unable = [target for target in self.targets if not runs_populations(traits[target])]
        if self.settings.tolerance and isinstance(subject, ModelFile):
            notes.append("stress: only inputs are moved, for the weights of a file cannot be")
        elif self.settings.tolerance and unable:
            notes.append(weights_stay(unable))
        return engine, notes

    def _subject(self) -> tuple[LayerGraph | ModelFile, Any, list[str]]:
        model, problem = self.model, ""
        try:
            whole = model if model.graph is not None else read_model(self.runner, model, self.targets)
            assert whole.graph is not None
            unknown = next((node for node in whole.graph.nodes if not has_layer(node.op)), None)
            if unknown is None:
                return whole.graph, whole.weights, []
            problem = f"layer {unknown.layer} ({unknown.op}) is not in the catalogue"
        except TensorParityError as error:
            problem = str(error)
        if model.file is None:
            raise UsageError(problem)
        if model.batch not in (None, 1):
            raise UsageError(f"the file takes {model.batch} inputs at a time, no more and no less")
        return model.file, {}, [f"stress: the outputs of the file are looked at, for {problem}"]

    # What is kept

    def _watch(self, listener: Listener) -> Listener:
        def heard(event: Event) -> None:
            if isinstance(event, EngineEnded):
                self._kept = list(event.kept)
            listener(event)

        return heard

    def _keep(self, session: CampaignSession) -> dict[int, str]:
        """By row of the table, where the worst individual is in the store; nothing where there is none."""
        if session.store is None:
            return {}
        found = {}
        for one in self._kept:
            a_and_b = one.names[1:]
            versions = {
                name: dict(session.outcomes[name].record.versions) for name in a_and_b if name in session.outcomes
            }
            file = CaseFile(one.case, a_and_b, versions, note=one.note)
            name = re.sub(r"[^A-Za-z0-9_.]+", "-", "-".join(one.names))[:80]
            found[one.row] = session.store.keep_case(session.campaign, name, file)
        return found
