"""Which suspicions of a search for operators' errors are filed: each defect once, in the dtype most people use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..operators.functions.native import case_operator
from ..triage.examine import Examined
from ..triage.operator_suspicions import DistinctSuspicion, Sighting, distinct
from ..triage.reduction.preparation import ReducingSettings

#: The scripts of a run have so many seconds; reductions take as long as they take.
REDUCING = ReducingSettings(seconds=math.inf, script_seconds=1200.0)


def sightings_of(examined: Examined) -> list[Sighting]:
    """The suspicions of one call of an operator."""
    operator = case_operator(examined.case)
    assert operator is not None
    finite = examined.judged.told.get("finite", ())
    return [
        Sighting(operator.name, s, any(name in finite for name in s.diagnosis.suspects))
        for s in examined.judged.suspicions
    ]


class OncePerOperator:
    """One suspicion per operator and implementation, with the other dtypes that show it.

    Args:
        is_complete: whether all is told of the operators that were asked about last, so that they can be filed.
    """

    #: What is filed of a hang is said by ``complete``, too.
    hangs_apart = False

    def __init__(self, traits: Traits, is_complete: Callable[[], bool]) -> None:
        self._traits = traits
        self._is_complete = is_complete
        #: By the identity of the suspicion, which is part of it.
        self._chosen: dict[int, DistinctSuspicion] = {}
        self._unfiled: dict[str, None] = {}

    @property
    def unfiled(self) -> list[str]:
        """Operators of which something was suspected and not confirmed."""
        return list(self._unfiled)

    def is_due(self, waiting: int) -> bool:
        return bool(waiting) and self._is_complete()

    def choose(self, examined: Sequence[Examined]) -> list[Examined]:
        """The distinct ones, each with what was examined when it was seen."""
        seen = [(item, sighting) for item in examined for sighting in sightings_of(item)]
        self._unfiled = dict.fromkeys(sighting.operator for _, sighting in seen)
        places = {_place(sighting): item for item, sighting in seen}
        chosen = distinct([sighting for _, sighting in seen], self._traits)
        self._chosen.update({id(one.suspicion): one for one in chosen})
        self._unfiled = dict.fromkeys(one.sighting.operator for one in chosen)
        return [_only(places[_place(one.sighting)], one.suspicion) for one in chosen]

    def complete(self, chosen: Suspicion, found: Suspicion) -> Suspicion:
        """With the targets of the same code that ended in the same way, and in words where else it shows."""
        one = self._chosen[id(chosen)]
        self._unfiled.pop(one.sighting.operator, None)
        diagnosis = found.diagnosis
        remark = (one.remark,) if one.remark else ()
        return replace(
            found,
            diagnosis=replace(
                diagnosis,
                suspects=(*diagnosis.suspects, *one.more),
                evidence=(*diagnosis.evidence, *remark),
            ),
        )


def _place(sighting: Sighting) -> tuple[str, tuple[str, ...], str]:
    """Whatever the selection adds to a suspicion, this stays."""
    return sighting.suspicion.case.digest, sighting.suspicion.key, sighting.suspicion.message


def _only(item: Examined, suspicion: Suspicion) -> Examined:
    return replace(item, judged=replace(item.judged, suspicions=(suspicion,)))
