"""Outcomes of libraries, kept in small files, and a runner that answers from them without any library.

A recording is one zip: ``index.json`` says who was asked what and how it ended, the other members hold the numbers.
Arrays are kept once each. One that is near another (another target's answer to the same case) is kept as the distance
to it in units of the last place, byte plane by byte plane, which compresses well.
"""

from __future__ import annotations

import json
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tensorparity.core.arrays import Array, array_digest, dtype_name, dtype_named
from tensorparity.core.case import Case
from tensorparity.core.outcome import Failure, Outcome, Record, Status
from tensorparity.core.runner import Pending, Runner, begin

#: Version of the files. Raise it when they are to be read in another way.
FORMAT = 1
#: Digits of a case's digest that are kept.
DIGITS = 20
#: Answers to the same question that are kept; later ones are taken for the last of these.
REPEATS = 2
MOST_DETAIL = 500
NOT_RECORDED = "NotRecorded"

#: The case's digest, the target, whether in fresh workers, and how often that was asked before.
Key = tuple[str, str, bool, int]
_FOLDERS = re.compile(r"(?:/[\w.+-]+)+/(?=(?:site-packages|tensorparity|lib)/)")
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


@dataclass
class Questions:
    """Counts how often each question was asked; may be used by several threads."""

    _asked: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def key(self, case: Case, target: str, fresh: bool) -> Key:
        question = (case.digest[:DIGITS], target, fresh)
        with self._lock:
            repeat = min(self._asked[question], REPEATS - 1)
            self._asked[question] += 1
        return (*question, repeat)


class Recorder:
    """A runner that keeps whatever another one answers."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._questions = Questions()
        self.kept: dict[Key, Outcome] = {}

    @property
    def targets(self) -> Sequence[str]:
        return self._runner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        outcomes = self._runner.run_pairs(pairs, fresh=fresh, deadline_factor=deadline_factor, on_outcome=on_outcome)
        self.keep(pairs, outcomes, fresh)
        return outcomes

    def begin_pairs(self, pairs: Sequence[tuple[Case, str]]) -> Pending:
        return _Begun(self, pairs, begin(self._runner, pairs))

    def keep(self, pairs: Sequence[tuple[Case, str]], outcomes: Sequence[Outcome], fresh: bool) -> None:
        for (case, target), outcome in zip(pairs, outcomes, strict=True):
            self.kept.setdefault(self._questions.key(case, target, fresh), _slim(outcome))


@dataclass(frozen=True)
class _Begun:
    recorder: Recorder
    pairs: Sequence[tuple[Case, str]]
    pending: Pending

    def outcomes(self) -> list[Outcome]:
        found = self.pending.outcomes()
        self.recorder.keep(self.pairs, found, fresh=False)
        return found

    def cancel(self) -> None:
        self.pending.cancel()


def _slim(outcome: Outcome) -> Outcome:
    """Without what says when and where it was run, and with little of the traceback."""
    failure = outcome.failure
    if failure:
        detail = _without_folders(failure.detail)[-MOST_DETAIL:].partition("\n")[2]
        failure = replace(failure, message=_without_folders(failure.message), detail=detail)
    record = Record(versions=outcome.record.versions)
    return replace(outcome, failure=failure, record=record, seconds=0.0, cpu_seconds=0.0)


def _without_folders(text: str) -> str:
    """Where something is installed is nobody's business."""
    return _FOLDERS.sub("", text)


class Replaying:
    """A runner that answers from recordings; what was never asked is unsupported, and noted in ``missed``."""

    def __init__(self, targets: Sequence[str], recordings: Mapping[Key, Outcome]) -> None:
        self._targets = tuple(targets)
        self._answers = dict(recordings)
        self._questions = Questions()
        self._nearest = {(digest, target): key for key in recordings for digest, target in [key[:2]]}
        self.missed: list[tuple[str, str]] = []
        self.answered = 0

    @property
    def targets(self) -> Sequence[str]:
        return self._targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        outcomes = [self._answer(self._questions.key(case, target, fresh)) for case, target in pairs]
        for outcome in outcomes if on_outcome else ():
            on_outcome(outcome)
        return outcomes

    def begin_pairs(self, pairs: Sequence[tuple[Case, str]]) -> Pending:
        return _Ended(self.run_pairs(pairs))

    def knows(self, case: Case, target: str) -> bool:
        """Whether that was asked, whenever and in whatever workers."""
        return (case.digest[:DIGITS], target) in self._nearest

    def add(self, recordings: Mapping[Key, Outcome]) -> None:
        """Further answers."""
        self._answers.update(recordings)
        self._nearest.update({(key[0], key[1]): key for key in recordings})

    def _answer(self, key: Key) -> Outcome:
        """By the very question, else by the same one asked another time, or in other workers."""
        digest, target, fresh, repeat = key
        others = [(digest, target, how, time) for how in (fresh, not fresh) for time in (repeat, *range(REPEATS))]
        found = next((self._answers[other] for other in others if other in self._answers), None)
        if found is not None:
            self.answered += 1
            return found
        self.missed.append((digest[:12], target))
        return Outcome(target, Status.UNSUPPORTED, failure=Failure(NOT_RECORDED, "this case was never recorded"))


@dataclass(frozen=True)
class _Ended:
    found: list[Outcome]

    def outcomes(self) -> list[Outcome]:
        return self.found

    def cancel(self) -> None:
        """There is nothing left to cancel."""


# --- files


