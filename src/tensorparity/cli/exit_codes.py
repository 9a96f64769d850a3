"""What a command ends with: the same rules for all of them.

1: a new defect, or whatever else ``--fail-on`` names. 3: the run did not do what it was asked for: it was interrupted,
a target that was asked for ran nothing, or a campaign judged no case. 0 otherwise. (2, a usage error, never comes to a
report.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from ..core.finding import Class
from ..core.near_misses import meant
from ..core.severity import Severity
from ..reporting.facts import Facts, TargetFacts
from ..reporting.standing import known_suspects
from ..reporting.summary import is_open

UNDECIDED, DIGITS = "undecided", Severity.DIGITS.value
_CAMPAIGNS = ("hunt", "fuzz", "mutate", "precision", "equiv")
#: How a target fared that was asked for and ran nothing.
_NEVER_RAN = ("broken", "missing", "skipped", "unsupported")


@dataclass(frozen=True)
class FailOn:
    """What makes a run fail.

    Args:
        undecided: also what could not be decided, was not confirmed, or leaves the headline open.
        digits: also a layer that costs digits in a model whose outputs agree.
    """

    classes: tuple[Class, ...] = (Class.DEFECT,)
    undecided: bool = False
    digits: bool = False


class FailOnOption(click.ParamType[FailOn]):
    """A comma-separated list of diagnosis classes, ``undecided`` and ``digits``; defects always count."""

    name = "what,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> FailOn:
        if isinstance(value, FailOn):
            return value
        names = [part.strip() for part in str(value).split(",") if part.strip()]
        extra = {name for name in names if name in (UNDECIDED, DIGITS)}
        known = [*(item.value for item in Class), UNDECIDED, DIGITS]
        for name in names:
            if name not in known:
                self.fail(f"unknown class {name!r}{meant(name, known)}; known are {', '.join(known)}", param, ctx)
        named = (Class(name) for name in names if name not in extra)
        return FailOn(tuple(dict.fromkeys((Class.DEFECT, *named))), UNDECIDED in extra, DIGITS in extra)


def exit_code(facts: Facts, fail_on: FailOn, broken: bool, *, asked: bool = False, none_wanted: bool = False) -> int:
    """What this run ends with.

    Args:
        broken: the command itself says that the run failed.
        asked: the user named the targets, so that one that ran nothing is a failure.
        none_wanted: the user asked for no case, so that having judged none is none.
    """
    if _fails(facts, fail_on):
        return 1
    silent = asked and any(_never_ran(facts, target) for target in facts.targets)
    idle = _judged_nothing(facts) and not none_wanted
    return 3 if broken or silent or facts.interrupted or idle else 0


def _judged_nothing(facts: Facts) -> bool:
    """A campaign whose time was over before its first result has not found that nothing is wrong."""
    return facts.command in _CAMPAIGNS and facts.stats.get("cases") == 0 and not facts.findings


def _never_ran(facts: Facts, target: TargetFacts) -> bool:
    """One model is run or it is not, in whatever way it ended; a campaign has further cases."""
    if facts.comparisons is None:
        return target.status in _NEVER_RAN
    return not target.usable and target.name not in known_suspects(facts)


def _fails(facts: Facts, fail_on: FailOn) -> bool:
    remarks = {finding.id for finding in facts.remarks}
    spared = facts.accepted | (frozenset() if fail_on.digits else remarks)
    if any(finding.diagnosis.klass in fail_on.classes and finding.id not in spared for finding in facts.findings):
        return True
    if fail_on.digits and remarks - facts.accepted:
        return True
    return fail_on.undecided and is_open(facts)
