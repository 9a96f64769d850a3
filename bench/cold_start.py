"""From a cold start to the museum's Muffin faults: is each found, how soon, and is the right thing said?

Usage: cold_start.py [SEEDS] [MINUTES] [FAULT,...]

Plants a fault in one of three Keras targets and runs what ``fuzz`` runs, networks and single cases beside them, until
the right target is convicted in the right stage and layer, confirmed in fresh processes and innocent without the fault:
what today's libraries have of their own does not count. Time includes starting the workers. A fault is done with when
four seeds of five have found it; exit code 1 if one is not.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.suspicion import Suspicion
from tensorparity.engines.muffin.engine import MuffinEngine
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.testing.museum import EXHIBITS, Exhibit
from tensorparity.triage.examine import BegunExamination, Examined, Examiner

TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")
#: Where it is planted, and part of the name of every layer or loss that runs the faulty code. Average pooling on torch
#: has a defect of its own, which would be found first, and again and again.
PLACES = {
    "avgpool-window-as-large-as-input": ("keras:jax", "AveragePooling"),
    "bce-epsilon-twice": ("keras:torch", "Binary"),
    "maxpool-gradient-to-all": ("keras:torch", "MaxPooling1D"),
    "globalmaxpool-ignores-nan": ("keras:tensorflow", "GlobalMaxPooling"),
}
WANTED = 0.8


@dataclass(frozen=True)
class Found:
    suspicion: Suspicion
    networks: int
    seconds: float

    def __str__(self) -> str:
        said = self.suspicion.diagnosis
        where = f"{self.suspicion.stage.value}, {', '.join(said.suspects)}, {said.api} {dict(said.parameters)}"
        return f"{self.seconds:.0f} s, {self.networks} networks: {where}"


class ColdStart:
    """One fault, one seed."""

    def __init__(self, exhibit: Exhibit, seed: int, minutes: float, clean: LocalRunner) -> None:
        self._exhibit = exhibit
        self._target, self._place = PLACES[exhibit.fault]
        self._seed = seed
        self._budget = 60.0 * minutes
        self._clean = clean

    def run(self) -> Found | None:
        began = time.monotonic()
        settings = RunnerSettings(workers=len(TARGETS), faults={self._target: load_fault(self._exhibit.fault)})
        with open_runner(TARGETS, settings) as runner:
            setup = Setup(self._seed, TARGETS, traits_of(TARGETS))
            examiner = Examiner(runner, setup)
            for count, examined in self._rounds(examiner, MuffinEngine(setup), began):
                candidates = [suspicion for item in examined for suspicion in item.judged.suspicions]
                if not any(self._is_it(s) for s in candidates):
                    continue
                for suspicion, _ in examiner.confirm(examined):
                    confirmed = suspicion.diagnosis.klass is Class.DEFECT and self._is_it(suspicion)
                    if confirmed and self._innocent_without(suspicion):
                        return Found(suspicion, count, time.monotonic() - began)
        return None

    def _rounds(self, examiner: Examiner, engine: MuffinEngine, began: float) -> Iterator[tuple[int, list[Examined]]]:
        """How many networks there were so far, and what came of the cases of each round."""
        flight: deque[BegunExamination] = deque()
        count = 0
        try:
            while True:
                while len(flight) <= engine.ahead and time.monotonic() - began < self._budget:
                    flight.append(examiner.begin(engine.ask()))
                if not flight:
                    return
                begun = flight.popleft()
                count += sum(ask.counted for ask in begun.asks)
                yield count, examiner.judge(begun)
        finally:
            for begun in flight:
                begun.cancel()

    def _is_it(self, suspicion: Suspicion) -> bool:
        said = suspicion.diagnosis
        right = suspicion.stage is self._exhibit.stage and said.suspects == (self._target,)
        return right and self._place in (said.api or "")

    def _innocent_without(self, suspicion: Suspicion) -> bool:
        examiner = Examiner(self._clean, Setup(self._seed, TARGETS, traits_of(TARGETS)))
        (examined,) = examiner.examine([Ask(suspicion.case, TARGETS, (suspicion.oracle,))], claim=suspicion.key)
        return not any(self._is_it(other) for other in examined.judged.suspicions)


def main(seeds: int = 5, minutes: float = 10.0, names: str = "") -> int:
    chosen = [name for name in names.split(",") if name] or list(PLACES)
    exhibits = [next(exhibit for exhibit in EXHIBITS if exhibit.fault == name) for name in chosen]
    missed = 0
    with open_runner(TARGETS) as clean:
        for exhibit in exhibits:
            found = tried = 0
            while tried < seeds and found < WANTED * seeds:  # enough is enough
                answer = ColdStart(exhibit, tried, minutes, clean).run()
                late = answer is not None and answer.seconds > 60.0 * minutes  # rounds under way are still judged
                found += answer is not None and not late
                print(f"{exhibit.fault}, seed {tried}: {answer or 'not found'}{' (too late)' * late}", flush=True)
                tried += 1
            print(f"{exhibit.fault}: {found} of {tried} seeds", flush=True)
            missed += found < WANTED * seeds
    return 1 if missed else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(*(int(text) for text in given[:1]), *(float(text) for text in given[1:2]), *given[2:3]))
