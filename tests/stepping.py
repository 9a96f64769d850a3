"""Training steps examined on fake targets: by the examiner, with families made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import Traits
from tensorparity.core.verdict import Stage, Verdict
from tensorparity.oracles.step_facts import STEP, StepFacts
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examined, Examiner

#: By what ``--oracle`` says.
OF_STEPS = {"parity": "training_step", "muffin": "muffin"}


def traits(targets: Sequence[str], families: Mapping[str, str]) -> Traits:
    """As the catalogue has them, with these families."""
    known = traits_of(targets)
    return Traits({target: replace(known[target], family=families.get(target, "")) for target in targets})


@dataclass(frozen=True)
class Step:
    """What came of one case."""

    examined: Examined

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

    @property
    def inconsistent(self) -> list[Any]:
        return list(self.facts.inconsistent)


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
        setup = Setup(targets=tuple(targets), traits=traits([*targets, *others], families))
        settings = {name: {"stages": [stage.value for stage in stages]} for name in OF_STEPS.values() if stages}
        self.examiner = Examiner(runner, setup, settings=settings)
        self._oracle = OF_STEPS[oracle]
        self._found: list[Examined] = []

    def examine(self, cases: Sequence[Case]) -> list[Step]:
        found = self.examiner.examine([Ask(case, oracles=(self._oracle,)) for case in cases])
        self._found += found
        return [Step(examined) for examined in found]

    def confirm(self) -> list[Suspicion]:
        found = self.examiner.confirm(self._found)
        self._found.clear()
        return [suspicion for suspicion, _ in found]


class ExaminedCases:
    """Single cases, each judged by the oracle of its kind: what is doubted of them, and confirmed."""

    def __init__(self, runner: Any, targets: Sequence[str]) -> None:
        self._examiner = Examiner(runner, Setup(targets=tuple(targets), traits=traits_of(targets)))
        self._found: list[Examined] = []

    def examine(self, cases: Iterable[Case]) -> ExaminedCases:
        self._found += self._examiner.examine([Ask(case) for case in cases])
        return self

    @property
    def doubted(self) -> list[Suspicion]:
        """Of each defect the first suspicion."""
        defects = [s for e in self._found for s in e.judged.suspicions if s.diagnosis.klass is Class.DEFECT]
        return list({suspicion.key: suspicion for suspicion in reversed(defects)}.values())[::-1]

    @property
    def undecided(self) -> list[str]:
        """What everybody refuses is refused, as it should be."""
        return [e.judged.undecided for e in self._found if e.judged.undecided and e.oracle != "refusal"]

    def confirm(self) -> list[Suspicion]:
        return self._examiner.confirm_all(self.doubted)


class Answering:
    """A runner that answers one network with these outcomes, and lacks everything else."""

    def __init__(self, case: Case, outcomes: Mapping[str, Outcome]) -> None:
        self._digest, self._outcomes = case.digest, outcomes
        self.targets = tuple(outcomes)

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: Any) -> list[Outcome]:
        known = [(case.digest == self._digest, target) for case, target in pairs]
        return [self._outcomes[target] if own else Outcome(target, Status.UNSUPPORTED) for own, target in known]
