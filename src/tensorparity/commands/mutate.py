"""``mutate``: seed models with mutated parameters, then inputs and weights searched on those that did not fail."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .. import __version__
from ..campaign.budget import StopReason
from ..campaign.events import Listener, silent, to_all
from ..campaign.explained import defects_in_figures
from ..campaign.filing import target_facts
from ..campaign.sections import Sections
from ..campaign.session import CampaignSession, open_campaign
from ..campaign.settings_trial import run_and_try_settings
from ..campaign.tally import CampaignTally, EngineTally
from ..core.errors import UsageError
from ..core.jsontext import Json
from ..core.oracle import Setup
from ..engines.audee.engine import AudeeEngine
from ..engines.audee.planning import check_layer
from ..engines.audee.seeds import SeedModel
from ..engines.audee.settings import AudeeSettings
from ..operators.reference.rounding import K
from ..oracles.kinds import DEFAULT_ORACLE
from ..reporting.facts import Facts
from ..store.database import Store, open_store
from ..targets.catalogue import traits_of
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from ..targets.selection import functions_below, witnesses_for
from ..triage.examine import Examiner
from ..triage.reduction.preparation import Preparation, ReducingSettings
from ..zoo.keras_cache import has_cifar10
from .chosen_oracle import notes_on_oracle
from .root_causes import bug_table, root_causes
from .seed_models import open_seed
from .texts import with_texts

_ENGINE = AudeeEngine.name
#: Of the paper's seven, those for pictures of 32x32, and those for the reviews of IMDB.
_PICTURES = ("resnet20", "vgg16", "mobilenetv2")
_REVIEWS = ("zoo:simplernn-imdb", "zoo:lstm5-imdb", "zoo:gru-imdb")
#: Of an engine's share of the time, what goes into running cases while something waits to be confirmed.
_SEARCHING = 0.7


def paper_models() -> tuple[str, ...]:
    """The paper's seven; on CIFAR-10 where the data is here, else the same networks on other pictures."""
    data = "-cifar10" if has_cifar10() else ""
    return ("zoo:lenet5", *(f"zoo:{name}{data}" for name in _PICTURES), *_REVIEWS)


@dataclass(frozen=True)
class MutateSettings:
    """What ``mutate`` is told.

    Args:
        models: seed models: ``zoo:``, ``app:`` or a file.
        audee: how networks are mutated and searched.
        budget: seconds; None runs to the end.
        cases: exactly so many, instead of a budget.
        data: of the user's, for all seed models.
        resume: go on with the last run of the same seed, settings and versions in the store.
        reducing: how much work goes into reducing what is found; None files it as it is.
    """

    targets: Sequence[str]
    models: Sequence[str] = ("zoo:lenet5",)
    audee: AudeeSettings = field(default_factory=AudeeSettings)
    seed: int = 0
    budget: float | None = None
    cases: int | None = None
    data: Path | None = None
    oracle: str = ""
    store: str | Path = "tensorparity-out"
    folder: Path | None = None
    resume: bool = False
    reducing: ReducingSettings | None = None
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    sections: Sections = field(default_factory=Sections)

    def engine(self) -> dict[str, Json]:
        """What the engine is told; the configuration and ``--set`` have the last word."""
        own = {name: value for name, value in asdict(self.audee).items() if name != "search"}
        return {**own, **asdict(self.audee.search), **self.sections.engine(_ENGINE)}

    def identity(self, runner: LocalRunner, seeds: Sequence[SeedModel]) -> dict[str, Json]:
        """What must be equal for one run to be the continuation of another; a budget only cuts."""
        circumstances = "\n".join(runner.desk(target).circumstances for target in self.targets)
        sections = self.sections.to_json()
        return {
            "tensorparity": __version__,
            "circumstances": hashlib.sha256(circumstances.encode()).hexdigest(),
            "targets": list(self.targets),
            "oracle": self.oracle or DEFAULT_ORACLE,
            "models": [[seed.name, seed.instances] for seed in seeds],
            "engine": {name: list(v) if isinstance(v, tuple) else v for name, v in self.engine().items()},
            "faults": {target: [fault.name, fault.digest] for target, fault in self.runner.faults.items()},
            **({"settings": sections} if sections else {}),
        }


