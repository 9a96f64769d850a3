"""``compare``: one model, several targets, an honest answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..campaign.budget import StopReason
from ..campaign.events import Listener, silent, to_all
from ..campaign.filing import target_facts
from ..campaign.sections import Sections
from ..campaign.session import CampaignSession
from ..campaign.tally import CampaignTally
from ..core.engine import Engine
from ..core.errors import RunError
from ..core.finding import Finding
from ..core.runner import Runner
from ..core.verdict import Judgement
from ..engines.audee.stress import StressSettings
from ..generators.inputs.models import Data, Draw, check_npz
from ..generators.training import Schedule
from ..operators.reference.rounding import K
from ..oracles.kinds import check_choice
from ..oracles.pair import PairSettings
from ..reporting import words
from ..reporting.facts import Facts
from ..store.database import Store, open_store
from ..targets.catalogue import traits_of
from ..targets.runner import LocalRunner, RunnerSettings, open_runner, with_cache
from ..targets.selection import arbiters_for, functions_below
from ..triage.reduction.preparation import Preparation, ReducingSettings
from .sources.models import Context, ModelSource, open_source
from .sources.open_sizes import fitting_draws
from .stress import Stress, Stressed
from .texts import with_texts
from .unanswered import unanswered
from .whole_models import HIGH_PRECISION, WITH_ITSELF, ExaminedModel, ModelExaminer, run_model


@dataclass(frozen=True)
class CompareSettings:
    """What ``compare`` is told.

    Args:
        data: an .npz of inputs and labels; seeded inputs without it.
        draws: how the user wants inputs drawn, by input name.
        instances: use at most so many of the data's instances.
        budget: seconds, for everything.
        notes: what a reader should know of the choice of targets.
        batch_sizes: run every target also in these, and compare it with itself.
        repeat: run every target so often, and compare it with itself.
        schedule: also train so many steps on every target that can, and compare that.
        store: folder (or URL) findings go to; None keeps nothing.
        reducing: how much work goes into reducing what is found; None files it as it is.
        folder: where case files go if the store is a URL.
        study: also count what other thresholds of CRADLE's would report.
        beyond: also measure what CRADLE does not: the distance from a run in high precision.
        sections: settings of oracles, which go before what the arguments above say.
        stress: also search for the input within the data's range on which targets differ most.
    """

    targets: Sequence[str]
    data: Path | None = None
    draws: Mapping[str, Draw] = field(default_factory=dict)
    seed: int = 0
    instances: int | None = None
    budget: float | None = None
    oracle: str = "parity"
    pairs: PairSettings = field(default_factory=PairSettings)
    study: bool = False
    beyond: bool = True
    localize: str = "auto"
    batch_size: int | None = None
    batch_sizes: tuple[int, ...] = ()
    repeat: int = 1
    schedule: Schedule | None = None
    notes: tuple[str, ...] = ()
    store: str | Path | None = None
    folder: Path | None = None
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    reducing: ReducingSettings | None = None
    sections: Sections = field(default_factory=Sections)
    stress: StressSettings | None = None


@dataclass(frozen=True)
class Compared:
    """The facts, and whether the run failed: a target that was asked for could not be started, or none completed."""

    facts: Facts
    examined: ExaminedModel
    broken: bool


def compare(model: str, settings: CompareSettings, listener: Listener = silent) -> Compared:
    """Compare ``model`` (a file, or zoo:NAME) on the targets.

    Raises:
        UsageError: for a model, data or target that cannot be used; also to train on data without labels.
        RunError: if so few targets could be started that nothing was compared.
        StoreError: if the store cannot be opened; before anything is run.
    """
    began = time.monotonic()
    check_choice(settings.oracle)
    if settings.data is not None:
        check_npz(settings.data)
    arbiters = arbiters_for(settings.targets)
    everybody = list(dict.fromkeys([*settings.targets, *arbiters, *functions_below(settings.targets)]))
    with open_runner(everybody, settings.runner) as runner, ExitStack() as opened:
        asked = (settings.targets, settings.seed, listener, arbiters, settings.draws, settings.data)
        context = Context(runner, settings.runner, *asked)
        source = open_source(model, context)
        draws = settings.draws
        if settings.data is None and source.data is None:
            draws = fitting_draws(with_cache(runner, settings.runner), source, settings.targets, settings.seed, draws)
        data = source.pick_data(settings.data, settings.instances, settings.seed, draws)
        models = _examiner(with_cache(runner, settings.runner), source, settings, arbiters, listener)
        engine = models.engine(data.inputs, data.labels)
        store = opened.enter_context(_open_store(settings)) if settings.store is not None else None
        run = _Run(model, settings, runner, models.begin(data.labels), began)
        stress = None
        if settings.stress is not None:
            stress = Stress(
                runner,
                source.model,
                data,
                settings.targets,
                settings.stress,
                settings.seed,
                sections=settings.sections.oracles,
            )
        run.go(models, engine, store, listener, stress)
        compared = run.compared(source, data, time.monotonic() - began)
        return replace(compared, facts=with_texts(compared.facts, store)) if store is not None else compared


class _Run:
    """One comparison under way."""

    def __init__(
        self, model: str, settings: CompareSettings, runner: LocalRunner, examined: ExaminedModel, began: float
    ) -> None:
        self._model = model
        self._began = began
        self._settings = settings
        self._runner = runner
        self._examined = examined
        self._tally = CampaignTally()
        self._findings: tuple[Finding, ...] = ()
        self._stop = StopReason.CASES
        self._open: list[str] = []
        self._suspected: tuple[tuple[str, ...], ...] = ()
        self._stressed = Stressed()

    def go(
        self, models: ModelExaminer, engine: Engine, store: Store | None, listener: Listener, stress: Stress | None
    ) -> None:
        """Run the engine to its end, then the search of ``--stress``."""
        settings, examiner = self._settings, models.examiner()
        campaign = _begin(store, self._model, settings)
        preparation = Preparation(self._runner, examiner, settings.reducing, listener, settings.runner.time_limit)
        emit = to_all([self._examined, self._tally, listener])
        session = CampaignSession(
            examiner, preparation, emit, store, campaign, settings.runner.faults, self._model, local=self._runner
        )
        stop = self._stop = run_model(session, engine, self._examined, settings.budget, self._began)
        if stress is not None and stop is StopReason.CASES:
            left = None if settings.budget is None else settings.budget - (time.monotonic() - self._began)
            self._stressed = replace(stress, seconds=left).run(session, listener)
        if settings.reducing and self._examined.suspicions:
            self._examined.phases["reduce"] = time.monotonic() - self._examined.last
        if store is not None:
            store.finish_campaign(campaign, "completed" if stop is StopReason.CASES else stop.value)
        self._findings = self._stressed.findings or tuple(session.findings.values())
        self._open = session.open_questions()
        self._suspected = session.suspected()

    def compared(self, source: ModelSource, data: Data, seconds: float) -> Compared:
        """What came of it.

        Raises:
            RunError: if so few targets could be started that nothing was compared.
        """
        settings, examined = self._settings, self._examined
        broken = {target: error for target, error in self._runner.broken.items() if target in settings.targets}
        _require_comparison(settings.targets, broken, examined)
        nobody = not any(outcome.completed for outcome in examined.outcomes.values())
        untrained = settings.schedule is not None and examined.training is None and self._stop is StopReason.CASES
        if untrained:
            examined.notes.append(words.never_trained(settings.targets))
        return Compared(self._facts(source, data, seconds), examined, bool(broken) or nobody or untrained)

    def _unanswered(self) -> tuple[str, ...]:
        settings, examined = self._settings, self._examined
        return unanswered(
            None if settings.schedule is None else examined.training is not None,
            examined.self_agreement if _itself(settings) else None,
            None if settings.stress is None else [int(pair["evaluations"]) for pair in self._stressed.pairs],
        )

    def _facts(self, source: ModelSource, data: Data, seconds: float) -> Facts:
        settings, examined, tally = self._settings, self._examined, self._tally
        return Facts(
            command="compare",
            seed=settings.seed,
            targets=target_facts(self._runner, settings.targets, examined.outcomes),
            stats={
                **tally.stats(seconds),
                "cases": data.count,
                "undecided": sum(c.verdict.judgement is Judgement.UNDECIDED for c in examined.comparisons),
                **tally.tables,
                **({"stress": list(self._stressed.pairs)} if self._stressed.pairs else {}),
            },
            findings=self._findings,
            comparisons=tuple(examined.comparisons),
            subject=self._model,
            alerts=tuple(words.not_finite(data.not_finite)),
            notes=(
                *settings.notes,
                *source.notes,
                f"data: {data.origin}",
                *data.notes,
                *examined.notes,
                *self._open,
                *self._stressed.notes,
            ),
            phases=examined.phases,
            isolated_threshold=K,
            self_agreement=examined.self_agreement,
            interrupted=self._stop is StopReason.INTERRUPTED,
            planted={target: fault.name for target, fault in settings.runner.faults.items()},
            suspected=self._suspected,
            unanswered=self._unanswered(),
            training=examined.training,
            high_precision=examined.high_precision,
            scripts=tally.scripts,
        )


def _examiner(
    runner: Runner, source: ModelSource, settings: CompareSettings, arbiters: Sequence[str], listener: Listener
) -> ModelExaminer:
    own = settings.sections.oracles.get(settings.oracle, {})
    wanted = own.get("arbiters", arbiters)
    able = [arbiter for arbiter in arbiters if arbiter in wanted and source.model.reads_file(arbiter)]
    pairs = settings.pairs
    judging = {
        "thresholds": pairs.thresholds,
        "share": pairs.share,
        "k": pairs.k,
        "metric": pairs.metric,
        "study": settings.study,
        "localize": settings.localize,
    }
    return ModelExaminer(
        runner,
        source.model,
        settings.targets,
        traits_of([*settings.targets, *arbiters]),
        oracle=settings.oracle,
        settings={**judging, **_itself(settings)},
        measures=_measures(settings),
        sections={**settings.sections.oracles, settings.oracle: {**own, "arbiters": tuple(able)}},
        batch_size=settings.batch_size,
        seed=settings.seed,
        schedule=settings.schedule,
        tell=listener,
    )


def _itself(settings: CompareSettings) -> dict[str, object]:
    """How every target is compared with itself; empty where nobody asks."""
    if not settings.batch_sizes and settings.repeat < 2:
        return {}
    return {"batch_sizes": settings.batch_sizes, "repeat": settings.repeat}


def _measures(settings: CompareSettings) -> tuple[str, ...]:
    asked = ((HIGH_PRECISION, settings.beyond), (WITH_ITSELF, bool(_itself(settings))))
    return tuple(name for name, wanted in asked if wanted)


def _require_comparison(targets: Sequence[str], broken: Mapping[str, Exception], examined: ExaminedModel) -> None:
    """A run that has compared anything is worth its report, whatever broke later."""
    compared = any(comparison.instances for comparison in examined.comparisons)
    if broken and len(targets) - len(broken) < 2 and not compared:
        raise RunError("; ".join(str(error) for error in broken.values()))


def _open_store(settings: CompareSettings) -> Store:
    assert settings.store is not None
    return open_store(settings.store, folder=settings.folder)


def _begin(store: Store | None, model: str, settings: CompareSettings) -> int:
    return (
        store.begin_campaign("compare", settings.seed, _recorded_settings(model, settings)) if store is not None else 0
    )


def _recorded_settings(model: str, settings: CompareSettings) -> dict[str, object]:
    return {
        "model": model,
        "targets": list(settings.targets),
        "oracle": settings.oracle,
        "localize": settings.localize,
        "faults": {target: fault.name for target, fault in settings.runner.faults.items()},
    }
