"""What is said where the oracle that a user chose did not judge all: it has nothing to say of other cases."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ..core.oracle import only_measures
from ..oracles.kinds import ORACLES, role_of


def notes_on_oracle(chosen: str, judges: Mapping[str, Set[str]], default: str) -> list[str]:
    """A note where somebody else decided, or nobody asked whom the user chose.

    Args:
        chosen: the oracle's name, or none.
        judges: by engine, the oracles of its cases.
        default: who judges where nobody is chosen.
    """
    if chosen in ("", default):
        return []
    role = role_of(chosen)
    others = [engine for engine, own in judges.items() if any(map(_decides, own - {chosen}))]
    if others:
        judged = role or "some cases"
        return [f"the oracle {chosen} judges {judged}; other cases of {', '.join(others)} are judged by other rules"]
    if judges and not any(chosen in own for own in judges.values()):
        return [f"the oracle {chosen} judged nothing: all cases of this run were only measured"]
    return []


def _decides(oracle: str) -> bool:
    return not only_measures(ORACLES.get(oracle))
