"""Python line coverage of the library under test, asked of the workers that have recorded it."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import WorkerStartError
from ..core.jsontext import Json
from .runner import LocalRunner

#: Reading and compiling a whole package takes a while.
_CPU_SECONDS = 120.0

#: By file: lines executed, and all.
Lines = dict[str, tuple[int, int]]


def line_coverage(runner: LocalRunner, targets: Sequence[str]) -> dict[str, Json]:
    """Executed and all lines per target, in total and by the package's folders; workers that died took theirs along."""
    found: dict[str, Json] = {}
    for target in targets:
        try:
            header = runner.ask(target, {"do": "lines"}, {}, _CPU_SECONDS).header
        except WorkerStartError:
            continue
        if header.get("status") == "completed":
            found[target] = coverage_totals({name: (done, of) for name, (done, of) in header["lines"].items()})
    return {"targets": found} if found else {}


def coverage_totals(lines: Lines) -> Json:
    """The totals, and those of every folder two levels deep."""
    folders: dict[str, list[int]] = {}
    for name, (done, of) in lines.items():
        place = folders.setdefault("/".join(name.split("/")[:-1][:2]) or ".", [0, 0])
        place[0] += done
        place[1] += of
    return {
        "executed": sum(done for done, _ in lines.values()),
        "lines": sum(of for _, of in lines.values()),
        "folders": {name: {"executed": done, "lines": of} for name, (done, of) in sorted(folders.items())},
    }
