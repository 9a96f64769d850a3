"""One finding per defect: what a reduction shows to be a defect that was filed already is only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..core.finding import Class, Finding
from ..triage.reduction.preparation import Prepared


class Distinct:
    """The findings of a run by what they were reduced to.

    Args:
        filed: what an earlier part of the run has filed.
    """

    def __init__(self, filed: Iterable[Finding] = ()) -> None:
        #: By signature, the finding that was the first to be reduced to it.
        self._first = {
            finding.signature: finding.id for finding in filed if _is_defect_of_api(finding) and finding.reduced
        }
        #: By signature, how often it was met again.
        self.again: Counter[str] = Counter()
        #: What it would have been, by the finding's id.
        self._merged: dict[str, str] = {}
        #: By signature, the public names through which it was met besides its own.
        self.reached_through: dict[str, set[str]] = {}
        #: By signature, those that it would have had under these names.
        self.aliases: dict[str, set[str]] = {}

    def of(self, found: Sequence[tuple[Finding, Prepared]]) -> list[tuple[Finding, Prepared]]:
        """Those that are no other's defect once more; what was not reduced to its end may be anything."""
        kept: list[tuple[Finding, Prepared]] = []
        for finding, item in found:
            if item.explained_by:
                self._count(finding, item.explained_by)
                continue
            known = _is_defect_of_api(finding) and item.is_reduced
            if known and self._first.setdefault(finding.signature, finding.id) != finding.id:
                self._count(finding, finding.signature)
            else:
                kept.append((finding, item))
        return kept

    def _count(self, finding: Finding, signature: str) -> None:
        """One more sighting of the defect of this signature."""
        self.again[signature] += 1
        self._merged[finding.id] = signature
        names = {*finding.reached_through, *([finding.diagnosis.api] if finding.diagnosis.api else [])}
        self.reached_through.setdefault(signature, set()).update(names)
        self.aliases.setdefault(signature, set()).update(finding.aliases)

    def is_merged(self, identity: str) -> bool:
        """Whether the finding of this id was merged into another; it is counted once more then."""
        if identity in self._merged:
            self.again[self._merged[identity]] += 1
        return identity in self._merged


def _is_defect_of_api(finding: Finding) -> bool:
    return finding.diagnosis.klass is Class.DEFECT and finding.diagnosis.api is not None
