"""``fuzz``: generated networks, every stage of a training step compared on all targets."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from .. import __version__
from ..campaign.budget import StopReason
from ..campaign.events import CaseDone, Event, Listener, Progress, silent, to_all
from ..campaign.explained import defects_in_figures
from ..campaign.filing import target_facts
from ..campaign.sections import Sections
from ..campaign.session import CampaignSession, open_campaign
from ..campaign.settings_trial import run_and_try_settings
from ..campaign.tally import CampaignTally, EngineTally
from ..core.errors import UsageError
from ..core.jsontext import Json
from ..core.near_misses import meant
from ..core.oracle import Setup
from ..core.procedure import Goal
from ..core.verdict import Stage
from ..engines.muffin.engine import PROTOCOLS, MuffinEngine
from ..generators.networks.networks import NetworkSettings
from ..generators.networks.palettes import DATA, PAPER
from ..generators.single_cases.streams import STREAMS
from ..operators.catalogue import has_layer, layer_names
from ..operators.reference.rounding import K
from ..oracles.kinds import TRAINING_STEPS, of_role
from ..reporting import words
from ..reporting.facts import Facts
from ..store.database import Store, open_store
from ..targets.catalogue import traits_of
from ..targets.line_coverage import line_coverage
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from ..targets.selection import functions_below, witnesses_for
from ..triage.examine import Examiner
from ..triage.reduction.preparation import Preparation, ReducingSettings
from .texts import with_texts
from .voted_layers import VotedRun, VotedShelf

#: The technique of this command.
_ENGINE = MuffinEngine.name
#: How far a target has to come for a stage of a training step.
_NEEDED = {
    Stage.LOSS: (Goal.GRADIENTS, Goal.UPDATE),
    Stage.BACKWARD: (Goal.GRADIENTS, Goal.UPDATE),
    Stage.UPDATE: (Goal.UPDATE,),
}
STAGES = (Stage.BUILD, Stage.FORWARD, Stage.LOSS, Stage.BACKWARD, Stage.UPDATE)


@dataclass(frozen=True)
class FuzzSettings:
    """What ``fuzz`` is told.

    Args:
        budget: seconds; ``models`` is a count instead.
        stages: of the training step; the earlier ones are always run.
        oracle: who decides instead of the default.
        networks: what the networks are made of.
        single_cases: kinds of cases that are run beside the networks, with what must be refused.
        reducing: how much work goes into reducing what is found; None files it as it is.
        resume: go on with the last run of the same seed, settings and versions in the store.
        only_alone: targets that run no networks, but the single cases beside them.
        protocol: the engine's, ``paper`` or none: of ``networks`` then counts what a user may choose in it.
        rule: ``t`` and ``epsilon`` of the paper's rule, where they are not the paper's.
    """

    targets: Sequence[str]
    seed: int = 0
    budget: float = 300.0
    models: int | None = None
    protocol: str = ""
    rule: Mapping[str, float] = field(default_factory=dict)
    stages: Sequence[Stage] = STAGES
    oracle: str = ""
    networks: NetworkSettings = field(default_factory=NetworkSettings)
    single_cases: Sequence[str] = ()
    only_alone: Sequence[str] = ()
    store: str | Path = "tensorparity-out"
    folder: Path | None = None
    reducing: ReducingSettings | None = None
    resume: bool = False
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    sections: Sections = field(default_factory=Sections)

    def identity(self, runner: LocalRunner) -> dict[str, Json]:
        """All that, with the seed, says which networks are run by whom and how they are judged; a budget only cuts."""
        circumstances = "\n".join(runner.desk(target).circumstances for target in self.targets)
        networks, sections = self.networks, self.sections.to_json()
        return {
            "tensorparity": __version__,
            "circumstances": hashlib.sha256(circumstances.encode()).hexdigest(),
            "targets": list(self.targets),
            "oracle": self.oracle or "parity",
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
            **({"beside": list(self.single_cases)} if self.single_cases else {}),
            **({"alone": list(self.only_alone)} if self.only_alone else {}),
            **({"protocol": self.protocol} if self.protocol else {}),
            **({"rule": dict(self.rule)} if self.rule else {}),
            **({"settings": sections} if sections else {}),
        }

    def engine(self) -> dict[str, Json]:
        """What the engine is told; the configuration and ``--set`` have the last word."""
        networks = self.networks
        if self.protocol:
            return {**self._in_protocol(), **self.sections.engine(_ENGINE)}
        told = {
            "layers": networks.layers,
            "data": networks.data,
            "policies": networks.policies,
            "unit": networks.unit,
            "steered": networks.steered,
            "varied": networks.varied,
            "max_cells": networks.max_cells,
            "max_vertices": networks.max_vertices,
            "training": networks.training,
            "stages": self._stages(),
            "single_cases": tuple(self.single_cases),
            "only_trainable": False,
            "only_alone": tuple(self.only_alone),
        }
        return {**told, **self.sections.engine(_ENGINE)}

    def _in_protocol(self) -> dict[str, Json]:
        """What may be chosen within a protocol: the layers, one of its data sets, units, and the sizes of networks."""
        networks = self.networks
        told: dict[str, Json] = {
            "protocol": self.protocol,
            "layers": networks.layers,
            "unit": networks.unit,
            "max_cells": networks.max_cells,
            "max_vertices": networks.max_vertices,
        }
        return {**told, "data": networks.data} if networks.data else told

    def oracles(self) -> dict[str, Mapping[str, object]]:
        """What the oracles are told; of a protocol, the engine knows the stages."""
        stages = self._stages()
        own: dict[str, Mapping[str, object]] = {
            name: {"stages": stages, **self.rule} for name in of_role(TRAINING_STEPS)
        }
        given = self.sections.oracles
        return {name: {**own.get(name, {}), **given.get(name, {})} for name in {*own, *given}}

    def _stages(self) -> tuple[str, ...]:
        chosen = PROTOCOLS[self.protocol].get("stages")
        return tuple(chosen) if chosen else tuple(stage.value for stage in self.stages)


def read_layers(text: str) -> tuple[str, ...]:
    """A comma-separated list of layers.

    Raises:
        UsageError: if the catalogue does not have one.
    """
    names = tuple(_words(text))
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
    names = [name for name in _words(text) if name not in STREAMS]
    for name in names:
        if name not in known:
            near = get_close_matches(name, [*known, *STREAMS], n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise UsageError(f"unknown stage {name!r}{hint}; known are {', '.join((*known, *STREAMS))}")
    return tuple(dict.fromkeys([Stage.BUILD, *(known[name] for name in names)]))


def read_single_cases(text: str) -> tuple[str, ...]:
    """Those of a list of stages that are no stage of a training step, but kinds of single cases."""
    return tuple(name for name in STREAMS if name in _words(text))


def _words(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def read_data(text: str) -> tuple[str, ...]:
    """A comma-separated list of data sets; ``paper`` is all six of the paper's.

    Raises:
        UsageError: for an unknown one.
    """
    names: list[str] = []
    for name in _words(text):
        if name != "paper" and name not in DATA:
            raise UsageError(f"unknown data set {name!r}{meant(name, DATA)}; known are {', '.join(DATA)} and paper")
        names += PAPER if name == "paper" else [name]
    return tuple(dict.fromkeys(names))


@dataclass
class Costs:
    """A handler of events that adds up what cases cost the libraries.

    Args:
        total: CPU seconds of all cases.
        parts: those of each part of the engine's experiment.
        targets: CPU seconds of cases that count, by target.
    """

    total: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    targets: dict[str, float] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        if not isinstance(event, CaseDone):
            return
        seconds = sum(outcome.cpu_seconds for outcome in event.outcomes.values())
        self.total += seconds
        self.parts[event.part] = self.parts.get(event.part, 0.0) + seconds
        for target, outcome in event.outcomes.items() if event.counted else ():
            self.targets[target] = self.targets.get(target, 0.0) + outcome.cpu_seconds

    def seconds_by_part(self, seconds: float) -> dict[str, float]:
        """The time of a run by the parts of its experiment, by what their cases cost: they are run side by side."""
        named = {part: cost for part, cost in sorted(self.parts.items()) if part and cost}
        return {part: round(seconds * cost / self.total, 3) for part, cost in named.items()}


class Fuzz:
    """One run."""

    def __init__(
        self,
        settings: FuzzSettings,
        runner: LocalRunner,
        store: Store,
        listener: Listener = silent,
        began: float | None = None,
    ) -> None:
        self._settings = settings
        self._runner = runner
        self._store = store
        self._tell = listener
        self.tally, self.costs = CampaignTally(), Costs()
        targets = tuple(settings.targets)
        setup = Setup(settings.seed, targets, traits_of(runner.targets), settings.engine())
        self._engine = MuffinEngine(setup)
        examiner = Examiner(runner, setup, oracle=settings.oracle, settings=settings.oracles())
        self._campaign, self._notes = open_campaign(
            store, "fuzz", settings.seed, settings.identity(runner), resume=settings.resume
        )
        preparation = Preparation(runner, examiner, settings.reducing, listener, settings.runner.time_limit)
        emit = to_all([self.tally, self.costs, self._watch])
        faults = settings.runner.faults
        self.session = CampaignSession(examiner, preparation, emit, store, self._campaign, faults, local=runner)
        self.stop = StopReason.CASES
        self._lines: dict[str, Json] = {}
        self._began = time.monotonic() if began is None else began

    def _watch(self, event: Event) -> None:
        """Pass an event on; how far the run has come is said with its speed."""
        if isinstance(event, Progress) and event.phase == self._engine.name:
            spent = time.monotonic() - self._began
            speed = f"{60.0 * event.done / spent if spent else 0.0:.0f} models/min"
            event = replace(event, phase="fuzz", detail=f"{speed}, {event.detail}")
        self._tell(event)

    def run(self) -> None:
        """Until the count or the budget is reached; Ctrl-C ends the run, not the report."""
        settings = self._settings
        seconds = None if settings.models is not None else settings.budget
        self.stop = run_and_try_settings(
            self.session,
            [self._engine],
            self._tell,
            settings.reducing,
            seconds=seconds,
            cases=settings.models,
            began=self._began,
        )
        if settings.runner.lines and self.stop is not StopReason.INTERRUPTED:
            self._count_lines()
        self._store.finish_campaign(self._campaign, self.stop.value)

    def _count_lines(self) -> None:
        self._tell(Progress("counting executed lines", self._own.cases, self._settings.models))
        try:
            self._lines = line_coverage(self._runner, self._settings.targets)
        except KeyboardInterrupt:
            self.stop = StopReason.INTERRUPTED

    @property
    def unreached(self) -> list[str]:
        """Stages that were asked for and that no target comes to."""
        traits = traits_of(self._settings.targets)
        reached = {traits[target].max_goal for target in self._settings.targets}
        reached |= {Goal.UPDATE for target in self._settings.targets if traits[target].optimizers}
        return [
            stage.value for stage in self._settings.stages if stage in _NEEDED and not reached & set(_NEEDED[stage])
        ]

    @property
    def voted(self) -> VotedRun:
        """What the paper's vote says, for the run the other way."""
        settings = self._settings
        planted = {target: fault.digest for target, fault in settings.runner.faults.items()}
        return VotedRun(
            settings.networks.unit,
            tuple(settings.targets),
            self._own.cases,
            settings.seed,
            self._own.tables["tables"]["voted"],
            planted,
            made_of=settings.networks.scope(),
            stages=tuple(stage.value for stage in settings.stages),
        )

    @property
    def _own(self) -> EngineTally:
        return self.tally.engines.get(_ENGINE, EngineTally())

    def facts(self, seconds: float, other: VotedRun | None = None) -> Facts:
        """What the run found.

        Args:
            other: the run the other way, with or without ``--unit``, if there was one.
        """
        settings, tally, own = self._settings, self.tally, self._own
        printed = {name: value for name, value in own.tables.items() if name != "undecided_reasons"}
        seconds_by_data = self.costs.seconds_by_part(own.running)
        tables = {**printed.pop("tables"), "seconds": seconds_by_data}
        stats: dict[str, Json] = {
            **printed,
            **tally.stats(seconds),
            "unsupported": own.unsupported,
            "stop_reason": self.stop.value,
            "models_per_minute": 60.0 * own.cases / own.running if own.running else 0.0,
            "cpu_seconds": {target: round(cost, 3) for target, cost in self.costs.targets.items()},
            "tables": {**tables, **_held_against(self.voted, other)},
            **({"line_coverage": {"package": settings.runner.lines, **self._lines}} if self._lines else {}),
            **defects_in_figures(self.session),
            "again": dict(tally.again + self.session.distinct.again),
            "set_aside": {
                "undecided": dict(tally.set_aside.most_common()),
                "classes": dict(self.session.blameless.most_common()),
            },
        }
        return Facts(
            command="fuzz",
            seed=settings.seed,
            targets=target_facts(self._runner, settings.targets, self.session.outcomes),
            stats=stats,
            findings=tuple(self.session.findings.values()),
            scripts=tally.scripts,
            notes=(
                f"ended because {self.stop.value}" if self.stop is not StopReason.INTERRUPTED else "interrupted",
                *self.session.open_questions(),
                *([words.never_ran(unreached, settings.targets)] if (unreached := self.unreached) else []),
                *self._notes,
            ),
            isolated_threshold=K,
            interrupted=self.stop is StopReason.INTERRUPTED,
            planted={target: fault.name for target, fault in settings.runner.faults.items()},
            suspected=self.session.suspected(),
            undecided=dict(tally.undecided),
            unsupported=printed.get("unsupported_reasons", {}),
        )


