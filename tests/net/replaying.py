"""Drives everything from the recordings, and holds it against what is expected.

``python tests/net/replaying.py [SCENARIO ...]`` writes ``expected/`` anew: do that with new recordings only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drive import Results, doctored, drive
from recording import Replaying, load
from scenarios import SCENARIOS, Scenario

FOLDER = Path(__file__).parent
RECORDINGS, EXPECTED, DIFFERENCES = FOLDER / "recordings", FOLDER / "expected", FOLDER / "differences.json"
_ABSENT = "absent"


@dataclass(frozen=True)
class Replayed:
    """What came of a scenario, and how many questions the recording could answer."""

    results: Results
    answered: int
    missed: Sequence[tuple[str, str]]


@dataclass(frozen=True, order=True)
class Difference:
    """One field of one result that is not as expected."""

    group: str
    index: int
    field: str

    @property
    def place(self) -> str:
        return f"{self.group}[{self.index}].{self.field}"


def replayed(scenario: Scenario) -> Replayed:
    """Drive a scenario from its recording."""
    recording = load(RECORDINGS / f"{scenario.recording}.zip")
    runner = Replaying(scenario.everybody, doctored(scenario.doctored, recording))
    results = as_read(drive(scenario, runner))
    return Replayed(results, runner.answered, runner.missed)


def as_read(results: Results) -> Results:
    """As JSON gives it back: tuples are lists."""
    read: Results = json.loads(json.dumps(results))
    return read


def expected(scenario: Scenario) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXPECTED / f"{scenario.name}.json").read_text())
    return found


def differences(name: str, found: Results, wanted: Results) -> Iterator[Difference]:
    """Where the results of a scenario are not as expected; NaN is as NaN."""
    for kind in sorted({*found, *wanted}):
        theirs = wanted.get(kind, [])
        ours = _aligned(found.get(kind, []), theirs)
        for index in range(max(len(ours), len(theirs))):
            a, b = _unworded(_at(ours, index)), _unworded(_at(theirs, index))
            for field in sorted({*a, *b}):
                if _text(a.get(field, _ABSENT)) != _text(b.get(field, _ABSENT)):
                    yield Difference(f"{name}.{kind}", index, field)


def _aligned(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Ours in the order of theirs: by the case and the signature, else by the case alone, else in their own order."""
    left, placed = list(ours), dict[int, Mapping[str, Any]]()
    for name in (lambda item: (item.get("case"), item.get("of"), item.get("signature")), lambda item: item.get("case")):
        for index, wanted in enumerate(theirs):
            same = next((item for item in left if index not in placed and name(item) == name(wanted)), None)
            if same is not None:
                placed[index] = same
                left = [item for item in left if item is not same]
    rest = iter(left)
    return [placed[index] if index in placed else next(rest, {}) for index in range(len(theirs))] + list(rest)


def _at(items: Sequence[Mapping[str, Any]], index: int) -> Mapping[str, Any]:
    return items[index] if index < len(items) else {}


def _text(value: Any) -> str:
    return json.dumps(_unworded(value), sort_keys=True)


def _unworded(value: Any) -> Any:
    """Without the sentences of evidence: how something is said may change, what is said may not."""
    if isinstance(value, list):
        return [_unworded(item) for item in value]
    if isinstance(value, dict):
        return {name: _unworded(item) for name, item in value.items() if name != "evidence"}
    return value


def write_expected(scenarios: Sequence[Scenario]) -> None:
    EXPECTED.mkdir(exist_ok=True)
    for scenario in scenarios:
        done = replayed(scenario)
        document = {"missed": len(done.missed), "answered": done.answered, "results": done.results}
        (EXPECTED / f"{scenario.name}.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
        sys.stderr.write(f"{scenario.name}: {done.answered} answered, {len(done.missed)} missed\n")


if __name__ == "__main__":
    write_expected([scenario for scenario in SCENARIOS if not sys.argv[1:] or scenario.name in sys.argv[1:]])
