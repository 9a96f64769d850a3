"""The museum: every bug, planted, comes out with its class, kind and suspect, in its layer, small, with a script.

All of them take half an hour (``make quality``), so a day's tests take six (``make museum``): which six depends on
the text of the package alone, so that one commit always has the same six and every change brings others. With
``TENSORPARITY_MUSEUM_TABLE`` set to a file, the table of what came out is written there.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tensorparity
from tensorparity.core.finding import Class
from tensorparity.core.suspicion import Suspicion
from tensorparity.reporting.words import sentences
from tensorparity.targets.faults import fault_names, load_fault
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.testing.museum import EXHIBITS, JAX, NATIVE, NATIVE_JAX, NATIVE_TENSORFLOW, TENSORFLOW, TORCH, Exhibit
from tensorparity.triage.reduction.order import elements, node_count
from tensorparity.triage.reduction.preparation import Prepared, prepare_one
from tensorparity.triage.reduction.reducer import ReductionBudget

from ..examining import examine_case, examiner_for

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.jax, pytest.mark.torch]

TROPHIES = Path(__file__).parents[2] / "trophies"
#: How many are planted in a day's tests.
SIX = 6

_HEAD = (
    "bug", "fault", "source", "in", "class", "kind", "stage", "suspects", "where", "parameters", "layers", "numbers",
    "reproducer", "seconds",
)  # fmt: skip


def todays() -> set[str]:
    """Six names, drawn by the digest of the package's own text."""
    state = hashlib.sha256()
    for path in sorted(Path(tensorparity.__file__).parent.rglob("*.py")):
        state.update(path.read_bytes())
    order = np.random.default_rng(int.from_bytes(state.digest()[:8], "big")).permutation(len(EXHIBITS))
    return {EXHIBITS[index].name for index in order[:SIX]}


def _shown() -> list[object]:
    chosen = todays()
    return [
        pytest.param(exhibit, id=exhibit.name, marks=[] if exhibit.name in chosen else [pytest.mark.slow])
        for exhibit in EXHIBITS
    ]


@dataclass(frozen=True)
class Shown:
    """What came out of one exhibit."""

    exhibit: Exhibit
    suspicion: Suspicion
    prepared: Prepared | None
    seconds: float

    def row(self) -> list[str]:
        diagnosis = (self.prepared.suspicion if self.prepared else self.suspicion).diagnosis
        case = self.prepared.suspicion.case if self.prepared else self.suspicion.case
        script = self.prepared.reproducer if self.prepared else None
        verified = "none: nothing is wrong" if self.prepared is None else "none"
        if script is not None:
            verified = "1 with, 0 without" if script.verified else f"not verified: {script.remark}"
        where = diagnosis.api or ""
        return [
            self.exhibit.name,
            f"`{self.exhibit.fault}`",
            self.exhibit.source,
            self.exhibit.target,
            diagnosis.klass.value,
            self.suspicion.kind.value,
            self.suspicion.stage.value,
            ", ".join(diagnosis.suspects) or "nobody",
            f"{where}, {diagnosis.node}" if diagnosis.node else where,
            ", ".join(f"{name}={value}" for name, value in diagnosis.parameters.items()) or "none",
            f"{node_count(self.exhibit.build(np.random.default_rng(0)))} to {node_count(case)}",
            f"{elements(self.exhibit.build(np.random.default_rng(0)))} to {elements(case)}",
            verified,
            f"{self.seconds:.0f}",
        ]


@pytest.fixture(scope="module")
def table() -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    yield rows
    path = os.environ.get("TENSORPARITY_MUSEUM_TABLE")
    if path and rows:
        _write_table(Path(path), {row[0]: row for row in rows})


