"""The outcome cache: a Runner around a Runner. Droppable at any time; never a source of truth.

The key holds everything that could change the outcome (decision 16). What depends on the machine's
load, a time-out or a memory kill, is never kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..core.arrays import EXTENSION_DTYPES
from ..core.case import Case
from ..core.outcome import Outcome, Status
from ..core.runner import Runner
from ..worker import protocol

_KEPT = (Status.COMPLETED, Status.RAISED)
_LARGEST = 64 << 20  # a trace of a large network costs less to repeat than to keep
_CAPACITY = 2 << 30


class OutcomeCache:
    """Outcomes as protocol frames in files named by key: checked on reading, written atomically."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> Outcome | None:
        try:
            path = self._path(key)
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        try:
            frame = _decode(data)
            return Outcome.from_parts(frame.header, frame.arrays) if frame else None
        except (protocol.ProtocolError, KeyError, ValueError, TypeError):
            return None  # a damaged entry is a miss

    def put(self, key: str, outcome: Outcome) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        with temporary.open("wb") as file:
            for view in protocol.encode(protocol.RESPONSE, 0, outcome.header(), outcome.arrays()):
                file.write(view)
        os.replace(temporary, path)

    def trim(self, capacity: int = _CAPACITY) -> None:
        """Drop the entries unused for longest until what is left fits."""
        entries = []
        for path in self._folder.glob("*/*.frame"):
            with contextlib.suppress(OSError):  # another process may trim too
                entries.append((path.stat().st_mtime, path.stat().st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= capacity:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.frame"


def _decode(data: bytes) -> protocol.Frame | None:
    reader = protocol.FrameReader(EXTENSION_DTYPES)
    view = memoryview(data)
    while True:
        wanted = reader.wanted()
        count = min(len(wanted), len(view))
        if count < len(wanted):
            return None
        wanted[:count] = view[:count]
        view = view[count:]
        frame = reader.advance(count)
        if frame is not None:
            return frame


class CachedRunner:
    """Answers from the cache where it can, asks the runner inside where it cannot.

    Args:
        circumstances: per target, everything but the case that the outcome depends on.
    """

    def __init__(self, inner: Runner, cache: OutcomeCache, circumstances: Callable[[str], str]) -> None:
        self._inner = inner
        self._cache = cache
        self._circumstances = circumstances
        self.hits = 0

    @property
    def targets(self) -> Sequence[str]:
        return self._inner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        if fresh:
            return self._inner.run_pairs(pairs, fresh=True, deadline_factor=deadline_factor, on_outcome=on_outcome)
        keys = [self._key(case, target) for case, target in pairs]
        found = [self._cache.get(key) for key in keys]
        missing = [position for position, outcome in enumerate(found) if outcome is None]
        self.hits += len(pairs) - len(missing)
        if missing:
            lacking = [pairs[position] for position in missing]
            answers = self._inner.run_pairs(lacking, deadline_factor=deadline_factor, on_outcome=on_outcome)
            for position, outcome in zip(missing, answers, strict=True):
                found[position] = outcome
                self._keep(keys[position], outcome)
        return [outcome for outcome in found if outcome is not None]

    def _keep(self, key: str, outcome: Outcome) -> None:
        if outcome.status in _KEPT and sum(array.nbytes for array in outcome.arrays().values()) <= _LARGEST:
            self._cache.put(key, outcome)

    def _key(self, case: Case, target: str) -> str:
        return hashlib.sha256(f"{case.digest}\n{self._circumstances(target)}".encode()).hexdigest()
