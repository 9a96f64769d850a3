"""``hunt``: the engines one after another, under one budget, against the installed targets."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import __version__
from ..campaign.budget import StopReason
from ..campaign.events import Listener, silent, to_all
from ..campaign.explained import defects_in_figures
from ..campaign.filing import target_facts
from ..campaign.sections import Sections
from ..campaign.session import CampaignSession, open_campaign
from ..campaign.settings_trial import run_and_try_settings
from ..campaign.tally import CampaignTally
from ..core.engine import Engine, calls_functions
from ..core.jsontext import Json
from ..core.oracle import Setup
from ..engines.base import ENGINES
from ..generators.single_cases.streams import STREAMS
from ..operators.reference.rounding import K
from ..oracles.kinds import DEFAULT_ORACLE, check_choice
from ..reporting.facts import Facts
from ..store.database import Store, open_store
from ..targets.catalogue import traits_of
from ..targets.runner import LocalRunner, RunnerSettings, open_runner, with_cache
from ..targets.selection import functions_below, witnesses_for
from ..triage.examine import Examiner
from ..triage.reduction.preparation import Preparation, ReducingSettings
from .chosen_oracle import notes_on_oracle
from .texts import with_texts


@dataclass(frozen=True)
class HuntSettings:
    """What ``hunt`` is told.

    Args:
        budget: seconds for all engines together.
        command: what the user ran: one engine alone is a command of its own.
        cases: exactly so many cases per engine instead of a budget.
        resume: go on with the last hunt of the same seed, settings and versions in the store.
        folder: where case files go if the store is a URL.
        reducing: how much work goes into reducing what is found; None files it as it is.
        oracle: who decides instead of the default, wherever it can.
        sections: settings of engines and oracles.
        libraries: targets besides, for engines whose subject is the libraries' own functions.
    """

    targets: Sequence[str]
    libraries: Sequence[str] = ()
    engines: Sequence[str] = ()
    command: str = "hunt"
    seed: int = 0
    budget: float = 300.0
    cases: int | None = None
    oracle: str = ""
    store: str | Path = "tensorparity-out"
    folder: Path | None = None
    resume: bool = False
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    reducing: ReducingSettings | None = None
    sections: Sections = field(default_factory=Sections)

    def identity(self, runner: LocalRunner) -> dict[str, Json]:
        """What must be equal for one hunt to be the continuation of another; a budget only cuts."""
        circumstances = "\n".join(runner.desk(target).circumstances for target in self.targets)
        sections = self.sections.to_json()
        return {
            "tensorparity": __version__,
            "circumstances": hashlib.sha256(circumstances.encode()).hexdigest(),
            "targets": list(self.targets),
            **({"libraries": list(self.libraries)} if self.libraries else {}),
            "oracle": self.oracle or DEFAULT_ORACLE,
            "faults": {target: [fault.name, fault.digest] for target, fault in self.runner.faults.items()},
            **({"settings": sections} if sections else {}),
        }


@dataclass(frozen=True)
class Hunted:
    """What was found; ``broken`` where a target that was asked for could not be started."""

    facts: Facts
    broken: bool
    store: Path


class Hunt:
    """One campaign over several engines."""

    def __init__(
        self,
        settings: HuntSettings,
        runner: LocalRunner,
        store: Store,
        listener: Listener = silent,
        began: float | None = None,
    ) -> None:
        self._settings = settings
        self._began = time.monotonic() if began is None else began
        self._runner = runner
        self._tell = listener
        self.tally = CampaignTally()
        emit = to_all([self.tally, listener])
        setup = Setup(settings.seed, tuple(settings.targets), traits_of(runner.targets))
        examiner = Examiner(
            with_cache(runner, settings.runner), setup, oracle=settings.oracle, settings=settings.sections.oracles
        )
        self.campaign, self._notes = open_campaign(
            store, settings.command, settings.seed, settings.identity(runner), resume=settings.resume
        )
        preparation = Preparation(runner, examiner, settings.reducing, listener, settings.runner.time_limit)
        self.session = CampaignSession(
            examiner, preparation, emit, store, self.campaign, settings.runner.faults, local=runner
        )
        self._setup = setup
        self.stop = StopReason.CASES

    def run(self) -> None:
        """Run every engine for its share of the budget; Ctrl-C ends the hunt, not the report."""
        settings = self._settings
        seconds = None if settings.cases is not None else settings.budget
        engines = [self._engine(name) for name in settings.engines or ENGINES.names()]
        self.stop = run_and_try_settings(
            self.session,
            engines,
            self._tell,
            settings.reducing,
            seconds=seconds,
            cases=settings.cases,
            began=self._began,
        )
        assert self.session.store is not None
        self.session.store.finish_campaign(self.campaign, self.stop.value)

    def _engine(self, name: str) -> Engine:
        factory, settings = ENGINES.get(name), self._settings
        besides = settings.libraries if calls_functions(factory) else ()
        targets = (*settings.targets, *besides)
        setup = replace(self._setup, targets=targets, settings=settings.sections.engine(name))
        engine: Engine = ENGINES.make(name, setup)
        return engine

    def facts(self, seconds: float) -> Facts:
        settings, tally = self._settings, self.tally
        tables = {name: dict(own.tables) for name, own in tally.engines.items() if own.tables}
        return Facts(
            command=settings.command,
            seed=settings.seed,
            targets=target_facts(self._runner, [*settings.targets, *settings.libraries], self.session.outcomes),
            stats={
                **tally.stats(seconds),
                "stop_reason": self.stop.value,
                **defects_in_figures(self.session),
                **self._single_cases(),
                "worker_seconds": {name: round(spent, 3) for name, spent in self._runner.cpu_seconds.items()},
                **({"packing": packing} if (packing := self._runner.packing.to_json())["packs"] else {}),
                "engine_tables": tables,
            },
            findings=tuple(self.session.findings.values()),
            notes=(
                f"ended because {self.stop.value}" if self.stop is not StopReason.INTERRUPTED else "interrupted",
                *tally.failures,
                *self._notes,
                *notes_on_oracle(settings.oracle, tally.judges, DEFAULT_ORACLE),
                *self.session.open_questions(),
            ),
            isolated_threshold=K,
            interrupted=self.stop is StopReason.INTERRUPTED,
            planted={target: fault.name for target, fault in settings.runner.faults.items()},
            suspected=self.session.suspected(),
            undecided=tally.undecided,
            unsupported=tally.unsupported,
            scripts=tally.scripts,
            engine_tables={name: own for name, own in tables.items() if not ENGINES.is_ours(name)},
        )

    def _single_cases(self) -> dict[str, Json]:
        """How many single cases of each kind the engines had run beside their own."""
        ours = [own.tables for name, own in self.tally.engines.items() if ENGINES.is_ours(name)]
        names = [stream.counted_as for stream in STREAMS.values()]
        return {name: sum(tables.get(name, 0) for tables in ours) for name in names}


def _everybody(settings: HuntSettings) -> list[str]:
    """Whoever may be asked for something; a library may be a witness as well."""
    others = [*witnesses_for(settings.targets), *functions_below(settings.targets)]
    return list(dict.fromkeys([*settings.targets, *others, *settings.libraries]))


def hunt(settings: HuntSettings, listener: Listener = silent) -> Hunted:
    """Run a hunt to its end and return what was found.

    Raises:
        UsageError: for unknown targets, engines or oracles.
        StoreError: if the store cannot be written.
    """
    began = time.monotonic()
    for name in settings.engines:
        ENGINES.get(name)
    if settings.oracle:
        check_choice(settings.oracle)
    with (
        open_store(settings.store, folder=settings.folder) as store,
        open_runner(_everybody(settings), settings.runner) as runner,
    ):
        campaign = Hunt(settings, runner, store, listener, began)
        campaign.run()
        broken = any(target in settings.targets for target in runner.broken) or bool(campaign.tally.failures)
        facts = with_texts(campaign.facts(time.monotonic() - began), store)
        return Hunted(facts, broken, store.folder)