def _write_table(path: Path, rows: dict[str, list[str]]) -> None:
    """Between the two marks of the page; rows of exhibits that were not shown this time stay."""
    begin, end = "<!-- table -->", "<!-- end of table -->"
    head, _, rest = path.read_text().partition(begin)
    old, _, tail = rest.partition(end)
    cells = [line.strip("| ").split(" | ") for line in old.splitlines() if line.startswith("| ")]
    known = {row[0]: row for row in cells[2:]} | rows
    ordered = [known[exhibit.name] for exhibit in EXHIBITS if exhibit.name in known]
    lines = [f"| {' | '.join(row)} |" for row in (_HEAD, ["---"] * len(_HEAD), *ordered)]
    path.write_text("\n".join([head + begin, *lines, end]) + tail)


def show(exhibit: Exhibit) -> Shown:
    began = time.monotonic()
    case = exhibit.build(np.random.default_rng(0))
    settings = RunnerSettings(faults={exhibit.target: load_fault(exhibit.fault)})
    with open_runner(list(exhibit.targets), settings) as runner:
        checked, _ = examine_case(runner, case, list(exhibit.targets))
        assert len(checked.suspicions) == 1, (checked.suspicions, checked.undecided)
        (suspicion,) = checked.suspicions
        prepared = (
            prepare_one(runner, examiner_for(runner, exhibit.targets), suspicion, ReductionBudget())
            if exhibit.klass is Class.DEFECT
            else None
        )
    return Shown(exhibit, suspicion, prepared, time.monotonic() - began)


@pytest.mark.parametrize("exhibit", _shown())
def test_planted(exhibit: Exhibit, table: list[list[str]]) -> None:
    shown = show(exhibit)
    _check(shown)
    table.append(shown.row())  # what failed is not committed as a result


def _check(shown: Shown) -> None:
    exhibit = shown.exhibit
    diagnosis = shown.suspicion.diagnosis
    assert diagnosis.klass is exhibit.klass
    assert (shown.suspicion.kind, shown.suspicion.stage) == (exhibit.kind, exhibit.stage)
    assert diagnosis.suspects == exhibit.suspects
    assert (diagnosis.api, diagnosis.node) == (exhibit.api, exhibit.node)
    assert sentences(diagnosis)
    if shown.prepared is None:
        return
    reduced = shown.prepared.suspicion
    assert node_count(reduced.case) <= 2
    assert reduced.key == shown.suspicion.key
    if exhibit.parameter:
        assert exhibit.parameter in reduced.diagnosis.parameters
    script = shown.prepared.reproducer
    assert script is not None, sentences(reduced.diagnosis)
    assert script.verified, script.remark  # it ended with 1 with the fault and with 0 without


#: What libraries really do wrong on a case of the museum: who, and the trophy.
REAL = {"NCHW convolution refused": ((NATIVE_TENSORFLOW,), "tensorflow-conv2d-refuses-nchw")}


def test_unfaulted_libraries_have_no_defect() -> None:
    """All cases, on all targets that take them, with nothing planted; except what is a trophy."""
    keras, native = [TENSORFLOW, JAX, TORCH], [NATIVE, NATIVE_JAX, NATIVE_TENSORFLOW]
    with open_runner([*keras, *native], RunnerSettings()) as runner:
        for exhibit in EXHIBITS:
            case = exhibit.build(np.random.default_rng(0))
            targets = native if exhibit.target in native else keras
            checked, _ = examine_case(runner, case, targets)
            real, trophy = REAL.get(exhibit.name, ((), ""))
            assert not trophy or (TROPHIES / trophy).is_dir()
            defects = [s for s in checked.suspicions if s.diagnosis.klass is Class.DEFECT]
            assert all(s.diagnosis.suspects == real for s in defects), (exhibit.name, defects[0].diagnosis)


def test_six_are_drawn() -> None:
    assert len(todays()) == SIX
    assert todays() == todays()


def test_every_fault_of_the_museum_exists() -> None:
    names = [exhibit.name for exhibit in EXHIBITS]
    assert len(set(names)) == len(names)
    assert sum(exhibit.in_paper for exhibit in EXHIBITS) >= 28
    assert {exhibit.fault for exhibit in EXHIBITS} <= set(fault_names())
