"""A round of single cases, without networks."""

from __future__ import annotations

from collections.abc import Sequence

from tensorparity.campaign.beside import Singles
from tensorparity.campaign.case_rounds import CaseRounds
from tensorparity.core.runner import Runner


def run_round(rounds: CaseRounds, runner: Runner, targets: Sequence[str]) -> None:
    singles = Singles([(rounds, case) for case in rounds.propose()], targets)
    singles.judge(runner.run_pairs(singles.pairs()))
