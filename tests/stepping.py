"""Training steps examined on fake targets: by the examiner, with traits made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorparity.core.engine import Ask
from tensorparity.core.case import Case
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import TargetTraits, Traits, base_name
from tensorparity.core.verdict import Stage, Verdict
from tensorparity.oracles.step_facts import STEP, StepFacts
from tensorparity.targets.catalogue import TARGETS
from tensorparity.triage.ballots import ballot_of
from tensorparity.triage.examine import Examined, Examiner

#: By what ``--oracle`` says.
ORACLES = {"parity": "training_step", "muffin": "muffin"}


def traits_of(targets: Sequence[str], families: Mapping[str, str]) -> Traits:
    """As the catalogue has them, where it knows the target."""
    return Traits({target: _traits(target, families.get(target, "")) for target in targets})


def _traits(target: str, family: str) -> TargetTraits:
    base = base_name(target)
    known = TARGETS.get(base) if base in TARGETS else None
    more: dict[str, Any] = {"max_goal": known.furthest, "lowering": known.lowering} if known else {}
    witness = base in ("torch:eager", "onnxruntime")
    hurried = base == "keras:jax"
    return TargetTraits(base, family, ballot_of(target), unoptimized_eager=hurried, witness=witness, **more)


@dataclass(frozen=True)
class Step:
    """What came of one case."""

    examined: Examined

    @property
    def case(self) -> Case:
        return self.examined.case

    @property
    def facts(self) -> StepFacts:
        found: StepFacts = self.examined.judged.facts[STEP]
        return found

    @property
    def convicted(self) -> tuple[Suspicion, ...]:
        return self.examined.judged.suspicions

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.examined.judged.verdicts

    @property
    def known(self) -> tuple[tuple[str, ...], ...]:
        """Keys of what was not tried again, or not kept once more."""
        return self.examined.known

    @property
    def open(self) -> tuple[tuple[str, str], ...]:
        return self.facts.open


class ExaminedSteps:
    """Examines training steps, and confirms what was convicted since the last time."""

    def __init__(
        self,
        runner: Any,
        targets: Sequence[str],
        families: Mapping[str, str],
        *,
        oracle: str = "parity",
        stages: Sequence[Stage] = (),
        others: Sequence[str] = (),
    ) -> None:
        setup = Setup(targets=tuple(targets), traits=traits_of([*targets, *others], families))
        settings = {name: {"stages": [stage.value for stage in stages]} for name in ORACLES.values() if stages}
        self.examiner = Examiner(runner, setup, settings=settings)
        self._oracle = ORACLES[oracle]
        self._found: list[Examined] = []

    def examine(self, cases: Sequence[Case]) -> list[Step]:
        found = self.examiner.examine([Ask(case, oracles=(self._oracle,)) for case in cases])
        self._found += found
        return [Step(examined) for examined in found]

    def confirm(self) -> list[Suspicion]:
        found = self.examiner.confirm(self._found)
        self._found.clear()
        return found


class Prepared:
    """A runner that answers a whole network with these outcomes, and everything else as another runner does."""

    def __init__(self, case: Case, outcomes: Mapping[str, Outcome], inner: Any = None) -> None:
        self._digest, self._outcomes, self._inner = case.digest, outcomes, inner
        self.targets = tuple(outcomes)

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: Any) -> list[Outcome]:
        return [self._run(case, target, more) for case, target in pairs]

    def _run(self, case: Case, target: str, more: dict[str, Any]) -> Outcome:
        if case.digest == self._digest:
            return self._outcomes[target]
        if self._inner is None:
            return Outcome(target, Status.UNSUPPORTED)
        (outcome,) = self._inner.run_pairs([(case, target)], **more)
        return outcome  # type: ignore[no-any-return]
