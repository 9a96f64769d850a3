"""Single cases that ``fuzz`` and ``hunt`` run beside their networks, by what ``--stages`` calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.runner import Runner
from . import fuzz_functions, fuzz_losses, fuzz_metrics, fuzz_reloads
from .case_rounds import CaseRounds
from .fuzz_invalid import invalid_rounds

#: From the runner, the targets, the seed and the layers of the networks, of which there are none by default.
Begin = Callable[[Runner, Sequence[str], int, Sequence[str]], CaseRounds]

_ROUNDS: dict[str, Begin] = {
    fuzz_losses.STAGE: lambda runner, targets, seed, layers: fuzz_losses.loss_rounds(runner, targets, seed),
    fuzz_metrics.STAGE: lambda runner, targets, seed, layers: fuzz_metrics.metric_rounds(runner, targets, seed),
    fuzz_functions.STAGE: lambda runner, targets, seed, layers: fuzz_functions.function_rounds(runner, targets, seed),
    fuzz_reloads.STAGE: fuzz_reloads.reload_rounds,
}
BESIDE = tuple(_ROUNDS)
#: What ``stats`` calls how many there were.
_COUNTS = {
    fuzz_losses.STAGE: "loss_cases",
    fuzz_metrics.STAGE: "metric_cases",
    fuzz_functions.STAGE: "function_cases",
    fuzz_reloads.STAGE: "reload_cases",
}


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
        self._named = {kind: _ROUNDS[kind](runner, targets, seed, layers) for kind in kinds}
        self.rounds = [*self._named.values(), *([invalid_rounds(runner, targets, seed)] if kinds else [])]

    def counts(self) -> dict[str, int]:
        """How many cases of each kind were run, as a report calls them."""
        return {name: self._named[kind].count if kind in self._named else 0 for kind, name in _COUNTS.items()}
