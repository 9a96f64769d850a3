"""Training steps examined on fake targets: by the examiner, with families made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import Traits
from tensorparity.core.verdict import Judgement, Stage, Verdict
from tensorparity.oracles.kinds import ORACLES
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
        return found


class Answering:
    """A runner that answers one network with these outcomes, and lacks everything else."""

    def __init__(self, case: Case, outcomes: Mapping[str, Outcome]) -> None:
        self._digest, self._outcomes = case.digest, outcomes
        self.targets = tuple(outcomes)

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: Any) -> list[Outcome]:
        known = [(case.digest == self._digest, target) for case, target in pairs]
        return [self._outcomes[target] if own else Outcome(target, Status.UNSUPPORTED) for own, target in known]


class _StandIn:
    """In the place of an oracle of single cases: the judge of replay."""

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        from tensorparity.campaign import examining, judging, judging_training

        def families_of(targets: Sequence[str]) -> dict[str, str]:
            return seen.traits.families(targets)

        with (
            patch.object(examining, "families_of", families_of),
            patch.object(judging, "families_of", families_of),
            patch.object(judging_training, "families_of", families_of),
        ):
            checked = examining.judge_case(None, seen.case, dict(seen.own))  # type: ignore[arg-type]
        free = any(s.diagnosis.klass is Class.SPECIFICATION and s.stage is Stage.BACKWARD for s in checked.suspicions)
        by = "subgradient" if free else "nothing" if checked.undecided else "reference"
        said = Judgement.UNDECIDED if checked.undecided else Judgement.PASS
        found = [
            Verdict(Judgement.FAIL, s.targets, "wrong", kind=s.kind, stage=s.stage, judged_by=by)
            for s in checked.suspicions
        ]
        whole = Verdict(said, seen.targets, checked.undecided, judged_by=by)
        return Judged(tuple(found) or (whole,), checked.suspicions)


for _name in ("layer", "layers", "trained_layer", "replayed"):
    if _name not in ORACLES:
        ORACLES._paths[_name], ORACLES._loaded[_name] = _name, _StandIn
