"""One library against itself, where nothing but rounding may differ: what is called a defect there is a false alarm.

Usage: false_alarms.py [MODELS] [LIBRARIES] [SEED]

Generated networks, all stages, on one library in four ways: as it is, with two threads, with oneDNN off (another
instruction set for XLA), and with every batch reversed; and beside them the single cases that ``fuzz`` runs (losses,
metrics, functions, layers saved and loaded, kinks, what is ruled out), in the first three ways. What is wrong in all
ways is a defect of the library, no alarm of this kind, and listed apart; so is what raises in one way and completes in
another. Exit code 1 for a false alarm.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import Traits
from tensorparity.core.verdict import Kind
from tensorparity.engines.muffin.engine import MuffinEngine
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import open_runner
from tensorparity.testing.batch_order import ReversedBatch, reversed_name
from tensorparity.triage.examine import Examined, Examiner

#: The other kernels that each library has for the same operations.
OTHER_KERNELS = {
    "tensorflow": "{TF_ENABLE_ONEDNN_OPTS=0}",
    "jax": "{XLA_FLAGS=--xla_cpu_max_isa=AVX}",  # without FMA; still older ones cannot convert float16
    "torch": "{onednn=0}",
}


def examine(library: str, models: int, seed: int) -> tuple[list[Examined], list[Suspicion], tuple[str, ...], int]:
    """All steps, all convictions after confirmation, the variants, and the number of single cases."""
    own = f"keras:{library}"
    started = (own, own + "{threads=2}", own + OTHER_KERNELS[library])
    variants = (*started, reversed_name(own))
    traits = traits_of(variants)
    setup = Setup(seed, variants, Traits({name: replace(traits[name], family="keras") for name in variants}))
    engine = MuffinEngine(setup)
    steps: list[Examined] = []
    singles: list[Examined] = []
    with open_runner(started) as local:
        examiner = Examiner(ReversedBatch(local, [own]), setup)
        while len(steps) < models:
            asks = engine.ask()
            networks = [ask for ask in asks if ask.counted][: models - len(steps)]
            alone = [replace(ask, targets=started) for ask in asks if not ask.counted]
            found = examiner.examine([*networks, *alone])
            steps += found[: len(networks)]
            singles += found[len(networks) :]
        return steps, examiner.confirm_all(_suspected(steps, singles)), variants, len(singles)


def _suspected(steps: list[Examined], singles: list[Examined]) -> list[Suspicion]:
    """All of networks, and of single cases each defect once."""
    alone = [s for item in singles for s in item.judged.suspicions if s.diagnosis.klass is Class.DEFECT]
    distinct = {suspicion.key: suspicion for suspicion in reversed(alone)}
    return [*(suspicion for item in steps for suspicion in item.judged.suspicions), *distinct.values()]


def report(library: str, models: int, seed: int) -> int:
    began = time.monotonic()
    steps, found, variants, singles = examine(library, models, seed)
    groups: dict[str, list[Suspicion]] = {"FALSE ALARM": [], "raises in one way": [], "wrong in every way": []}
    for suspicion in found:
        if suspicion.diagnosis.klass is Class.DEFECT:
            everywhere = set(suspicion.diagnosis.suspects) in ({"keras"}, set(variants), set(suspicion.targets))
            alone = "raises in one way" if suspicion.kind in (Kind.ERROR, Kind.CRASH) else "FALSE ALARM"
            groups["wrong in every way" if everywhere else alone].append(suspicion)
    alarms = groups["FALSE ALARM"]
    undecided = sum(any(verdict.judgement.value == "undecided" for verdict in step.judged.verdicts) for step in steps)
    others = sorted({s.diagnosis.klass.value for s in found} - {Class.DEFECT.value})
    print(
        f"{library}: {len(steps)} networks in {len(variants)} ways, {singles} single cases, "
        f"{time.monotonic() - began:.0f} s: {len(alarms)} false alarms, "
        f"{undecided} networks undecided, other classes: {', '.join(others) or 'none'}"
    )
    for name, group in groups.items():
        for suspicion in group:
            diagnosis = suspicion.diagnosis
            where = f"{suspicion.stage.value} {diagnosis.api} {dict(diagnosis.parameters)}"
            print(f"  {name}: {where}, {', '.join(diagnosis.suspects)}: {sentences(diagnosis)[0]}")
    return len(alarms)


def main(models: int = 60, libraries: str = "tensorflow,jax,torch", seed: int = 0) -> int:
    return sum(report(library, models, seed) for library in libraries.split(","))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    count = int(arguments[0]) if arguments else 60
    sys.exit(1 if main(count, *arguments[1:2], seed=int(arguments[2]) if arguments[2:] else 0) else 0)
