"""``targets`` and ``doctor``: what is here, what could be, what is broken and why."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

import numpy as np

from ..campaign.events import Listener, Progress, silent
from ..core.case import Case
from ..core.errors import OutOfTimeError
from ..core.graph import GraphBuilder
from ..core.messages import gist
from ..core.outcome import Outcome
from ..core.procedure import Goal, Procedure
from ..core.time_limit import TimeLimit
from ..core.traits import TargetTraits
from ..operators.functions.catalogue import find_operators
from ..operators.reference.evaluate import draw_weights
from ..operators.reference.rounding import K, error_units
from ..oracles.references import references
from ..reporting import words
from ..reporting.facts import Facts, TargetFacts
from ..targets.catalogue import TARGETS, install_hint, traits_of
from ..targets.environments import find_environment, inventory
from ..targets.limits import WorkerLimits
from ..targets.runner import LocalRunner, RunnerSettings, default_cache, open_runner
from ..targets.selection import named_targets
from .machine import machine_notes

#: Whoever names no targets waits no longer than this; closing the workers comes on top.
SECONDS = 27.0
#: The status of a target that had said nothing by then.
NOT_EXAMINED = "not examined"


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
    """Start each target, run a small case that it can run, and compare the answer with the reference.

    All of them side by side. Whoever names no targets has the answer in half a minute: those that have said nothing by
    then were not examined, which is no fault of theirs.
    """
    began = time.monotonic()
    listed = list_targets().targets
    chosen = named_targets(text) if text else [target.name for target in listed if target.usable]
    limits = WorkerLimits(cpu_seconds=deadline, start_cpu_seconds=deadline)
    limit = TimeLimit() if text else TimeLimit(began + SECONDS)
    workers = min(len(chosen), 2 * (os.cpu_count() or 1))
    settings = RunnerSettings(limits=limits, workers=max(1, workers), cache=default_cache(), time_limit=limit)
    with open_runner(chosen, settings) as runner:
        examined = _examine_all(runner, _slowest_first(chosen), listener)
    missing = () if text else tuple(target for target in listed if not target.usable)
    stats = {"cases": len(chosen), "seconds": time.monotonic() - began}
    ordered = tuple(examined[target] for target in chosen)
    return Facts("doctor", 0, (*ordered, *missing), stats, notes=tuple(machine_notes()))


def _slowest_first(targets: Sequence[str]) -> list[str]:
    """Compilers take longest, so they begin."""
    traits = traits_of(targets)
    return sorted(targets, key=lambda target: (not traits[target].compiled, -traits[target].start_rank))


def _examine_all(runner: LocalRunner, targets: Sequence[str], listener: Listener) -> dict[str, TargetFacts]:
    cases = {target: small_case(runner.desk(target).spec.traits) for target in targets}
    outcomes: dict[str, Outcome] = {}

    def heard(outcome: Outcome) -> None:
        outcomes[outcome.target] = outcome
        listener(Progress("examining", len(outcomes), len(targets), outcome.target))

    listener(Progress("examining", 0, len(targets)))
    with contextlib.suppress(OutOfTimeError):
        runner.run_pairs([(cases[target], target) for target in targets], on_outcome=heard)
    return {target: _examined(runner, target, cases[target], outcomes.get(target)) for target in targets}


def small_case(traits: TargetTraits) -> Case:
    """A case that the target can run: a few layers, or one call of whoever runs nothing else."""
    return _call_case() if traits.max_goal is Goal.CALL else _layer_case()


def _examined(runner: LocalRunner, target: str, case: Case, outcome: Outcome | None) -> TargetFacts:
    spec = runner.desk(target).spec
    own = outcome.record.versions if outcome is not None else {}
    versions = own or inventory(runner.desk(target).environment).versions(spec)
    if target in runner.broken:
        error = runner.broken[target]
        detail = (error.detail.strip().splitlines() or [""])[-1]
        reason = error.reason if not detail or detail in error.reason else f"{error.reason} ({detail})"
        return TargetFacts(target, versions, "broken", reason, install=install_hint(spec))
    if outcome is None:
        return TargetFacts(target, versions, NOT_EXAMINED, words.not_examined(target, SECONDS))
    if not outcome.completed:
        failure = outcome.failure
        reason = f"{failure.type}: {gist(failure.message)}" if failure else ""
        return TargetFacts(target, versions, outcome.status.value, reason)
    wrong = _wrong(case, outcome)
    mode = str(outcome.record.build.get("mode", ""))
    status = "wrong result" if wrong else "completed"
    return TargetFacts(
        target, versions, status, wrong or mode, seconds=outcome.seconds, mode=mode, flags=outcome.record.flags
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
    """One operator, which each library has under its own name."""
    (operator,) = find_operators(("softmax",))
    inputs = {operator.operands[0].name: np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)}
    return Case(operator.api_call({}), Procedure(goal=Goal.CALL), inputs=inputs)


def _wrong(case: Case, outcome: Outcome) -> str:
    for name, truth in references(case).items():
        error = float(error_units(outcome.outputs[name], truth, "float32").max())
        if error > K:
            return f"a small case is off by {error:.3g} times what rounding explains"
    return ""