def _held_against(run: VotedRun, other: VotedRun | None) -> dict[str, Json]:
    if other is None:
        return {"only_here": None, "against": None}
    against = {"unit": other.unit, "models": other.models, "seed": other.seed}
    return {"only_here": run.only_here(other), "against": against}


@dataclass(frozen=True)
class Fuzzed:
    """What was found; ``broken`` where a target that was asked for could not be started.

    Args:
        unreached: stages that no target comes to.
    """

    facts: Facts
    broken: bool
    store: Path
    unreached: tuple[str, ...] = ()


def fuzz(settings: FuzzSettings, listener: Listener = silent) -> Fuzzed:
    """Run to the end and return what was found.

    Raises:
        UsageError: for unknown targets, layers, stages or data sets.
        StoreError: if the store cannot be written.
    """
    began = time.monotonic()
    workers = settings.runner.workers or len(settings.targets)
    witnesses, below = witnesses_for(settings.targets), functions_below(settings.targets)
    everybody = list(dict.fromkeys([*settings.targets, *witnesses, *below]))
    with (
        open_store(settings.store, folder=settings.folder) as store,
        open_runner(everybody, replace(settings.runner, workers=workers)) as runner,
    ):
        campaign = Fuzz(settings, runner, store, listener, began)
        campaign.run()
        shelf = VotedShelf(store.folder)
        facts = campaign.facts(time.monotonic() - began, shelf.other(campaign.voted))
        shelf.keep(campaign.voted)
        broken = any(target in settings.targets for target in runner.broken)
        return Fuzzed(with_texts(facts, store), broken, store.folder, tuple(campaign.unreached))
