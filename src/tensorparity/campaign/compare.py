"""``compare``: one model, several targets, an honest answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.arrays import Array
from ..core.errors import RunError
from ..core.finding import Finding
from ..core.graph import LayerGraph
from ..core.model import Model
from ..core.verdict import Judgement
from ..generators.inputs import Data, load_npz, seeded_inputs
from ..generators.model_files import inspect_model_file
from ..operators.evaluate import declare_weights
from ..operators.rounding import K
from ..oracles.pair import ORACLES, PairSettings
from ..reporting.facts import Facts
from ..store.database import open_store
from ..targets.catalogue import spec_of
from ..targets.names import parse_target
from ..targets.runner import LocalRunner, RunnerSettings, cached, default_cache, open_runner
from ..zoo.architectures import architecture
from ..zoo.weights import trained_on_mnist
from .events import Listener, Progress, silent
from .examination import Examination, Examined, Rules
from .filing import file_findings, make_finding, target_facts
from .importing import import_graph, train_graph

#: Instances drawn where the user gives no data.
SEEDED_INSTANCES = 32


@dataclass(frozen=True)
class CompareSettings:
    """What ``compare`` is told.

    Args:
        data: an .npz of inputs and labels; seeded inputs without it.
        instances: use at most so many of the data's instances.
        store: folder (or URL) findings go to; None keeps nothing.
    """

    targets: Sequence[str]
    data: Path | None = None
    seed: int = 0
    instances: int | None = None
    oracle: str = "parity"
    pairs: PairSettings = field(default_factory=PairSettings)
    localize: str = "auto"
    batch_size: int | None = None
    store: str | Path | None = None
    runner: RunnerSettings = field(default_factory=RunnerSettings)


@dataclass(frozen=True)
class Compared:
    """The facts, and whether a target that was asked for could not take part."""

    facts: Facts
    examined: Examined
    broken: bool


def compare(model: str, settings: CompareSettings, listener: Listener = silent) -> Compared:
    """Compare ``model`` (a .keras file or zoo:NAME) on the targets.

    Raises:
        UsageError: for a model, data or target that cannot be used.
        RunError: if fewer than two targets could be started.
    """
    began = time.monotonic()
    with open_runner(settings.targets, settings.runner) as runner:
        subject, data, notes = _subject(model, settings, runner, listener)
        rules = Rules(
            families=families_of(settings.targets),
            oracle=ORACLES.get(settings.oracle),
            pairs=settings.pairs,
            localize=settings.localize,
            batch_size=settings.batch_size,
            seed=settings.seed,
        )
        trust = settings.runner.trust
        examination = Examination(
            cached(runner, settings.runner),
            subject,
            rules,
            import_graph=lambda model: import_graph(runner, model, settings.targets, trust),
            listener=listener,
        )
        examined = examination.run(data.inputs, data.labels, settings.targets)
        _require_two(runner, settings.targets)
        findings = _file(model, settings, examined)
        return Compared(
            facts=_facts(model, settings, runner, data, examined, findings, notes, time.monotonic() - began),
            examined=examined,
            broken=bool(runner.broken),
        )


def families_of(targets: Sequence[str]) -> dict[str, str]:
    return {target: spec_of(parse_target(target)).family or target for target in targets}


def _subject(
    text: str, settings: CompareSettings, runner: LocalRunner, listener: Listener
) -> tuple[Model, Data, list[str]]:
    """The model and its data, with notes on where both come from."""
    if text.startswith("zoo:"):
        return _zoo_subject(text, settings, runner, listener)
    inspected = inspect_model_file(Path(text), trust=settings.runner.trust, imports=bool(settings.runner.imports))
    data = (
        load_npz(settings.data, inspected.inputs)
        if settings.data
        else seeded_inputs(inspected.inputs, settings.instances or SEEDED_INSTANCES, settings.seed)
    )
    notes = [f"data: {data.origin}", *data.notes]
    if inspected.foreign:
        notes.append(f"trusted: {', '.join(inspected.foreign)}")
    return Model(Path(text).name, file=inspected.model), _at_most(data, settings.instances), notes


def _zoo_subject(
    text: str, settings: CompareSettings, runner: LocalRunner, listener: Listener
) -> tuple[Model, Data, list[str]]:
    graph = architecture(text.removeprefix("zoo:"))
    cache = settings.runner.cache or default_cache()
    if text == "zoo:lenet5":

        def train(
            graph: LayerGraph, weights: dict[str, Array], images: Array, labels: Array, recipe: dict[str, object]
        ) -> dict[str, Array]:
            listener(Progress("training on MNIST, once", 0, None))
            if not settings.runner.faults:
                return train_graph(runner, graph, weights, images, labels, recipe)
            # a planted fault must not get into the weights that stay in the cache
            unharmed = replace(settings.runner, faults={})
            with open_runner(settings.targets, unharmed) as clean:
                return train_graph(clean, graph, weights, images, labels, recipe)

        zoo = trained_on_mnist(graph, cache, train)
        labels = {"": zoo.labels} if zoo.labels is not None else {}
        data = Data(zoo.inputs, labels, zoo.origin)
        weights = zoo.weights
    else:
        from ..zoo.weights import calibrated

        weights = calibrated(graph, settings.seed)
        data = seeded_inputs(graph.inputs, settings.instances or SEEDED_INSTANCES, settings.seed)
        data = Data(data.inputs, {}, f"{data.origin}, seeded and calibrated weights")
    declared = declare_weights(graph)
    assert set(declared) == set(weights)
    if settings.data:
        data = load_npz(settings.data, graph.inputs)
    return Model(text, graph, weights), _at_most(data, settings.instances), [f"model and data: {data.origin}"]


def _at_most(data: Data, count: int | None) -> Data:
    if count is None or count >= data.count:
        return data
    return Data(
        {name: array[:count] for name, array in data.inputs.items()},
        {name: array[:count] for name, array in data.labels.items()},
        f"{data.origin}, the first {count}",
        data.notes,
    )


def _require_two(runner: LocalRunner, targets: Sequence[str]) -> None:
    if len(targets) - len(runner.broken) < 2 and runner.broken:
        raise RunError("; ".join(str(error) for error in runner.broken.values()))


def _file(model: str, settings: CompareSettings, examined: Examined) -> list[Finding]:
    found = [(make_finding(s, "cradle", examined.outcomes, model), s) for s in examined.suspicions]
    if settings.store is None:
        return [finding for finding, _ in found]
    with open_store(settings.store) as store:
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


def _facts(
    model: str,
    settings: CompareSettings,
    runner: LocalRunner,
    data: Data,
    examined: Examined,
    findings: Sequence[Finding],
    notes: Sequence[str],
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
            "per_engine": {"cradle": {"cases": data.count, "seconds": seconds, "undecided": undecided}},
        },
        findings=tuple(findings),
        comparisons=tuple(examined.comparisons),
        subject=model,
        notes=(*notes, *examined.notes, *extra),
        phases=examined.phases,
        isolated_threshold=K,
    )
