"""Which of many suspicions of one operator are findings of their own, and in which dtype they are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.finding import Class
from ..core.suspicion import Suspicion
from ..core.traits import Traits

#: The dtype a finding is told in, if several show it: the one most people use first.
PREFERRED = ("float32", "float64", "float16", "bfloat16")


@dataclass(frozen=True)
class Sighting:
    """A suspicion of an operator.

    Args:
        finite: a finite number came out where another one should.
    """

    operator: str
    suspicion: Suspicion
    finite: bool = False

    @property
    def dtype(self) -> str:
        return str(self.suspicion.diagnosis.parameters["dtype"])

    @property
    def is_ending(self) -> bool:
        """Whether it is no matter of numbers: the call raised, crashed, hung or has a wrong form."""
        return self.suspicion.diagnosis.measure is None

    @property
    def is_special(self) -> bool:
        return bool(self.suspicion.features)

    @property
    def is_remark(self) -> bool:
        """Ill-conditioned: nobody is blamed."""
        return self.suspicion.diagnosis.klass is Class.PRECISION

    @property
    def rank(self) -> tuple[int, float]:
        measure = self.suspicion.diagnosis.measure
        return PREFERRED.index(self.dtype), -measure.value if measure else 0.0


@dataclass(frozen=True)
class DistinctSuspicion:
    """A suspicion that is to be filed.

    Args:
        also: the other dtypes that show it.
        more: further targets of the same code that ended in the same way, on other inputs.
    """

    sighting: Sighting
    also: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    @property
    def suspicion(self) -> Suspicion:
        return self.sighting.suspicion

    @property
    def remark(self) -> str:
        """In words, where else it shows."""
        if not self.also:
            return ""
        return f"{'wrong' if self.sighting.is_special else 'beyond the bound'} also in {', '.join(self.also)}"


def distinct(sightings: Sequence[Sighting], traits: Traits) -> list[DistinctSuspicion]:
    """One per operator and implementation: in the preferred dtype, with the largest error."""
    found: list[DistinctSuspicion] = []
    for name in dict.fromkeys(sighting.operator for sighting in sightings):
        own = sorted((item for item in sightings if item.operator == name), key=lambda item: item.rank)
        numbers = [item for item in own if not item.is_ending]
        found += _of_numbers([item for item in numbers if not item.is_special], traits)
        known = {_code(item.sighting, traits) for item in found if item.sighting.operator == name}
        special = _first_of_each([item for item in numbers if item.is_special], traits)
        found += [item for item in special if not (item.sighting.finite and _code(item.sighting, traits) in known)]
        found += _of_endings([item for item in own if item.is_ending], traits)
    return found


def _of_numbers(sightings: Sequence[Sighting], traits: Traits) -> list[DistinctSuspicion]:
    """Where all are ill-conditioned, one remark on the operator, not one per library."""
    blamed = [item for item in sightings if not item.is_remark]
    remarks = [item for item in sightings if item.is_remark]
    return _first_of_each(blamed, traits) if blamed else _alike(remarks)[:1]


def _first_of_each(sightings: Sequence[Sighting], traits: Traits) -> list[DistinctSuspicion]:
    by_code: dict[str, list[Sighting]] = {}
    for item in sightings:
        by_code.setdefault(_code(item, traits), []).append(item)
    return [one for group in by_code.values() for one in _alike(group)[:1]]


def _alike(group: Sequence[Sighting]) -> list[DistinctSuspicion]:
    """Each of them, with the dtypes of the others."""
    dtypes = tuple(dict.fromkeys(item.dtype for item in group))
    return [DistinctSuspicion(item, tuple(dtype for dtype in dtypes if dtype != item.dtype)) for item in group]


def _code(sighting: Sighting, traits: Traits) -> str:
    """Whose code is accused."""
    suspects = sighting.suspicion.diagnosis.suspects
    return traits.implementation(suspects[0], sighting.operator) if suspects else ""


def _of_endings(sightings: Sequence[Sighting], traits: Traits) -> list[DistinctSuspicion]:
    """One per implementation and exception with its message; a second one of a type is told apart by its message."""
    found: dict[tuple[str, str, str], DistinctSuspicion] = {}
    for item in sightings:
        suspicion = item.suspicion
        key = (_code(item, traits), suspicion.exception or suspicion.kind.value, item.suspicion.message)
        if key not in found:
            second = any(other[:2] == key[:2] for other in found)
            features = (item.suspicion.message,) if second else ()
            found[key] = DistinctSuspicion(replace(item, suspicion=replace(suspicion, features=features)))
        first = found[key]
        named = {*first.suspicion.diagnosis.suspects, *first.more}
        more = tuple(target for target in suspicion.diagnosis.suspects if target not in named)
        found[key] = replace(first, more=(*first.more, *more))
    return list(found.values())
