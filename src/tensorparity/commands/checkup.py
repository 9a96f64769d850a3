"""``targets`` and ``doctor``: what is here, what could be, what is broken and why."""

from __future__ import annotations

import time

import numpy as np

from ..campaign.events import Listener, Progress, silent
from ..core.case import ApiCall, ArrayArg, Case
from ..core.graph import GraphBuilder
from ..core.outcome import Outcome
from ..core.procedure import Goal, Procedure
from ..operators.reference.evaluate import draw_weights
from ..operators.reference.rounding import K, error_units
from ..oracles.references import references
from ..reporting.facts import Facts, TargetFacts
from ..targets.catalogue import TARGETS, install_hint
from ..targets.environments import find_environment, inventory
from ..targets.limits import WorkerLimits
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from ..targets.selection import named_targets


def list_targets() -> Facts:
    """Every known target with its versions or the command that installs it; nothing is imported."""
    here = inventory(find_environment(""))
    found: list[TargetFacts] = []
    for name in TARGETS.names():
        spec = TARGETS.get(name)
        missing = here.missing(spec)
        found.append(
            TargetFacts(
                name,
                versions=here.versions(spec),
                status="missing" if missing else "available",
                reason=f"{', '.join(missing)} is not installed" if missing else spec.summary,
                install=install_hint(spec) if missing else "",
            )
        )
    return Facts(command="targets", seed=0, targets=tuple(found), stats={})


def examine_targets(text: str | None, deadline: float, listener: Listener = silent) -> Facts:
    """Start each target, run a small case, compare the answer with the reference."""
    began = time.monotonic()
    listed = list_targets().targets
    chosen = named_targets(text) if text else [target.name for target in listed if target.usable]
    settings = RunnerSettings(limits=WorkerLimits(cpu_seconds=deadline, start_cpu_seconds=deadline))
    examined: list[TargetFacts] = []
    with open_runner(chosen, settings) as runner:
        for position, target in enumerate(chosen):
            listener(Progress("examining", position, len(chosen), target))
            examined.append(_examine(runner, target))
    missing = () if text else tuple(target for target in listed if not target.usable)
    seconds = time.monotonic() - began
    return Facts("doctor", 0, (*examined, *missing), {"cases": len(chosen), "seconds": seconds})


def _examine(runner: LocalRunner, target: str) -> TargetFacts:
    spec = runner.desk(target).spec
    case = _call_case() if spec.traits.lowering == "torch" else _layer_case()
    outcome = runner.run_pairs([(case, target)])[0]
    versions = outcome.record.versions or inventory(runner.desk(target).environment).versions(spec)
    if target in runner.broken:
        error = runner.broken[target]
        detail = (error.detail.strip().splitlines() or [""])[-1]
        reason = error.reason if not detail or detail in error.reason else f"{error.reason} ({detail})"
        return TargetFacts(target, versions, "broken", reason, install=install_hint(spec))
    if not outcome.completed:
        failure = outcome.failure
        reason = f"{failure.type}: {failure.message}" if failure else ""
        return TargetFacts(target, versions, outcome.status.value, reason)
    wrong = _wrong(case, outcome)
    return TargetFacts(
        target,
        versions,
        "wrong result" if wrong else "completed",
        wrong or str(outcome.record.build.get("mode", "")),
        seconds=outcome.seconds,
        mode=str(outcome.record.build.get("mode", "")),
        flags=outcome.record.flags,
    )


def _layer_case() -> Case:
    build = GraphBuilder("checkup")
    x = build.input("x", (6, 6, 2))
    x = build.add("Conv2D", x, filters=3, kernel_size=[3, 3], activation="tanh")
    graph = build.build(build.add("Dense", build.add("Flatten", x), units=4))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((2, 6, 6, 2)).astype(np.float32)}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, rng))


def _call_case() -> Case:
    inputs = {"x": np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)}
    return Case(ApiCall("torch.softmax", (ArrayArg("x"), 1)), Procedure(goal=Goal.CALL), inputs=inputs)


def _wrong(case: Case, outcome: Outcome) -> str:
    for name, truth in references(case).items():
        error = float(error_units(outcome.outputs[name], truth, "float32").max())
        if error > K:
            return f"a small case is off by {error:.3g} times what rounding explains"
    return ""
