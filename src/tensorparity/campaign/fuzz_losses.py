"""Losses alone beside the networks of ``fuzz`` and ``hunt``, all of them in turn, judged by references."""

from __future__ import annotations

from ..core.runner import Runner
from ..generators.networks.loss_cases import loss_cases
from .case_rounds import CaseRounds

#: What ``--stages`` calls them.
STAGE = "losses"
_PER_ROUND = 4


def loss_rounds(runner: Runner, seed: int) -> CaseRounds:
    return CaseRounds(runner, loss_cases(seed), _PER_ROUND)
