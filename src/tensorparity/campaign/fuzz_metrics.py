"""Metrics beside the networks of ``fuzz``: a few cases a round, judged by references, confirmed in fresh processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..core.case import Case
from ..core.runner import Runner
from ..operators.metrics.catalogue import METRICS, draw_params, metric_case
from ..triage.suspicion import Suspicion
from .examining import examine_cases
from .reducing import confirmed

#: What ``--stages`` calls them.
STAGE = "metrics"
_PER_ROUND = 2


def metric_cases(seed: int) -> Iterator[Case]:
    """All metrics in turn, again and again; the n-th case depends on the seed and n alone."""
    specs = list(METRICS.values())
    index = 0
    while True:
        rng = np.random.default_rng([seed, 0x3E7, index])
        spec = specs[index % len(specs)]
        yield metric_case(spec, draw_params(spec, rng), rng, weighted=bool(rng.random() < 0.5))
        index += 1


class MetricRounds:
    """Runs metrics, and remembers what has to be confirmed."""

    def __init__(self, runner: Runner, targets: Sequence[str], seed: int) -> None:
        self._runner, self._targets = runner, targets
        self._cases = metric_cases(seed)
        self._doubted: dict[tuple[str, ...], Suspicion] = {}
        self._confirmed: set[tuple[str, ...]] = set()
        self.count = 0

    def round(self) -> None:
        """A few more cases."""
        cases = [next(self._cases) for _ in range(_PER_ROUND)]
        self.count += len(cases)
        for checked in examine_cases(self._runner, cases, self._targets):
            for suspicion in checked.suspicions:
                self._doubted.setdefault(suspicion.key, suspicion)

    def confirm(self) -> list[Suspicion]:
        """What was doubted, seen again in fresh processes, once each; what does not show again is flaky."""
        new = [suspicion for key, suspicion in self._doubted.items() if key not in self._confirmed]
        found = confirmed(self._runner, new)
        self._confirmed.update(suspicion.key for suspicion in new)
        return found
