"""The outcome cache: a Runner around a Runner. Droppable at any time; never a source of truth.

The key holds everything that could change the outcome (decision 16). Only what completed is kept: a
time-out, a memory kill or an exception (no file, no memory, no network) may be the machine's doing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ..core.arrays import EXTENSION_DTYPES
from ..core.atomic import replacing_file
from ..core.case import Case
from ..core.outcome import Outcome, Status
from ..core.runner import Pending, Runner, asking_all, begin, one_fresh_set
from ..worker import protocol

_LARGEST = 64 << 20  # a trace of a large network costs less to repeat than to keep
_CAPACITY = 2 << 30
_UNUSED_SECONDS = 30 * 86400.0
_ABANDONED_SECONDS = 86400.0  # a temporary file of a writer that was killed

_trimmed: set[Path] = set()


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
        """Keep an outcome, or do nothing where the disk is full or may not be written."""
        with contextlib.suppress(OSError), replacing_file(self._path(key), durable=False) as file:
            for view in protocol.encode(protocol.RESPONSE, 0, outcome.header(), outcome.arrays()):
                file.write(view)

    def trim_once(self) -> None:
        """Trim, unless this process has done so already."""
        if self._folder not in _trimmed:
            _trimmed.add(self._folder)
            self.trim()

    def trim(self, capacity: int = _CAPACITY) -> None:
        """Drop the entries unused for longest until what is left fits."""
        entries = []
        for path in self._folder.glob("*/*"):
            with contextlib.suppress(OSError):  # another process may trim too
                status = path.stat()
                if path.suffix == ".frame":
                    entries.append((status.st_mtime, status.st_size, path))
                elif status.st_mtime < time.time() - _ABANDONED_SECONDS:
                    path.unlink()
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= capacity:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.frame"


def drop_unused(folder: Path, seconds: float = _UNUSED_SECONDS) -> None:
    """Remove what is in the folder and was not touched for so long; whoever uses an entry touches it."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.stat().st_mtime < time.time() - seconds:
                shutil.rmtree(path, ignore_errors=True)


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


@dataclass(frozen=True)
class _PartlyKnown:
    """Cases under way, some of which the cache has answered.

    Args:
        found: in the order of the cases; None where the cache has no answer.
        pending: of those, with their ``keys``.
    """

    found: Sequence[Outcome | None]
    pending: Pending
    keys: Sequence[str | None]
    keep: Callable[[str | None, Outcome], None]

    def outcomes(self) -> list[Outcome]:
        answers = self.pending.outcomes()
        for key, outcome in zip(self.keys, answers, strict=True):
            self.keep(key, outcome)
        waiting = iter(answers)
        return [next(waiting) if outcome is None else outcome for outcome in self.found]

    def cancel(self) -> None:
        self.pending.cancel()


class CachedRunner:
    """Answers from the cache where it can, asks the runner inside where it cannot.

    Args:
        circumstances: per target, everything but the case that the outcome depends on; None where nobody
            knows (an editable library), and nothing is kept.
    """

    def __init__(self, inner: Runner, cache: OutcomeCache, circumstances: Callable[[str], str | None]) -> None:
        self._inner = inner
        self._cache = cache
        self._circumstances = circumstances
        self.hits = 0
        cache.trim_once()

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
        found = [self._cache.get(key) if key else None for key in keys]
        missing = [position for position, outcome in enumerate(found) if outcome is None]
        self.hits += len(pairs) - len(missing)
        if missing:
            lacking = [pairs[position] for position in missing]
            answers = self._inner.run_pairs(lacking, deadline_factor=deadline_factor, on_outcome=on_outcome)
            for position, outcome in zip(missing, answers, strict=True):
                found[position] = outcome
                self._keep(keys[position], outcome)
        return [outcome for outcome in found if outcome is not None]

    def begin_pairs(self, pairs: Sequence[tuple[Case, str]]) -> Pending:
        """Send out what is not in the cache."""
        keys = [self._key(case, target) for case, target in pairs]
        found = [self._cache.get(key) if key else None for key in keys]
        missing = [position for position, outcome in enumerate(found) if outcome is None]
        self.hits += len(pairs) - len(missing)
        begun = begin(self._inner, [pairs[position] for position in missing])
        return _PartlyKnown(found, begun, [keys[position] for position in missing], self._keep)

    def one_fresh_set(self) -> AbstractContextManager[None]:
        """Where the runner inside has one: what is run fresh within it shares its workers."""
        return one_fresh_set(self._inner)

    def asking_all(self) -> Runner:
        """The same cache in front of a runner that has no memory of hangs."""
        return CachedRunner(asking_all(self._inner), self._cache, self._circumstances)

    def companions(self, case: Case, target: str) -> tuple[Case, ...]:
        """The calls that a case was compiled with in this run, where the runner inside knows."""
        ask = getattr(self._inner, "companions", None)
        return ask(case, target) if ask is not None else ()

    def _keep(self, key: str | None, outcome: Outcome) -> None:
        if key is None or outcome.status is not Status.COMPLETED:
            return
        if sum(array.nbytes for array in outcome.arrays().values()) <= _LARGEST:
            self._cache.put(key, outcome)

    def _key(self, case: Case, target: str) -> str | None:
        circumstances = self._circumstances(target)
        if circumstances is None:
            return None
        return hashlib.sha256(f"{case.digest}\n{circumstances}".encode()).hexdigest()
