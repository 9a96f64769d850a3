"""Single cases that ``fuzz`` and ``hunt`` run beside their networks, by what ``--stages`` calls them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..core.case import Case
from ..core.outcome import Outcome
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from . import fuzz_functions, fuzz_kinks, fuzz_losses, fuzz_metrics, fuzz_reloads
from .case_rounds import CaseRounds
from .fuzz_invalid import invalid_rounds

#: From the runner, the seed and the layers of the networks, of which there are none by default.
Begin = Callable[[Runner, int, Sequence[str]], CaseRounds]

_ROUNDS: dict[str, Begin] = {
    fuzz_losses.STAGE: lambda runner, seed, layers: fuzz_losses.loss_rounds(runner, seed),
    fuzz_metrics.STAGE: lambda runner, seed, layers: fuzz_metrics.metric_rounds(runner, seed),
    fuzz_functions.STAGE: lambda runner, seed, layers: fuzz_functions.function_rounds(runner, seed),
    fuzz_reloads.STAGE: fuzz_reloads.reload_rounds,
    fuzz_kinks.STAGE: fuzz_kinks.kink_rounds,
}
BESIDE = tuple(_ROUNDS)
#: What ``stats`` calls how many there were.
_COUNTS = {
    fuzz_losses.STAGE: "loss_cases",
    fuzz_metrics.STAGE: "metric_cases",
    fuzz_functions.STAGE: "function_cases",
    fuzz_reloads.STAGE: "reload_cases",
    fuzz_kinks.STAGE: "kink_cases",
}


@dataclass(frozen=True)
class Singles:
    """Single cases of one round, with those who judge them."""

    cases: Sequence[tuple[CaseRounds, Case]]
    targets: Sequence[str]

    def pairs(self) -> list[tuple[Case, str]]:
        return [(case, target) for _, case in self.cases for target in self.targets]

    def judge(self, outcomes: Sequence[Outcome]) -> None:
        """Judge all of them by what came of ``pairs``."""
        answers = iter(outcomes)
        found = [(rounds, case, {target: next(answers) for target in self.targets}) for rounds, case in self.cases]
        for rounds, case, own in found:
            rounds.judge(case, own)


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
        self._runner, self._targets = runner, targets
        self._named = {kind: _ROUNDS[kind](runner, seed, layers) for kind in kinds}
        self._rounds = [*self._named.values(), *([invalid_rounds(runner, seed)] if kinds else [])]

    def propose(self) -> Singles:
        """A few more cases of every kind."""
        return Singles([(rounds, case) for rounds in self._rounds for case in rounds.propose()], self._targets)

    def round(self) -> None:
        """Run a few more cases of every kind, in one batch."""
        singles = self.propose()
        singles.judge(self._runner.run_pairs(singles.pairs()) if singles.cases else ())

    @property
    def doubted(self) -> list[Suspicion]:
        """What has to be confirmed."""
        return [suspicion for rounds in self._rounds for suspicion in rounds.doubted]

    def confirm(self) -> Iterator[list[Suspicion]]:
        """What was doubted, seen again in fresh processes, or flaky; one kind after the other."""
        return (rounds.confirm() for rounds in self._rounds)

    def set_aside(self) -> dict[str, dict[str, int]]:
        """How many cases blamed nobody, and why."""
        undecided, classes = Counter[str](), Counter[str]()
        for rounds in self._rounds:
            undecided += rounds.undecided
            classes += rounds.blameless
        return {"undecided": dict(undecided.most_common()), "classes": dict(classes.most_common())}

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """What the targets did last on a case that accuses one of them."""
        return {target: outcome for rounds in self._rounds for target, outcome in rounds.outcomes.items()}

    def counts(self) -> dict[str, int]:
        """How many cases of each kind were sent out, as a report calls them."""
        return {name: self._named[kind].count if kind in self._named else 0 for kind, name in _COUNTS.items()}
