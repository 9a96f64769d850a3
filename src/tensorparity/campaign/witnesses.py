"""Native implementations that are asked about what was convicted: is the library wrong, or what stands in front of it?

Few whole networks can be had in torch or ONNX alone, but most layers can. So the networks are compared between the
targets, and what these are convicted of is put to independent implementations of the layer, whose answers are evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.capabilities import within_reach
from ..core.case import Case
from ..core.finding import Diagnosis
from ..core.outcome import Outcome
from ..core.runner import Runner
from ..targets.catalogue import TARGETS, traits_of
from ..triage.endings import EndingTrial
from ..triage.trials import Trial
from .selection import installed_target


def witnesses_for(targets: Sequence[str]) -> list[str]:
    """The installed ones that are not on trial themselves."""
    native = [name for name in reversed(TARGETS.names()) if TARGETS.get(name).traits.witness]
    return [name for name in native if name not in targets and installed_target(name)]


@dataclass(frozen=True)
class Witnesses:
    """Asks them; nobody is started before the first question."""

    runner: Runner
    names: Sequence[str] = ()

    def heard(self, cases: Sequence[Case]) -> list[dict[str, Outcome]]:
        """What each of them did with each case; who does not know the layer is left out."""
        traits = traits_of(self.names)
        pairs = [(within_reach(case, traits[name]), name) for case in cases for name in self.names]
        answers = iter(self.runner.run_pairs(pairs) if pairs else ())
        return [{name: found for name in self.names if (found := next(answers)).completed} for _ in cases]


def with_testimony(
    diagnosis: Diagnosis, trial: Trial | EndingTrial, outcomes: Mapping[str, Outcome], heard: Mapping[str, Outcome]
) -> Diagnosis:
    """The diagnosis with what the witnesses have to say; they change nobody's guilt."""
    if isinstance(trial, EndingTrial):
        goal = trial.case.procedure.goal
        traits = traits_of(heard)
        as_far = [name for name in heard if within_reach(trial.case, traits[name]).procedure.goal is goal]
        return _with(diagnosis, [f"{name} runs the same without Keras" for name in as_far])
    errors = trial.judge({**outcomes, **heard}, traits_of([*outcomes, *heard]))
    known = {name: errors.errors[name] for name in heard if not math.isnan(errors.errors.get(name, math.nan))}
    return _with(diagnosis, [_said(name, error, errors.limit) for name, error in known.items()])


def _said(name: str, error: float, limit: float) -> str:
    answer = "is right about" if error <= limit else "is wrong about"
    return f"{name}, without Keras, {answer} the same layer on the same numbers ({error:.3g} units, limit {limit:g})"


def _with(diagnosis: Diagnosis, lines: Sequence[str]) -> Diagnosis:
    return replace(diagnosis, evidence=(*diagnosis.evidence, *lines))
