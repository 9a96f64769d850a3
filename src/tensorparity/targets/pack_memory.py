"""What is known of calls that went to a compiler in packs: who fails alone, and how packed and unpacked compare."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..core.case import ApiCall, Case
from ..core.jsontext import Json
from ..core.outcome import Outcome

#: Ways of running a call that compile it, by the first word: many go to the compiler as one unit.
COMPILED_WAYS = frozenset(["tf.function", "xla", "jax.jit", "jit_compile", "aot_eager", "inductor"])
#: One of so many calls that travelled in a pack is run by itself as well.
ONE_OF = 20


def is_compiled_call(case: Case) -> bool:
    """A call that is run in a way that compiles it."""
    words = case.procedure.variant.split()
    return bool(words) and words[0] in COMPILED_WAYS and isinstance(case.subject, ApiCall)


def is_sampled(case: Case) -> bool:
    """Whether it is one of those that are also run alone; its digest, and so the seed, decides."""
    return is_compiled_call(case) and int(case.digest[:8], 16) % ONE_OF == 0


@dataclass
class _Way:
    """Of one way: how many ended how, in packs and alone."""

    packed: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    same: int = 0
    close: int = 0
    different: int = 0


class PackMemory:
    """Of a run: members that failed alone are not packed again; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed: set[tuple[str, str, str, int]] = set()
        self._ways: dict[str, _Way] = {}
        self._packs: Counter[int] = Counter()
        #: By target and digest, the calls that a case was compiled with.
        self._companions: dict[tuple[str, str], tuple[Case, ...]] = {}

    def fails_alone(self, case: Case, target: str) -> bool:
        with self._lock:
            return _key(case, target) in self._failed

    def has_failed(self, case: Case, target: str) -> None:
        """It failed in packs, and alone as well."""
        with self._lock:
            self._failed.add(_key(case, target))

    def went_together(self, cases: list[Case], target: str) -> None:
        """A pack was answered as one."""
        with self._lock:
            self._packs[len(cases)] += 1
            for case in cases:
                self._companions[target, case.digest] = tuple(cases)

    def companions(self, case: Case, target: str) -> tuple[Case, ...]:
        """The pack that a call was answered in, itself included; empty where it was run alone."""
        with self._lock:
            return self._companions.get((target, case.digest), ())

    def compare(self, case: Case, packed: Outcome, alone: Outcome) -> None:
        """Count a call that was run in both ways."""
        with self._lock:
            way = self._ways.setdefault(case.procedure.variant, _Way())
            way.packed[packed.status.value] += 1
            way.alone[alone.status.value] += 1
            degree = _degree(packed, alone)
            way.same += degree == 2
            way.close += degree == 1
            way.different += degree == 0

    def to_json(self) -> Json:
        """How large the packs were, and by way what ended how in both."""
        with self._lock:
            return {
                "packs": sum(self._packs.values()),
                "calls": sum(size * count for size, count in self._packs.items()),
                "fail_alone": len(self._failed),
                "ways": {
                    name: {
                        "packed": dict(way.packed),
                        "alone": dict(way.alone),
                        "same": way.same,
                        "close": way.close,
                        "different": way.different,
                    }
                    for name, way in sorted(self._ways.items())
                },
            }


def _key(case: Case, target: str) -> tuple[str, str, str, int]:
    assert isinstance(case.subject, ApiCall)
    names = next((call.api for call in case.subject.calls() if call.api[:1].isalpha()), case.subject.api)
    return target, names, case.procedure.variant, case.procedure.derivative


#: Relative, what a compiler may round elsewhere when it sees more than one call.
_CLOSE = 1e-3


def _degree(one: Outcome, other: Outcome) -> int:
    """2 where both gave the same bits, or ended alike without any; 1 where rounding may tell; 0 where they differ."""
    if not (one.completed and other.completed):
        return 2 if one.status is other.status else 0
    a, b = ({**outcome.outputs, **outcome.trace.gradients} for outcome in (one, other))
    if set(a) != set(b) or any(a[name].shape != b[name].shape or a[name].dtype != b[name].dtype for name in a):
        return 0
    if all(a[name].tobytes() == b[name].tobytes() for name in a):
        return 2
    return int(all(_close(a[name], b[name]) for name in a))


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind not in "fciubV":
        return bool((a == b).all())
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return bool(np.allclose(a.astype(wide), b.astype(wide), rtol=_CLOSE, atol=_CLOSE, equal_nan=True))
