"""One case, examined: run on targets and judged by its oracle. Replay, reduce and localize all go through here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.case import Case
from ..core.engine import Ask
from ..core.oracle import Judged, Setup
from ..core.outcome import Outcome
from ..core.runner import Runner
from ..core.signature import Key
from ..oracles.kinds import CaseKind, kind_of, oracle_of
from ..targets.catalogue import traits_of
from ..triage.examine import Deliver, Examiner
from .exports import ExportedCases

Outcomes = dict[str, Outcome]


def examine_case(
    runner: Runner,
    case: Case,
    targets: Sequence[str],
    *,
    fresh: bool = False,
    given: ExportedCases | None = None,
    convicted: Sequence[str] = (),
) -> tuple[Judged, Outcomes]:
    """Run one case on the targets and judge it; also what each target did.

    Args:
        given: what each target is given of the case, where that is not the case itself.
        convicted: the suspects when the case was filed: others were right then, so one of them may be run alone.
    """
    examiner = examiner_for(runner, targets, delivering(case, given) if given else None)
    (found,) = examiner.examine([_ask(case, targets)], fresh=fresh, claim=_claim(convicted))
    return found.judged, dict(found.own)


def examine_cases(
    runner: Runner, cases: Sequence[Case], targets: Sequence[str], *, fresh: bool = False
) -> list[Judged]:
    """Several cases that do not depend on each other, in one round trip; answers in their order."""
    found = examiner_for(runner, targets).examine([_ask(case, targets) for case in cases], fresh=fresh)
    return [examined.judged for examined in found]


def judge_case(runner: Runner, case: Case, outcomes: Outcomes) -> Judged:
    """Judge a case that was run; whatever else has to be run for that is."""
    return examiner_for(runner, list(outcomes)).judge_known(_ask(case, list(outcomes)), outcomes).judged


def examiner_for(runner: Runner, targets: Sequence[str], deliver: Deliver | None = None) -> Examiner:
    """An examiner of these targets, which remembers no convictions."""
    return Examiner(runner, Setup(targets=tuple(targets), traits=traits_of(targets)), deliver=deliver)


def delivering(case: Case, given: ExportedCases) -> Deliver:
    """Exported files in the place of the case's own, for those who cannot read it."""

    def deliver(asked: Case, target: str) -> Case:
        instead = given.cases.get(target, case).subject
        return replace(asked, subject=instead) if asked.subject == case.subject and instead != case.subject else asked

    return deliver


def _ask(case: Case, targets: Sequence[str]) -> Ask:
    """A whole step of training that is examined alone is judged as it is, without taking its network apart."""
    whole_step = kind_of(case) is CaseKind.NETWORK_STEP
    return Ask(case, tuple(targets), ("trained_layer" if whole_step else oracle_of(case),))


def _claim(convicted: Sequence[str]) -> Key | None:
    """The key of a finding of which no more than its suspects is known."""
    return ("", "", ",".join(convicted), "", "") if convicted else None
