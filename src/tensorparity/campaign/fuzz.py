"""``fuzz``: generated networks, every stage of a training step compared on all targets."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from .. import __version__
from ..core.errors import UsageError
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.suspicion import Suspicion
from ..core.verdict import Stage
from ..engines.muffin import MuffinEngine
from ..generators.networks.coverage import Coverage, Use
from ..generators.networks.networks import Network, NetworkSettings
from ..generators.networks.palettes import DATA, PAPER
from ..operators.catalogue import has_layer, layer, layer_names
from ..operators.rounding import K
from ..reporting.facts import Facts
from ..store.database import Result, Store, open_store
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from .beside import BESIDE, Beside
from .distinct import Distinct
from .events import Listener, Progress, silent
from .filing import file_findings, make_finding, scripts_of, target_facts
from .fuzz_tally import FuzzTally
from .hunt import StopReason
from .line_coverage import line_coverage
from .reducing import Preparation, Prepared, ReducingSettings
from .rounds import Round, rounds_ahead
from .selection import families_of
from .stages import STAGES, StepExaminer
from .stepped import Stepped
from .voted_layers import VotedRun, VotedShelf
from .witnesses import witnesses_for

#: Convictions wait for each other, because fresh workers are dear; but not for longer than this many models.
_CONFIRM_EVERY = 200
#: So many are reduced and filed at a time: Ctrl-C costs those their scripts.
_PIECE = 16


@dataclass(frozen=True)
class FuzzSettings:
    """What ``fuzz`` is told.

    Args:
        budget: seconds; ``models`` is a count instead.
        stages: of the training step; the earlier ones are always run.
        networks: what the networks are made of.
        beside: what is run beside the networks, with what must be refused: see ``beside.BESIDE``.
        reducing: how much work goes into reducing what is found; None files it as it is.
    """

    targets: Sequence[str]
    seed: int = 0
    budget: float = 300.0
    models: int | None = None
    stages: Sequence[Stage] = STAGES
    oracle: str = "parity"
    networks: NetworkSettings = field(default_factory=NetworkSettings)
    beside: Sequence[str] = ()
    store: str | Path = "tensorparity-out"
    folder: Path | None = None
    reducing: ReducingSettings | None = None
    runner: RunnerSettings = field(default_factory=RunnerSettings)

    @property
    def engine_settings(self) -> NetworkSettings:
        return replace(self.networks, goal=goal_of(self.stages))

    def identity(self, runner: LocalRunner) -> dict[str, Json]:
        """All that, with the seed, says which networks are run by whom and how they are judged; a budget only cuts."""
        circumstances = "\n".join(runner.desk(target).circumstances for target in self.targets)
        networks = self.networks
        return {
            "tensorparity": __version__,
            "circumstances": hashlib.sha256(circumstances.encode()).hexdigest(),
            "targets": list(self.targets),
            "oracle": self.oracle,
            "stages": [stage.value for stage in self.stages],
            "unit": networks.unit,
            "layers": list(networks.layers),
            "data": list(networks.data),
            **({"policies": list(networks.policies)} if networks.policies else {}),
            "steered": networks.steered,
            "varied": networks.varied,
            "cells": networks.max_cells,
            "vertices": networks.max_vertices,
            "training": networks.training,
            "faults": {target: [fault.name, fault.digest] for target, fault in self.runner.faults.items()},
            **({"beside": list(self.beside)} if self.beside else {}),
        }


def goal_of(stages: Sequence[Stage]) -> Goal:
    """How far a network has to be run for these stages."""
    if Stage.UPDATE in stages:
        return Goal.UPDATE
    return Goal.GRADIENTS if {Stage.LOSS, Stage.BACKWARD} & set(stages) else Goal.FORWARD


def read_layers(text: str) -> tuple[str, ...]:
    """A comma-separated list of layers.

    Raises:
        UsageError: if the catalogue does not have one.
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if not has_layer(name):
            near = get_close_matches(name, layer_names(), n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "see docs/catalogue.md"
            raise UsageError(f"unknown layer {name!r}; {hint}")
    return names


def read_stages(text: str) -> tuple[Stage, ...]:
    """A comma-separated list of stages; building is always one of them.

    Raises:
        UsageError: for a stage that a training step does not have.
    """
    known = {stage.value: stage for stage in STAGES}
    names = [name for name in _words(text) if name not in BESIDE]
    for name in names:
        if name not in known:
            raise UsageError(f"unknown stage {name!r}; known are {', '.join((*known, *BESIDE))}")
    return tuple(dict.fromkeys([Stage.BUILD, *(known[name] for name in names)]))


def read_beside(text: str) -> tuple[str, ...]:
    """Those of a list of stages that are no stage of a training step."""
    return tuple(name for name in BESIDE if name in _words(text))


def _words(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def read_data(text: str) -> tuple[str, ...]:
    """A comma-separated list of data sets; ``paper`` is all six of the paper's.

    Raises:
        UsageError: for an unknown one.
    """
    names: list[str] = []
    for name in (part.strip() for part in text.split(",") if part.strip()):
        if name != "paper" and name not in DATA:
            raise UsageError(f"unknown data set {name!r}; known are {', '.join(DATA)} and paper")
        names += PAPER if name == "paper" else [name]
    return tuple(dict.fromkeys(names))


class Fuzz:
    """One run."""

    def __init__(self, settings: FuzzSettings, runner: LocalRunner, store: Store, listener: Listener) -> None:
        self._settings = settings
        self._runner = runner
        self._store = store
        self._tell = listener
        self._engine = MuffinEngine(settings.seed, settings.engine_settings)
        #: What was really run: networks are made ahead, and some run nowhere.
        self._covered = Coverage(settings.engine_settings.names(), policies=settings.engine_settings.policy_names())
        self._examiner = StepExaminer(
            runner,
            settings.targets,
            families_of(settings.targets),
            oracle=settings.oracle,
            stages=settings.stages,
            witnesses=[name for name in runner.targets if name not in settings.targets],
        )
        self._campaign = store.begin_campaign("fuzz", settings.seed, settings.identity(runner))
        self._outcomes: dict[str, Outcome] = {}
        self._index = 0
        self._unconfirmed = 0
        self._made = 0
        self._began = self._judged = time.monotonic()
        self._round_seconds = 0.0
        #: The time of all rounds, without confirming and reducing.
        self._running = 0.0
        self.tally = FuzzTally(settings.targets)
        #: Confirmed and not filed yet: Ctrl-C may come in between.
        self._confirmed: list[Suspicion] = []
        self.findings: dict[str, Finding] = {}
        self.scripts: dict[str, str] = {}
        self._beside = Beside(runner, settings.targets, settings.seed, settings.beside, settings.networks.layers)
        self._preparation = Preparation(runner, runner, settings.reducing, listener)
        self.occurrences: Counter[str] = Counter()
        self.distinct = Distinct()
        self.stop = StopReason.CASES
        self._lines: dict[str, Json] = {}

    def run(self) -> None:
        """Until the count or the budget is reached; Ctrl-C ends the run, not the report.

        After it, what was convicted is still confirmed, but not reduced; a second Ctrl-C leaves that out, too.
        """
        try:
            for item in rounds_ahead(self._runner, self._examiner, self._proposed, self._beside):
                self._round(item)
            if self._settings.runner.lines:
                self._tell(Progress("counting executed lines", self._index, self._settings.models))
                self._lines = line_coverage(self._runner, self._settings.targets)
            self._confirm()
        except KeyboardInterrupt:
            self.stop = StopReason.INTERRUPTED
            self._preparation.stop_reducing()
            with contextlib.suppress(KeyboardInterrupt):
                self._confirm()
        self._store.finish_campaign(self._campaign, self.stop.value)

    def _proposed(self, flying: int) -> list[Network]:
        """The next networks; none when as many are made as were asked for, or those under way fill the budget."""
        if self._settings.models is not None:
            left = self._settings.models - self._made
            return self._count_made(self._engine.networks()[:left]) if left > 0 else []
        spent = time.monotonic() - self._began
        if flying and not self._round_seconds:  # nobody knows yet how long a round takes
            return []
        if spent + flying * self._round_seconds >= self._settings.budget:
            self.stop = StopReason.BUDGET
            return []
        return self._count_made(self._engine.networks())

    def _count_made(self, networks: list[Network]) -> list[Network]:
        self._made += len(networks)
        return networks

    def _round(self, item: Round) -> None:
        steps = self._examiner.judge([network.case for network in item.networks], item.outcomes)
        item.singles.judge(item.beside)
        self._round_seconds = time.monotonic() - self._judged
        alone = sum(outcome.cpu_seconds for outcome in item.beside)
        for network, step, share in zip(item.networks, steps, _shares(steps, alone), strict=True):
            self._outcomes.update({t: o for t, o in step.outcomes.items() if o.completed or t not in self._outcomes})
            self._covered.add(_exercised(network, step))
            if any(outcome.completed for outcome in step.outcomes.values()):
                self._covered.use_network(network.case)
            self.tally.add(step, network.data, len(network.layers), share * self._round_seconds)
            self._record(step)
        if self._unconfirmed >= _CONFIRM_EVERY:
            self._confirm()
        self._judged = time.monotonic()
        self._running += self._round_seconds
        self._progress()

    def _record(self, step: Stepped) -> None:
        statuses = {target: outcome.status for target, outcome in step.outcomes.items()}
        result = Result(self._engine.name, self._index, step.case.digest, tuple(step.verdicts), statuses)
        self._store.record_result(self._campaign, result)
        for known in step.known:
            self.occurrences["/".join(known.place[:3])] += 1
        self._index += 1
        self._unconfirmed += 1

    def _confirm(self) -> None:
        self._unconfirmed = 0
        self._tell(Progress("confirming in fresh processes", self._index, self._settings.models))
        self._confirmed += self._examiner.confirm()  # one after the other: Ctrl-C may come in between
        for seen_again in self._beside.confirm():
            self._confirmed += seen_again
        while self._confirmed:
            piece = self._confirmed[:_PIECE]
            new = [s for s in piece if not self._is_filed(self._finding(s, s).id)]
            self._file(self._preparation.reduce(new))
            del self._confirmed[:_PIECE]
        self._file(self._preparation.met())

    def _is_filed(self, identity: str) -> bool:
        return identity in self.findings or self.distinct.is_merged(identity)

    def _file(self, prepared: Sequence[Prepared]) -> None:
        """Keep what is new."""
        found = self.distinct.of([(self._finding(item.suspicion, item.original), item) for item in prepared])
        filed = file_findings(self._store, self._campaign, found, self._settings.runner.faults)
        self.scripts = scripts_of(filed, [item for _, item in found]) | self.scripts
        for finding in filed:
            self.findings.setdefault(finding.id, finding)

    def _finding(self, suspicion: Suspicion, original: Suspicion) -> Finding:
        """A layer is one defect, whatever network it was found in."""
        subject = original.diagnosis.api or original.case.digest
        return make_finding(suspicion, self._engine.name, self._outcomes, subject, original)

    def _progress(self) -> None:
        spent = time.monotonic() - self._began
        covered = self._covered.to_json()
        rate = 60.0 * self._index / spent if spent else 0.0
        detail = [f"{rate:.0f} models/min"]
        detail += [f"{covered[what]['used']} of {covered[what]['declared']} {what}" for what in ("layers", "values")]
        detail.append(f"{len(self.findings)} findings, {self._examiner.waiting} suspected")
        self._tell(Progress("fuzz", self._index, self._settings.models, ", ".join(detail)))

    @property
    def voted(self) -> VotedRun:
        """What the paper's vote says, for the run the other way."""
        settings = self._settings
        planted = {target: fault.digest for target, fault in settings.runner.faults.items()}
        voted = self.tally.tables()["voted"]
        return VotedRun(
            settings.networks.unit,
            tuple(settings.targets),
            self._index,
            settings.seed,
            voted,
            planted,
            made_of=settings.networks.scope(),
            stages=tuple(stage.value for stage in settings.stages),
        )

    def facts(self, seconds: float, other: VotedRun | None) -> Facts:
        """What the run found.

        Args:
            other: the run the other way, with or without ``--unit``, if there was one.
        """
        settings, tally = self._settings, self.tally
        stats: dict[str, Json] = {
            "cases": tally.models,
            "seconds": seconds,
            "undecided": tally.undecided,
            "unsupported": tally.unsupported,
            "per_engine": {
                self._engine.name: {
                    "cases": tally.models,
                    "seconds": seconds,
                    "undecided": tally.undecided,
                    "unsupported": tally.unsupported,
                    "findings": len(self.findings),
                }
            },
            "stop_reason": self.stop.value,
            "models_per_minute": 60.0 * tally.models / self._running if self._running else 0.0,
            **tally.stats(),
            "coverage": self._covered.to_json(),
            "tables": {**tally.tables(), **_held_against(self.voted, other)},
            "samples": dict(self._engine.samples),
            **({"line_coverage": {"package": settings.runner.lines, **self._lines}} if self._lines else {}),
            "again": dict(self.occurrences + self.distinct.again),
            **self._beside.counts(),
            "set_aside": self._beside.set_aside(),
        }
        return Facts(
            command="fuzz",
            seed=settings.seed,
            targets=target_facts(self._runner, settings.targets, self._outcomes),
            stats=stats,
            findings=tuple(self.findings.values()),
            scripts=self.scripts,
            notes=(
                f"ended because {self.stop.value}" if self.stop is not StopReason.INTERRUPTED else "interrupted",
                *(f"fault {fault.name} is planted in {target}" for target, fault in settings.runner.faults.items()),
            ),
            isolated_threshold=K,
            undecided=dict(tally.reasons),
            unsupported=dict(tally.lacks),
        )


def _exercised(network: Network, step: Stepped) -> list[Use]:
    """What of a network was run: all of it, or, where every target failed, the layer that they failed of."""
    if any(outcome.completed for outcome in step.outcomes.values()):
        return list(network.uses)
    guilty = {suspicion.diagnosis.api for suspicion in step.convicted} | {known.api for known in step.known}
    return [use for use in network.uses if layer(use.layer).api in guilty]


def _shares(steps: Sequence[Stepped], alone: float) -> list[float]:
    """Of the time of a round, by what the networks cost the libraries: they are run side by side.

    Args:
        alone: what single cases beside them did.
    """
    costs = [sum(outcome.cpu_seconds for outcome in step.outcomes.values()) for step in steps]
    total = sum(costs) + alone
    return [cost / total if total else 1.0 / len(steps) for cost in costs]


def _held_against(run: VotedRun, other: VotedRun | None) -> dict[str, Json]:
    if other is None:
        return {"only_here": None, "against": None}
    against = {"unit": other.unit, "models": other.models, "seed": other.seed}
    return {"only_here": run.only_here(other), "against": against}


@dataclass(frozen=True)
class Fuzzed:
    facts: Facts
    broken: bool
    store: Path


def fuzz(settings: FuzzSettings, listener: Listener = silent) -> Fuzzed:
    """Run to the end and return what was found.

    Raises:
        UsageError: for unknown targets, layers, stages or data sets.
        StoreError: if the store cannot be written.
    """
    began = time.monotonic()
    workers = settings.runner.workers or len(settings.targets)
    witnesses = witnesses_for(settings.targets)
    with (
        open_store(settings.store, folder=settings.folder) as store,
        open_runner([*settings.targets, *witnesses], replace(settings.runner, workers=workers)) as runner,
    ):
        campaign = Fuzz(settings, runner, store, listener)
        campaign.run()
        shelf = VotedShelf(store.folder)
        facts = campaign.facts(time.monotonic() - began, shelf.other(campaign.voted))
        shelf.keep(campaign.voted)
        broken = any(target in settings.targets for target in runner.broken)
        return Fuzzed(facts, broken, store.folder)
