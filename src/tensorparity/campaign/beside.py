"""Single cases that ``fuzz`` and ``hunt`` run beside their networks, by what ``--stages`` calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..core.runner import Runner
from . import fuzz_functions, fuzz_metrics, fuzz_reloads
from .case_rounds import CaseRounds
from .fuzz_invalid import invalid_rounds

Begin = Callable[[Runner, Sequence[str], int], CaseRounds]

_ROUNDS: dict[str, Begin] = {
    fuzz_metrics.STAGE: fuzz_metrics.metric_rounds,
    fuzz_functions.STAGE: fuzz_functions.function_rounds,
    fuzz_reloads.STAGE: fuzz_reloads.reload_rounds,
}
BESIDE = tuple(_ROUNDS)


class Beside:
    """What is run beside networks: the chosen kinds and, with any of them, what documentation rules out.

    Args:
        layers: those of the networks; by default all.
    """

    def __init__(
        self,
        runner: Runner,
        targets: Sequence[str],
        seed: int,
        kinds: Sequence[str] = BESIDE,
        layers: Sequence[str] = (),
    ) -> None:
        begin: dict[str, Begin] = {**_ROUNDS, fuzz_reloads.STAGE: partial(fuzz_reloads.reload_rounds, layers=layers)}
        self._named = {kind: begin[kind](runner, targets, seed) for kind in kinds}
        self.rounds = [*self._named.values(), *([invalid_rounds(runner, targets, seed)] if kinds else [])]

    def counts(self) -> dict[str, int]:
        """How many cases of each kind were run, as a report calls them."""
        return {f"{kind[:-1]}_cases": self._named[kind].count if kind in self._named else 0 for kind in BESIDE}
