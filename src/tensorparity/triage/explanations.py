"""What a run knows of its reduced defects: which suspicions they explain, and which of them are one defect."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..core.signature import Key, canonical_cluster
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from .examine import Examiner
from .explained_by import are_apart, explain, may_be_bare, trigger_of
from .known_differences import KnownDifference

#: One in so many of the explained is reduced in full all the same, to see whether the explanation holds.
_AUDITED = 20


class Explanations:
    """The reduced defects of a run, in the order in which they were found.

    Args:
        accepted: differences that the user accepts; such a defect explains what has its own key, and nothing else.
        explained: how many suspicions were another sighting of a known defect.
        audited: how many of those were reduced in full all the same.
        refuted: how many of the audited were reduced to another trigger.
    """

    def __init__(self, examiner: Examiner, accepted: Sequence[KnownDifference] = ()) -> None:
        self._examiner = examiner
        self._accepted = accepted
        self._defects: dict[str, Suspicion] = {}
        #: By signature, that of the finding where it is another: a function's, below the layer.
        self._filed_as: dict[str, str] = {}
        #: What was explained and is reduced all the same: by digest and signature, the defect that should come out.
        self._expected: dict[tuple[str, str], Suspicion] = {}
        #: What was held against which defects, by digest and signatures: once is enough.
        self._tried: set[tuple[tuple[str, str], str]] = set()
        self.explained = 0
        self.audited = 0
        self.refuted = 0

    def learn(self, reduced: Iterable[Suspicion], filed_as: str = "") -> None:
        """Take in defects that were reduced to their end.

        Args:
            filed_as: the signature of what is filed of them, where that is another: a function below the layer.
        """
        for suspicion in reduced:
            self._defects.setdefault(suspicion.signature, suspicion)
            if filed_as and filed_as != suspicion.signature:
                self._filed_as.setdefault(suspicion.signature, filed_as)

    def filed_as(self, signature: str) -> str:
        """The signature of the finding that a reduced defect was filed as."""
        return self._filed_as.get(signature, signature)

    def of(self, suspicions: Sequence[Suspicion]) -> list[tuple[Suspicion, str]]:
        """Those that a known defect explains, with its signature; a share of them is left to be reduced."""
        asked = [s for s in suspicions if _identity(s) not in self._expected]
        found = explain(self._examiner, asked, [self._untried(suspicion) for suspicion in asked])
        self._tried |= {(_identity(suspicion), signature) for suspicion in asked for signature in self._defects}
        told: list[tuple[Suspicion, str]] = []
        for place, defect in found.items():
            self.explained += 1
            if self._is_audited(asked[place]):
                self._expected[_identity(asked[place])] = defect
            else:
                told.append((asked[place], self.filed_as(defect.signature)))
        return told

    def _candidates(self, suspicion: Suspicion) -> list[Suspicion]:
        """The known defects that may explain it; one that is accepted speaks for its own key alone."""
        return [
            defect
            for signature, defect in self._defects.items()
            if defect.key == suspicion.key or not self._is_accepted(signature)
        ]

    def _untried(self, suspicion: Suspicion) -> list[Suspicion]:
        """The candidates that it has not been held against."""
        identity = _identity(suspicion)
        return [defect for defect in self._candidates(suspicion) if (identity, defect.signature) not in self._tried]

    def _others(self, suspicion: Suspicion) -> list[Suspicion]:
        """Its candidates but itself, in the order of signatures."""
        others = [other for other in self._candidates(suspicion) if other.signature != suspicion.signature]
        return sorted(others, key=lambda other: other.signature)

    def _is_accepted(self, signature: str) -> bool:
        names = {signature, self.filed_as(signature)}
        return any(entry.names(name) for entry in self._accepted for name in names)

    def _is_audited(self, suspicion: Suspicion) -> bool:
        drawn = hashlib.sha256(f"{self._examiner.setup.seed}\n{suspicion.case.digest}".encode()).digest()
        return drawn[0] % _AUDITED == 0

    def audit(self, original: Suspicion, reduced: Suspicion, filed_as: str = "") -> str:
        """Of what was explained and reduced all the same: whose defect it is, by signature; empty where it is new.

        Args:
            filed_as: the signature of what is filed of it, where that is a function below the layer.
        """
        defect = self._expected.get(_identity(original))
        if defect is None:
            return ""
        self.audited += 1
        expected = self.filed_as(defect.signature)
        known, found = trigger_of(defect), trigger_of(reduced)
        if expected == filed_as or (known is not None and found is not None and known.is_like(found)):
            return expected
        self.refuted += 1
        return ""

    def merged(self, unreduced: Iterable[Suspicion] = ()) -> dict[str, str]:
        """By signature, the defect that one of another signature turns out to be: tried in the order of signatures.

        Which of two was reduced first depends on timing; what is one defect does not.

        Args:
            unreduced: what there was no time for; what explains it may have been reduced after it was met.
        """
        known = [self._defects[signature] for signature in sorted(self._defects)]
        late = sorted(unreduced, key=lambda suspicion: suspicion.signature)
        asked = [*known, *late]
        found = explain(self._examiner, asked, [self._others(suspicion) for suspicion in asked])
        roots = {place: self.filed_as(defect.signature) for place, defect in found.items()}
        above = _roots([(self.filed_as(s.signature), roots[place]) for place, s in enumerate(known) if place in roots])
        sightings = {s.signature: roots[place] for place, s in enumerate(late, len(known)) if place in roots}
        return {own: above.get(root, root) for own, root in sightings.items()} | above


def _roots(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Where explanations lead in the end, by what is explained; the first explanation of each counts."""
    above = {own: root for own, root in reversed(pairs) if own != root}
    return {own: root for own in above if (root := _root(own, above)) != own}


def _root(signature: str, above: Mapping[str, str]) -> str:
    """Where explanations lead; of those that explain each other, the first by signature."""
    seen = [signature]
    while (upper := above.get(seen[-1])) is not None:
        if upper in seen:
            return min(seen[seen.index(upper) :])
        seen.append(upper)
    return seen[-1]


def _identity(suspicion: Suspicion) -> tuple[str, str]:
    return suspicion.case.digest, suspicion.signature


def first_apart(suspicions: Sequence[Suspicion], tried: Collection[Key] = ()) -> list[Suspicion]:
    """The first of them, and each that could neither explain nor be explained by those taken before.

    Args:
        tried: keys of which one was reduced. Of any other the first goes ahead: if it turns out to have no trigger,
            it may explain all.
    """
    taken: list[Suspicion] = []
    for suspicion in suspicions:
        ahead = [] if suspicion.key in tried else [other for other in taken if may_be_bare(suspicion, other)]
        if not ahead and all(are_apart(suspicion, other) for other in taken):
            taken.append(suspicion)
    return taken


def cluster_of(suspicion: Suspicion, traits: Traits) -> str:
    """What counts as one defect: API, library, kind, stage, exception and the class of the trigger.

    What was not reduced, and what is more than one layer or call, is a cluster by itself.
    """
    trigger = trigger_of(suspicion) if suspicion.reduced else None
    if trigger is None or suspicion.diagnosis.api is None:
        return suspicion.signature
    libraries = sorted({traits[target].library or target for target in suspicion.diagnosis.suspects})
    ending = (suspicion.kind.value, suspicion.stage.value, suspicion.exception)
    return canonical_cluster(ending, suspicion.diagnosis.api, libraries, trigger.parameters, trigger.features)
