"""``replay``: a case file again, on its own targets or on others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ..campaign.events import Listener, Progress, silent
from ..campaign.filing import make_finding, target_facts
from ..campaign.sections import Sections
from ..operators.reference.rounding import K
from ..reporting.facts import Facts
from ..targets.runner import RunnerSettings
from ..triage.examine import Examined
from .opening import OpenCase, open_case

#: Times a case is run, each in processes of its own: what fails in some of them only is flaky.
REPEATS = 2


@dataclass(frozen=True)
class Replayed:
    """What came of it; ``broken`` also where no target could run the case at all."""

    facts: Facts
    broken: bool


def replay(
    path: Path,
    targets: str | None,
    settings: RunnerSettings,
    listener: Listener = silent,
    repeats: int = REPEATS,
    *,
    oracle: str = "",
    sections: Sections | None = None,
) -> Replayed:
    """Run the case in fresh workers, caches off, and judge it: still fails, fixed, flaky, or cannot run.

    Raises:
        CaseFileError: if the file is broken or hostile.
        UsageError: if it has no targets that are installed.
    """
    began = time.monotonic()
    with open_case(path, targets, settings, oracle, sections) as opened:
        looks: list[Examined] = []
        for repeat in range(repeats):
            listener(Progress("replaying", repeat, repeats, path.name))
            looks.append(opened.look(fresh=True))
            outcomes = looks[-1].own
            if not any(outcome.completed for outcome in outcomes.values()) and not looks[-1].judged.suspicions:
                break  # it cannot run here: no need to see it twice
        suspicions = opened.examiner().agree(looks)
        undecided = "" if suspicions else next((why for look in looks if (why := look.judged.undecided)), "")
        findings = tuple(make_finding(s, "replay", outcomes, opened.case.digest) for s in suspicions)
        facts = Facts(
            command="replay",
            seed=opened.case.seed,
            targets=target_facts(opened.runner, opened.targets, outcomes),
            stats={"cases": 1, "seconds": time.monotonic() - began, "undecided": int(bool(undecided))},
            findings=findings,
            subject=path.name,
            notes=opened.notes,
            isolated_threshold=K,
            planted=opened.planted,
            accused=opened.accused_elsewhere(outcomes),
            undecided={undecided: 1} if undecided else {},
        )
        ran = any(outcome.completed for outcome in outcomes.values()) or bool(findings)
        return Replayed(facts, _is_broken(opened) or not ran)


def _is_broken(opened: OpenCase) -> bool:
    return any(target in opened.targets for target in opened.runner.broken)
