"""How long the targets worked on a case: told and stored with its result, so that a resumed run knows it too."""

from __future__ import annotations

from typing import ClassVar

from ..core.oracle import Judged, Seen, Setup
from ..core.verdict import Judgement, Verdict

#: The oracle's name, and its measure: by target, the seconds that its worker took.
ELAPSED = "elapsed"


class Elapsed:
    """Measures, and decides nothing."""

    settings: ClassVar[tuple[str, ...]] = ()

    only_measures = True

    name = ELAPSED

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        seconds = {target: [outcome.seconds] for target, outcome in seen.own.items()}
        return Judged((Verdict(Judgement.PASS, seen.targets, "measured"),), measures={ELAPSED: seconds})