class Mutate:
    """One run."""

    def __init__(
        self,
        settings: MutateSettings,
        runner: LocalRunner,
        store: Store,
        seeds: Sequence[SeedModel],
        notes: Sequence[str],
        listener: Listener = silent,
    ) -> None:
        self._settings, self._runner, self._store, self._tell = settings, runner, store, listener
        self._notes = list(notes)
        self.tally = CampaignTally()
        setup = Setup(settings.seed, tuple(settings.targets), traits_of(runner.targets), settings.engine())
        self._engine = AudeeEngine(setup, seeds)
        examiner = Examiner(runner, setup, oracle=settings.oracle, settings=settings.sections.oracles)
        self._campaign, unresumed = open_campaign(
            store, "mutate", settings.seed, settings.identity(runner, seeds), resume=settings.resume
        )
        self._notes += unresumed
        preparation = Preparation(runner, examiner, settings.reducing, listener, settings.runner.time_limit)
        emit = to_all([self.tally, listener])
        self.session = CampaignSession(
            examiner, preparation, emit, store, self._campaign, settings.runner.faults, local=runner
        )
        self.stop = StopReason.CASES

    def run(self) -> None:
        """Until everything is searched or the budget is used up; Ctrl-C ends the run, not the report."""
        seconds = None if self._settings.cases is not None else self._settings.budget
        self.stop = run_and_try_settings(
            self.session,
            [self._engine],
            self._tell,
            self._settings.reducing,
            seconds=seconds,
            cases=self._settings.cases,
            began=time.monotonic(),
            searching=_SEARCHING,
        )
        self._store.finish_campaign(self._campaign, self.stop.value)

    def facts(self, seconds: float) -> Facts:
        settings, tally = self._settings, self.tally
        own = tally.engines.get(self._engine.name, EngineTally())
        findings = tuple(self.session.findings.values())
        tables: dict[str, Json] = {
            **own.tables,
            "table4": bug_table(findings, settings.targets),
            "root_causes": root_causes(findings, self.session.blameless),
        }
        stats: dict[str, Json] = {
            **tally.stats(seconds),
            **defects_in_figures(self.session),
            "stop_reason": self.stop.value,
            "tables": tables,
            "fraction": _fraction(settings.audee, own.tables),
            "set_aside": {
                "undecided": dict(tally.set_aside.most_common()),
                "classes": dict(self.session.blameless.most_common()),
            },
        }
        return Facts(
            command="mutate",
            seed=settings.seed,
            targets=target_facts(self._runner, settings.targets, self.session.outcomes),
            stats=stats,
            findings=findings,
            scripts=tally.scripts,
            notes=(
                f"ended because {self.stop.value}" if self.stop is not StopReason.INTERRUPTED else "interrupted",
                *self._notes,
                *notes_on_oracle(settings.oracle, tally.judges, DEFAULT_ORACLE),
                *self.session.open_questions(),
            ),
            interrupted=self.stop is StopReason.INTERRUPTED,
            suspected=self.session.suspected(),
            planted={target: fault.name for target, fault in settings.runner.faults.items()},
            isolated_threshold=K,
            undecided=dict(tally.undecided),
            unsupported=dict(tally.unsupported),
        )


def _fraction(audee: AudeeSettings, tables: Mapping[str, Json]) -> dict[str, Json]:
    """How much of the paper's protocol was run: variants of 500 for each model, searches of 20 for each pair."""
    models = tables.get("models", {})
    done = sum(own["valid"] + own["invalid"] for own in models.values())
    return {
        "variants": done,
        "variants_of_protocol": 500 * len(models),
        "searches": len(tables.get("curves", ())),
        "searched_per_pair": audee.searched,
        "searched_per_pair_of_protocol": 20,
    }


@dataclass(frozen=True)
class Mutated:
    """What was found; ``broken`` where a target that was asked for could not be started."""

    facts: Facts
    broken: bool
    store: Path


def mutate(settings: MutateSettings, listener: Listener = silent) -> Mutated:
    """Run to the end and return what was found.

    Raises:
        UsageError: for unknown targets or seed models, or a layer that a seed model does not have.
        StoreError: if the store cannot be written.
    """
    began = time.monotonic()
    if not settings.models:
        raise UsageError("mutate needs a seed model, for example --seed-model zoo:lenet5")
    others = [*witnesses_for(settings.targets), *functions_below(settings.targets)]
    asked = list(dict.fromkeys([*settings.targets, *others]))
    with (
        open_store(settings.store, folder=settings.folder) as store,
        open_runner(asked, settings.runner) as runner,
    ):
        seeds, notes = [], []
        for name in settings.models:
            seed, said = open_seed(
                name, runner, settings.runner, settings.targets, settings.seed, settings.data, listener
            )
            check_layer(seed, AudeeSettings.from_mapping(settings.engine()))
            seeds.append(seed.at_most(settings.audee.inputs))
            notes += said
            notes.append(f"{name}: {seeds[-1].instances} inputs")
        campaign = Mutate(settings, runner, store, seeds, notes, listener)
        campaign.run()
        broken = any(target in settings.targets for target in runner.broken)
        facts = with_texts(campaign.facts(time.monotonic() - began), store)
        return Mutated(facts, broken, store.folder)
