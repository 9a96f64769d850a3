"""Table 3's numbers in parentheses: which voted layers only ``fuzz``, or only ``fuzz --unit``, has found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..core.atomic import replacing_file
from ..core.jsontext import Json

_FORMAT = 2


@dataclass(frozen=True)
class VotedRun:
    """What one run voted for, and which run that was.

    Args:
        unit: one layer per network.
        faults: what is planted in which target.
        voted: the rows of the table: a target, and per stage the layers.
        made_of: what the networks were restricted to.
    """

    unit: bool
    targets: tuple[str, ...]
    models: int
    seed: int
    voted: Sequence[Mapping[str, Json]]
    faults: Mapping[str, str] = field(default_factory=dict)
    made_of: Mapping[str, Json] = field(default_factory=dict)
    stages: tuple[str, ...] = ()

    def is_comparable(self, other: VotedRun) -> bool:
        """Other targets, faults, stages or sets of layers and data are another question."""
        return self._question == other._question

    @property
    def _question(self) -> tuple[object, ...]:
        return sorted(self.targets), dict(self.faults), dict(self.made_of), sorted(self.stages)

    def replaces(self, other: VotedRun) -> bool:
        return self.unit == other.unit and self.is_comparable(other)

    def only_here(self, other: VotedRun) -> list[Json]:
        """The rows without what the other run has as well."""
        known = {(row["target"], stage, name) for row in other.voted for stage, name in _entries(row)}
        found: list[Json] = []
        for row in self.voted:
            target = row["target"]
            own = {stage: [name for name in row[stage] if (target, stage, name) not in known] for stage in _stages(row)}
            found.append({"target": target, **own})
        return found

    def to_json(self) -> dict[str, Json]:
        return {
            "unit": self.unit,
            "targets": list(self.targets),
            "faults": dict(self.faults),
            "made_of": dict(self.made_of),
            "stages": list(self.stages),
            "models": self.models,
            "seed": self.seed,
            "voted": [dict(row) for row in self.voted],
        }

    @classmethod
    def from_json(cls, data: Json) -> VotedRun:
        return cls(
            data["unit"],
            tuple(data["targets"]),
            data["models"],
            data["seed"],
            data["voted"],
            data["faults"],
            made_of=data["made_of"],
            stages=tuple(data["stages"]),
        )


def _stages(row: Mapping[str, Json]) -> list[str]:
    return [name for name in row if name != "target"]


def _entries(row: Mapping[str, Json]) -> Iterable[tuple[str, str]]:
    return [(stage, name) for stage in _stages(row) for name in row[stage]]


class VotedShelf:
    """The last run of each way, per set of targets, so that either way can be held against the other."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "muffin-voted.json"

    def other(self, run: VotedRun) -> VotedRun | None:
        """The last run of the same targets the other way."""
        return next((old for old in self._read() if old.unit != run.unit and old.is_comparable(run)), None)

    def keep(self, run: VotedRun) -> None:
        """Put a run in the place of the last one of its way.

        Raises:
            OSError: if the folder cannot be written.
        """
        runs = [run, *(old for old in self._read() if not run.replaces(old))]
        document = {"format": _FORMAT, "runs": [kept.to_json() for kept in runs]}
        with replacing_file(self._path, durable=False) as file:
            file.write(json.dumps(document, indent=1).encode())

    def _read(self) -> list[VotedRun]:
        """Nothing where there is no file, or none that this version wrote: then the next run writes one."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return [VotedRun.from_json(run) for run in found["runs"]] if found["format"] == _FORMAT else []
        except (OSError, ValueError, KeyError, TypeError):
            return []
