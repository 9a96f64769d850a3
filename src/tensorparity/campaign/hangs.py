"""Hangs are confirmed in the background: each takes a minute of waiting, in which the campaign goes on.

Once per API, on the smallest case that was seen. Until then, and after it, the targets answer requests with that API
from memory (``targets/hanging``); what does not hang again is asked anew.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..core.errors import OutOfTimeError
from ..core.finding import Class
from ..core.suspicion import Suspicion
from ..core.time_limit import TimeLimit
from ..core.verdict import Kind
from ..targets.hanging import HangMemory
from ..targets.runner import LocalRunner
from ..triage.examine import Examined, Examiner
from ..triage.reduction.order import sort_key
from ..triage.reduction.preparation import needed_targets

#: Waited for at a time: each has processes of its own.
_AT_ONCE = 3
#: What did not hang when it was asked again is asked a second time, not for ever.
_ATTEMPTS = 2

_Key = tuple[str, ...]


def split_hangs(examined: Examined) -> tuple[list[Suspicion], Examined]:
    """The hangs among the suspicions of a case, and the case with the others."""
    found = examined.judged.suspicions
    hangs = of_hangs(found)
    rest = tuple(s for s in found if s not in hangs)
    return hangs, replace(examined, judged=replace(examined.judged, suspicions=rest)) if hangs else examined


def of_hangs(suspicions: Iterable[Suspicion]) -> list[Suspicion]:
    """Those of what never answered and should have."""
    return [s for s in suspicions if s.kind is Kind.HANG and s.diagnosis.klass is Class.DEFECT]


@dataclass
class _Asked:
    """A hang that is being waited for, and what came of it."""

    suspicion: Suspicion
    thread: threading.Thread | None = None
    again: Suspicion | None = None


class HangConfirmations:
    """The hangs of one campaign.

    Args:
        local: whose memory of hangs the targets answer from; what does not hang again is forgotten there.
    """

    def __init__(self, examiner: Examiner, local: LocalRunner | None = None) -> None:
        self._examiner = examiner
        self._memory = local.hanging if local else HangMemory()
        #: When they are given up: a phase of the campaign that ends does not end what goes on beside it.
        self.time_limit = TimeLimit()
        self._runner = local.within(self.time_limit) if local else examiner.runner
        self._pending: dict[_Key, _Asked] = {}
        self._attempts: Counter[_Key] = Counter()
        self._slots = threading.Semaphore(_AT_ONCE)
        #: What could not be confirmed in the time there was.
        self.open: list[Suspicion] = []

    @property
    def are_pending(self) -> bool:
        return bool(self._pending)

    def begin(self, hangs: Iterable[Suspicion]) -> None:
        """Begin to confirm what is new among these, the smallest case of each."""
        for suspicion in sorted(hangs, key=lambda one: sort_key(one.case)):
            key = _key(suspicion)
            if key in self._pending or self._attempts[key] >= _ATTEMPTS:
                continue
            self._attempts[key] += 1
            asked = self._pending[key] = _Asked(suspicion)
            asked.thread = threading.Thread(target=self._confirm, args=(asked,), name="tensorparity-hang", daemon=True)
            asked.thread.start()

    def _confirm(self, asked: _Asked) -> None:
        suspicion = asked.suspicion
        needed = tuple(needed_targets(suspicion, self._examiner.setup.traits))
        with self._slots:
            try:
                examiner = self._examiner.on(self._runner)
                (again,) = examiner.confirm_all([replace(suspicion, targets=needed)])
            except OutOfTimeError:
                return
        asked.again = replace(suspicion, case=again.case, diagnosis=again.diagnosis)

    def collect(self, *, wait: bool) -> list[tuple[Suspicion, Suspicion]]:
        """What was confirmed, with what it was suspected as.

        Args:
            wait: for all of them; what the time did not suffice for is left open.
        """
        found: list[tuple[Suspicion, Suspicion]] = []
        for key, asked in list(self._pending.items()):
            assert asked.thread is not None
            if wait:
                asked.thread.join()
            if asked.thread.is_alive():
                continue
            del self._pending[key]
            if asked.again is None:
                self.open.append(asked.suspicion)
                continue
            found.append((asked.again, asked.suspicion))
            self._remember(key, asked.again)
        return found

    def _remember(self, key: _Key, again: Suspicion) -> None:
        if again.diagnosis.klass is Class.DEFECT:
            self._attempts[key] = _ATTEMPTS  # once is enough
            return
        for target in again.diagnosis.suspects:
            self._memory.forget(target)


def _key(suspicion: Suspicion) -> _Key:
    """One API on one target; of a network in which no layer hangs alone, that network."""
    api = suspicion.diagnosis.api or suspicion.case.digest
    return (api, *suspicion.diagnosis.suspects)


def names_of(hangs: Sequence[Suspicion]) -> list[str]:
    """API and target of each, for a reader."""
    return [f"{s.diagnosis.api or 'a network'} on {', '.join(s.diagnosis.suspects)}" for s in hangs]
