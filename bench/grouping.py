"""How well clusters of findings fit root causes that somebody else has assigned."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorparity.core.finding import Finding
from tensorparity.store.database import open_store


def adjusted_rand(first: Sequence[object], second: Sequence[object]) -> float:
    """Agreement of two partitions: 1 where they are the same, about 0 by chance."""
    together = sum(math.comb(count, 2) for count in Counter(zip(first, second, strict=True)).values())
    rows = sum(math.comb(count, 2) for count in Counter(first).values())
    columns = sum(math.comb(count, 2) for count in Counter(second).values())
    pairs = math.comb(len(first), 2)
    expected = rows * columns / pairs if pairs else 0.0
    most = (rows + columns) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def pairwise_precision(clusters: Sequence[object], roots: Sequence[object]) -> float:
    """Of all pairs of findings in one cluster, the share that has one root; 1 where there is no such pair."""
    paired = sum(math.comb(count, 2) for count in Counter(clusters).values())
    right = sum(math.comb(count, 2) for count in Counter(zip(clusters, roots, strict=True)).values())
    return right / paired if paired else 1.0


@dataclass(frozen=True)
class Grouping:
    """Clusters against roots.

    Args:
        findings: the defects that have a root; ``unlabelled`` is how many have none.
        unreduced: of the clusters, those that time did not suffice to reduce.
        mixed: clusters of several roots; ``split``: roots in several clusters.
    """

    findings: int
    unlabelled: int
    clusters: int
    roots: int
    unreduced: int
    rand: float
    precision: float
    mixed: Mapping[str, tuple[str, ...]]
    split: Mapping[str, tuple[str, ...]]

    @property
    def lines(self) -> list[str]:
        """As they are printed."""
        ratio = self.clusters / self.roots if self.roots else math.nan
        share = self.unreduced / self.clusters if self.clusters else 0.0
        left = f"; {self.unlabelled} without a root were left out" if self.unlabelled else ""
        return [
            f"{self.findings} findings, {self.clusters} clusters, {self.roots} roots{left}",
            f"adjusted Rand index {self.rand:.3f}; pairwise precision {self.precision:.3f}; "
            f"clusters / roots {ratio:.2f}; not reduced {100 * share:.1f} %",
            *(f"roots in one cluster {name}: {', '.join(several)}" for name, several in self.mixed.items()),
            *(f"clusters of one root {name}: {', '.join(several)}" for name, several in self.split.items()),
        ]


def grouping(findings: Sequence[Finding], roots: Mapping[str, str]) -> Grouping:
    """Defects, each once, against roots by their ids."""
    defects = {finding.id: finding for finding in findings if finding.is_defect}
    labelled = [finding for identity, finding in defects.items() if identity in roots]
    clusters = [finding.cluster or finding.signature for finding in labelled]
    given = [roots[finding.id] for finding in labelled]
    closed = {name for name, finding in zip(clusters, labelled, strict=True) if finding.reduced is not False}
    open_ones = set(clusters) - closed
    return Grouping(
        len(labelled),
        len(defects) - len(labelled),
        len(set(clusters)),
        len(set(given)),
        len(open_ones),
        adjusted_rand(clusters, given),
        pairwise_precision(clusters, given),
        _several(clusters, given),
        _several(given, clusters),
    )


def _several(outer: Sequence[str], inner: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Groups of the first kind that hold several of the second."""
    members: dict[str, set[str]] = {}
    for one, other in zip(outer, inner, strict=True):
        members.setdefault(one, set()).add(other)
    return {one: tuple(sorted(others)) for one, others in sorted(members.items()) if len(others) > 1}


def read_roots(path: Path) -> dict[str, str]:
    """Root by finding, from lines of ``id,root``; a heading is no finding.

    Raises:
        ValueError: for a line of another form.
    """
    found: dict[str, str] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            if not row:
                continue
            if len(row) != 2:
                raise ValueError(f"{path}:{number}: an id and a root, not {len(row)} cells")
            found[row[0].strip()] = row[1].strip()
    return found


def stored(stores: Sequence[str]) -> list[Finding]:
    """All findings of these stores."""
    found: list[Finding] = []
    for location in stores:
        with open_store(location, create=False) as store:
            found += store.findings()
    return found
