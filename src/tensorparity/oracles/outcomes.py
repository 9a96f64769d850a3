"""The oracle that judges nothing: whoever asks it wants the outcomes alone."""

from __future__ import annotations

from typing import ClassVar

from ..core.oracle import Judged, Seen, Setup


class Outcomes:
    """Has no verdict on anything."""

    settings: ClassVar[tuple[str, ...]] = ()

    only_measures = True

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        return Judged()