@dataclass
class _Shelf:
    """Arrays, each kept once: by itself, or by how far it is from an earlier one."""

    described: list[list[Any]] = field(default_factory=list)
    streams: dict[str, list[Array]] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _arrays: list[Array] = field(default_factory=list)
    _alike: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def place(self, array: Array, case: str, name: str) -> int:
        """The array's number.

        Args:
            case: the digest of the case it answers; ``name`` is what it is called in the outcome.
        """
        array = np.asarray(array)
        digest = array_digest(array)
        if digest not in self._places:
            self._places[digest] = len(self.described)
            self._add(array, case, name)
        return self._places[digest]

    def _add(self, array: Array, case: str, name: str) -> None:
        kind, shape = dtype_name(array), list(array.shape)
        number = len(self.described)
        self._arrays.append(array)
        if kind == "string":
            self.described.append([kind, shape, None, [str(item) for item in array.ravel()]])
            return
        form = (name, kind, *shape)
        bits = _bits(array)
        base = next(
            (b for b in map(self._alike.get, [(case, *form), form]) if b is not None and self._near(bits, b)), None
        )
        self.described.append([kind, shape, base])
        numbers = bits if base is None else _distance(bits, _bits(self._arrays[base]))
        self.streams.setdefault(_stream(bits.itemsize, base), []).append(numbers)
        self._alike.setdefault((case, *form), number)
        self._alike[form] = number

    def _near(self, bits: Array, base: int) -> bool:
        far = 1 << (4 * bits.itemsize)
        return bool(bits.size) and bool(np.mean(_distance(bits, _bits(self._arrays[base])) < far) > 0.5)


def _stream(width: int, base: int | None) -> str:
    return f"{'plain' if base is None else 'near'}-{width}"


def _bits(array: Array) -> Array:
    """All numbers of an array as unsigned integers of their width; those of complex ones apart."""
    width = array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1)
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), f"<u{width}")


def _distance(bits: Array, base: Array) -> Array:
    """Small for numbers that are near each other, to both sides."""
    width = 8 * bits.itemsize
    signed = (bits - base).view(f"<i{bits.itemsize}")
    return ((signed << 1) ^ (signed >> (width - 1))).view(bits.dtype)


def _moved(base: Array, distance: Array) -> Array:
    """The inverse of ``_distance``."""
    one = distance.dtype.type(1)
    return base + ((distance >> one) ^ (~(distance & one) + one))


def _planes(arrays: Iterable[Array]) -> bytes:
    joined = np.concatenate(list(arrays))
    return joined.view(np.uint8).reshape(-1, joined.itemsize).T.tobytes()


def _unplaned(data: bytes, width: int) -> Array:
    planes = np.frombuffer(data, np.uint8).reshape(width, -1)
    return np.ascontiguousarray(planes.T).view(f"<u{width}").ravel()


def save(path: Path, recording: Mapping[Key, Outcome]) -> None:
    """Write a recording; equal ones give equal bytes."""
    shelf = _Shelf()
    entries: dict[str, int] = {}
    keys: list[list[Any]] = []
    for (digest, target, fresh, repeat), outcome in sorted(recording.items(), key=lambda item: item[0]):
        numbers = {name: shelf.place(array, digest, name) for name, array in outcome.arrays().items()}
        entry = json.dumps([outcome.header(), numbers], separators=(",", ":"), sort_keys=False)
        keys.append([digest, target, int(fresh), repeat, entries.setdefault(entry, len(entries))])
    index = {
        "format": FORMAT,
        "keys": keys,
        "outcomes": [json.loads(entry) for entry in entries],
        "arrays": shelf.described,
    }
    members = {name: _planes(arrays) for name, arrays in sorted(shelf.streams.items())}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for name, data in {"index.json": json.dumps(index, separators=(",", ":")).encode(), **members}.items():
            info = zipfile.ZipInfo(name, _TIMESTAMP)
            info.compress_type = zipfile.ZIP_LZMA
            file.writestr(info, data)


def load(path: Path) -> dict[Key, Outcome]:
    """Read a recording.

    Raises:
        ValueError: if the format is another one.
    """
    with zipfile.ZipFile(path) as file:
        index = json.loads(file.read("index.json"))
        if index["format"] != FORMAT:
            raise ValueError(f"{path.name} has format {index['format']}, not {FORMAT}")
        streams = {name: _unplaned(file.read(name), int(name[-1])) for name in file.namelist() if name != "index.json"}
    arrays = _arrays(index["arrays"], streams)
    outcomes = [
        Outcome.from_parts(header, {name: arrays[number] for name, number in numbers.items()})
        for header, numbers in index["outcomes"]
    ]
    return {(digest, target, bool(fresh), repeat): outcomes[at] for digest, target, fresh, repeat, at in index["keys"]}


def _arrays(described: Sequence[Sequence[Any]], streams: Mapping[str, Array]) -> list[Array]:
    read: Counter[str] = Counter()
    kept: list[Array] = []
    found: list[Array] = []
    for kind, shape, base, *strings in described:
        if kind == "string":
            kept.append(np.zeros(0, np.uint8))
            found.append(np.array(strings[0], dtype=object).reshape(shape))
            continue
        dtype = dtype_named(kind)
        parts = 2 if dtype.kind == "c" else 1
        width = dtype.itemsize // parts
        count = int(np.prod(shape, dtype=np.int64)) * parts
        name = _stream(width, base)
        bits = streams[name][read[name] : read[name] + count] if count else np.zeros(0, f"<u{width}")
        read[name] += count
        kept.append(bits if base is None else _moved(kept[base], bits))
        array = np.frombuffer(kept[-1].tobytes(), dtype).reshape(shape)
        found.append(array)
    return found
