"""Unique inconsistencies as Table II counts them: inconsistent pairs of targets whose patterns are equal are one.

The same difference shows in several models, runs and versions of a library; whoever has told them, the store too, can
group them. Two pairs of targets are never one: a pattern that TH-TF and TF-CN share counts for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.jsontext import Json


class UniqueInconsistencies:
    """What oracles told of inconsistent pairs, grouped by pair, metric and pattern."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, tuple[int, ...]], list[Mapping[str, Json]]] = {}

    def add(self, told: Iterable[Mapping[str, Json]]) -> None:
        """Take up the ``inconsistent`` of one result; a baseline that has no pattern groups nothing."""
        for item in told:
            pattern = tuple(item["pattern"])
            key = (pair_of(item), item["metric"], pattern or (len(self._groups),))
            self._groups.setdefault(key, []).append(item)

    def rows(self) -> list[Json]:
        """One per unique inconsistency, with all that showed it."""
        return [
            {"pair": pair, "metric": metric, "pattern": list(pattern), "seen": [_place(item) for item in seen]}
            for (pair, metric, pattern), seen in self._groups.items()
        ]

    def counts(self) -> list[Json]:
        """Table II: by pair of targets, how many are unique, and how many there are in all."""
        pairs = dict.fromkeys(pair for pair, _, _ in self._groups)
        return [
            {
                "pair": pair,
                "unique": sum(key[0] == pair for key in self._groups),
                "total": sum(len(seen) for key, seen in self._groups.items() if key[0] == pair),
            }
            for pair in pairs
        ]

    def tables(self) -> dict[str, Json]:
        """What a document has of them; nothing where nobody is inconsistent."""
        return {"inconsistencies": self.counts(), "unique_inconsistencies": self.rows()} if self._groups else {}


def pair_of(item: Mapping[str, Json]) -> str:
    """The two targets, without the output that they were compared in."""
    return " / ".join(item["targets"]) if "targets" in item else " / ".join(str(item["pair"]).split(" / ")[:2])


def _place(item: Mapping[str, Json]) -> Json:
    """Where one was seen: the model, its output, and the versions."""
    output = str(item["pair"]).split(" / ")[-1]
    return {"model": item.get("model", ""), "output": output, "versions": item.get("versions", {})}
