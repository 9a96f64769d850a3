"""What a fuzzing run counts: the paper's tables 3 to 6 and figure 5 for the targets of today, and more."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ...core.jsontext import Json
from ...core.messages import normalised_message
from ...core.verdict import Judgement, Stage, Verdict
from ...oracles.muffin import SWEEP, Inconsistency, by_threshold
from ...oracles.step_facts import StepFacts

_PAPER = (Stage.FORWARD, Stage.LOSS, Stage.BACKWARD)
_UNSUPPORTED = "unsupported"


class NetworkTally:
    """Counts as the paper does: a layer once per pair, stage and data set; a crash once per message."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = tuple(targets)
        self.models = 0
        self.undecided = 0
        self.unsupported = 0
        self.unbuildable = 0
        self.depths: list[int] = []
        self.nodes: list[int] = []
        self.executions: Counter[str] = Counter()
        self.lacks: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.again: Counter[str] = Counter()
        #: By the data set that they were made for, how many networks there were.
        self.networks: Counter[str] = Counter()
        self._inconsistent: set[tuple[str, str, str, str]] = set()
        self._endings: set[tuple[str, str, str, str]] = set()
        self._voted: set[tuple[str, str, str]] = set()
        self._sweep: dict[float, set[tuple[str, str, str]]] = {threshold: set() for threshold in SWEEP}

    def add(self, facts: StepFacts, verdicts: Iterable[Verdict], data: str, layers: int, nodes: int) -> None:
        """Count one network.

        Args:
            data: the data set that it was made for.
            layers: how many functional ones it has.
        """
        self.models += 1
        self.depths.append(layers)
        self.nodes.append(nodes)
        self.unbuildable += facts.unbuildable
        self.executions.update(facts.statuses.values())
        self.networks[data] += 1
        self.lacks.update(f"{target}: {normalised_message(said)}" for target, said in facts.unsupported.items())
        self.again.update("/".join(known.place[:3]) for known in facts.known)
        self._count_open(facts, verdicts)
        self._count_inconsistencies(facts, data)
        self._endings.update((target, column, data, what) for target, column, what in facts.ended)

    def _count_open(self, facts: StepFacts, verdicts: Iterable[Verdict]) -> None:
        """Each reason once, however many pairs give it; a lack of support is no open question."""
        lacking = {target for target, status in facts.statuses.items() if status == _UNSUPPORTED}
        left = [verdict for verdict in verdicts if verdict.judgement is Judgement.UNDECIDED]
        reasons = {verdict.reason for verdict in left if not lacking & set(verdict.targets)}
        self.reasons.update(reasons)
        self.undecided += bool(reasons)
        self.unsupported += any(lacking & set(verdict.targets) for verdict in left)

    def _count_inconsistencies(self, facts: StepFacts, data: str) -> None:
        """Tables 3 and 4 and figure 5; NaN on one side is no distance, and has a column of table 5."""
        found = [item for item in facts.inconsistent if not item.nan]
        self._inconsistent.update((_pair(item), item.stage.value, data, item.layer) for item in found)
        self._voted.update(facts.voted)
        for threshold, above in by_threshold([item for item in facts.parting if not item.nan]).items():
            self._sweep[threshold].update((_pair(item), item.stage.value, item.layer) for item in above)

    def tables(self) -> dict[str, Json]:
        pairs = [f"{a} / {b}" for a, b in itertools.combinations(self._targets, 2)]
        names = [*sorted(self.networks), "total"]
        return {
            "inconsistencies": [
                {"pair": pair, "data": name, **{s.value: self._layers(pair, s.value, name) for s in _PAPER}}
                for pair in pairs
                for name in names
            ],
            "endings": [self._endings_of(target, name) for target in self._targets for name in names],
            "voted": self.voted(),
            "networks": dict(sorted(self.networks.items())),
            "thresholds": {f"{threshold:g}": len(found) for threshold, found in self._sweep.items()},
        }

    def _layers(self, pair: str, stage: str, data: str) -> int:
        return len({e[3] for e in self._inconsistent if e[:2] == (pair, stage) and data in (e[2], "total")})

    def _endings_of(self, target: str, data: str) -> dict[str, Json]:
        columns = {column: self._ends(target, column, data) for column in ("nan", "generation", "execution")}
        return {"target": target, "data": data, **columns}

    def _ends(self, target: str, column: str, data: str) -> int:
        return len({e[3] for e in self._endings if e[:2] == (target, column) and data in (e[2], "total")})

    def voted(self) -> list[Json]:
        """The rows of table 3: a target, and per stage the layers in which all others agree against it."""
        return [
            {"target": target, **{s.value: self._voted_layers(target, s.value) for s in _PAPER}}
            for target in self._targets
        ]

    def _voted_layers(self, target: str, stage: str) -> list[str]:
        return sorted(layer for own, at, layer in self._voted if (own, at) == (target, stage))

    def stats(self) -> dict[str, Json]:
        """What ``stats`` of the document has beside the tables."""
        executions = sum(self.executions.values())
        return {
            "models": self.models,
            "undecided": self.undecided,
            "unsupported": self.unsupported,
            "mean_layers": float(np.mean(self.depths)) if self.depths else 0.0,
            "mean_nodes": float(np.mean(self.nodes)) if self.nodes else 0.0,
            "unbuildable": self.unbuildable,
            "executions": dict(self.executions),
            "unsupported_share": self.executions[_UNSUPPORTED] / executions if executions else 0.0,
            "unsupported_reasons": dict(self.lacks.most_common()),
            "undecided_reasons": dict(self.reasons.most_common()),
            "again": dict(self.again),
        }


def _pair(item: Inconsistency) -> str:
    return f"{item.a} / {item.b}"
