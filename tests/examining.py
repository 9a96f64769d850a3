"""One case, examined as ``replay`` and ``reduce`` do it: run on targets and judged by its oracle."""

from __future__ import annotations

from collections.abc import Sequence

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.oracle import Judged, Setup
from tensorparity.core.outcome import Outcome
from tensorparity.core.runner import Runner
from tensorparity.core.signature import Key
from tensorparity.oracles.kinds import CaseKind, kind_of, oracle_of
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examined, Examiner

Outcomes = dict[str, Outcome]


def examine_case(
    runner: Runner,
    case: Case,
    targets: Sequence[str],
    *,
    fresh: bool = False,
    convicted: Sequence[str] = (),
) -> tuple[Judged, Outcomes]:
    """Run one case on the targets and judge it; also what each target did.

    Args:
        convicted: the suspects when the case was filed: others were right then, so one of them may be run alone.
    """
    found = look(runner, case, targets, fresh=fresh, convicted=convicted)
    return found.judged, dict(found.own)


def look(
    runner: Runner, case: Case, targets: Sequence[str], *, fresh: bool = False, convicted: Sequence[str] = ()
) -> Examined:
    """One look at a case, with all that came of it."""
    examiner = examiner_for(runner, targets)
    (found,) = examiner.examine([ask(case, targets)], fresh=fresh, claim=claim_of(convicted))
    return found


def examine_cases(
    runner: Runner, cases: Sequence[Case], targets: Sequence[str], *, fresh: bool = False
) -> list[Judged]:
    """Several cases that do not depend on each other, in one round trip; answers in their order."""
    found = examiner_for(runner, targets).examine([ask(case, targets) for case in cases], fresh=fresh)
    return [examined.judged for examined in found]


def judge_case(runner: Runner, case: Case, outcomes: Outcomes) -> Judged:
    """Judge a case that was run; whatever else has to be run for that is."""
    return examiner_for(runner, list(outcomes)).judge_known(ask(case, list(outcomes)), outcomes).judged


def examiner_for(runner: Runner, targets: Sequence[str]) -> Examiner:
    """An examiner of these targets, which remembers no convictions."""
    return Examiner(runner, Setup(targets=tuple(targets), traits=traits_of(targets)))


def ask(case: Case, targets: Sequence[str]) -> Ask:
    """A whole step of training that is examined alone is judged as it is, without taking its network apart."""
    whole_step = kind_of(case) is CaseKind.NETWORK_STEP
    return Ask(case, tuple(targets), ("trained_layer" if whole_step else oracle_of(case),))


def claim_of(convicted: Sequence[str]) -> Key | None:
    """The key of a finding of which no more than its suspects is known."""
    return ("", "", ",".join(convicted), "", "") if convicted else None
