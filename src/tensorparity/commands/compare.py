"""``compare``: one model, several targets, an honest answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..campaign.events import Listener, silent
from ..campaign.filing import file_findings, make_finding, scripts_of, target_facts
from ..campaign.reducing import Preparation, Prepared, ReducingSettings
from ..campaign.sections import Sections
from ..campaign.selection import arbiters_for
from ..campaign.sources import Context, Source, open_source
from ..campaign.training import Schedule, train_everywhere
from ..campaign.whole_models import HIGH_PRECISION, ExaminedModel, ModelExaminer
from ..core.comparison import Comparison
from ..core.errors import DataError, RunError
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.procedure import Goal
from ..core.runner import Runner
from ..core.verdict import Judgement
from ..generators.inputs import Data, Draw
from ..operators.rounding import K
from ..oracles.distances import unique_inconsistencies
from ..oracles.kinds import check_choice
from ..oracles.pair import PairSettings
from ..oracles.whole.instances import named_labels
from ..reporting.facts import Facts
from ..store.database import Store, open_store
from ..targets.catalogue import traits_of
from ..targets.runner import LocalRunner, RunnerSettings, cached, open_runner


@dataclass(frozen=True)
class CompareSettings:
    """What ``compare`` is told.

    Args:
        data: an .npz of inputs and labels; seeded inputs without it.
        draws: how the user wants inputs drawn, by input name.
        instances: use at most so many of the data's instances.
        notes: what a reader should know of the choice of targets.
        schedule: also train so many steps on every target that can, and compare that.
        store: folder (or URL) findings go to; None keeps nothing.
        reducing: how much work goes into reducing what is found; None files it as it is.
        folder: where case files go if the store is a URL.
        sections: settings of oracles; what the arguments above say goes before them.
    """

    targets: Sequence[str]
    data: Path | None = None
    draws: Mapping[str, Draw] = field(default_factory=dict)
    seed: int = 0
    instances: int | None = None
    oracle: str = "parity"
    pairs: PairSettings = field(default_factory=PairSettings)
    localize: str = "auto"
    batch_size: int | None = None
    schedule: Schedule | None = None
    notes: tuple[str, ...] = ()
    store: str | Path | None = None
    folder: Path | None = None
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    reducing: ReducingSettings | None = None
    sections: Sections = field(default_factory=Sections)


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
    arbiters = arbiters_for(settings.targets)
    with open_runner([*settings.targets, *arbiters], settings.runner) as runner, ExitStack() as opened:
        context = Context(runner, settings.runner, settings.targets, settings.seed, listener, arbiters, settings.draws)
        source = open_source(model, context)
        data = source.pick_data(settings.data, settings.instances, settings.seed, settings.draws)
        if settings.schedule and not data.labels:
            raise DataError("training needs labels; give them as y in --data")
        store = opened.enter_context(_open_store(settings)) if settings.store is not None else None
        examiner = _examiner(cached(runner, settings.runner), source, settings, arbiters, listener)
        examined = examiner.examine(data.inputs, data.labels)
        if settings.schedule:
            _train(examiner, examined, data, settings.schedule)
        broken = {target: error for target, error in runner.broken.items() if target in settings.targets}
        _require_comparison(settings.targets, broken, examined)
        began_reducing = time.monotonic()
        prepared = Preparation(runner, examiner.examiner(), settings.reducing, listener).prepare(examined.suspicions)
        if settings.reducing and prepared:
            examined.phases["reduce"] = time.monotonic() - began_reducing
        findings = _file(model, settings, examined, prepared, store)
        return Compared(
            facts=replace(
                _facts(model, settings, runner, source, data, examined, findings, time.monotonic() - began),
                scripts=scripts_of(findings, prepared),
            ),
            examined=examined,
            broken=bool(broken) or not any(outcome.completed for outcome in examined.outcomes.values()),
        )


def _examiner(
    runner: Runner, source: Source, settings: CompareSettings, arbiters: Sequence[str], listener: Listener
) -> ModelExaminer:
    able = [arbiter for arbiter in arbiters if source.model.reads_file(arbiter)]
    pairs = settings.pairs
    judging = {"thresholds": pairs.thresholds, "share": pairs.share, "k": pairs.k, "localize": settings.localize}
    return ModelExaminer(
        runner,
        source.model,
        settings.targets,
        traits_of([*settings.targets, *arbiters]),
        oracle=settings.oracle,
        settings={**settings.sections.oracles.get(settings.oracle, {}), **judging, "arbiters": tuple(able)},
        measures=(HIGH_PRECISION,),
        batch_size=settings.batch_size,
        seed=settings.seed,
        tell=listener,
    )


def _train(examiner: ModelExaminer, examined: ExaminedModel, data: Data, schedule: Schedule) -> None:
    """Add the comparison of trainings to the examination."""
    began = time.monotonic()
    labels = named_labels(data.labels, examined.outcomes)
    traits = examiner.traits
    targets = [target for target in examiner.targets if traits[target].max_goal is Goal.UPDATE]
    families = traits.families(targets)
    model = examiner.with_graph(examined)
    trained = train_everywhere(examiner.runner, model, data.inputs, labels, targets, schedule, families, examiner.tell)
    examined.comparisons += trained.comparisons
    examined.suspicions += trained.suspicions
    examined.training = trained.training
    examined.phases["train"] = time.monotonic() - began


def _require_comparison(targets: Sequence[str], broken: Mapping[str, Exception], examined: ExaminedModel) -> None:
    """A run that has compared anything is worth its report, whatever broke later."""
    compared = any(comparison.instances for comparison in examined.comparisons)
    if broken and len(targets) - len(broken) < 2 and not compared:
        raise RunError("; ".join(str(error) for error in broken.values()))


def _open_store(settings: CompareSettings) -> Store:
    assert settings.store is not None
    return open_store(settings.store, folder=settings.folder)


def _file(
    model: str, settings: CompareSettings, examined: ExaminedModel, prepared: Sequence[Prepared], store: Store | None
) -> list[Finding]:
    found = [(make_finding(p.suspicion, "cradle", examined.outcomes, model, p.original), p) for p in prepared]
    if store is None:
        return [finding for finding, _ in found]
    campaign = store.begin_campaign("compare", settings.seed, _recorded(model, settings))
    filed = file_findings(store, campaign, found, settings.runner.faults)
    store.finish_campaign(campaign, "completed")
    return filed


def _recorded(model: str, settings: CompareSettings) -> dict[str, object]:
    return {
        "model": model,
        "targets": list(settings.targets),
        "oracle": settings.oracle,
        "localize": settings.localize,
        "faults": {target: fault.name for target, fault in settings.runner.faults.items()},
    }


def _unique(comparisons: Sequence[Comparison]) -> list[Json]:
    """CRADLE's grouping: inconsistent pairs with one pattern are one unique inconsistency."""
    named = [(f"{c.a} / {c.b} / {c.output}", distance) for c in comparisons for distance in c.distances[:1]]
    groups = unique_inconsistencies(named)
    return [{"metric": metric, "pattern": list(pattern), "pairs": pairs} for (metric, pattern), pairs in groups.items()]


def _facts(
    model: str,
    settings: CompareSettings,
    runner: LocalRunner,
    source: Source,
    data: Data,
    examined: ExaminedModel,
    findings: Sequence[Finding],
    seconds: float,
) -> Facts:
    undecided = sum(c.verdict.judgement is Judgement.UNDECIDED for c in examined.comparisons)
    planted: Mapping[str, str] = {target: fault.name for target, fault in settings.runner.faults.items()}
    extra = [f"fault {name} is planted in {target}" for target, name in planted.items()]
    return Facts(
        command="compare",
        seed=settings.seed,
        targets=target_facts(runner, settings.targets, examined.outcomes),
        stats={
            "cases": data.count,
            "seconds": seconds,
            "undecided": undecided,
            "unique_inconsistencies": _unique(examined.comparisons),
            "per_engine": {"cradle": {"cases": data.count, "seconds": seconds, "undecided": undecided}},
        },
        findings=tuple(findings),
        comparisons=tuple(examined.comparisons),
        subject=model,
        notes=(*settings.notes, *source.notes, f"data: {data.origin}", *data.notes, *examined.notes, *extra),
        phases=examined.phases,
        isolated_threshold=K,
        training=examined.training,
        high_precision=examined.high_precision,
    )
