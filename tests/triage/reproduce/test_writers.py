"""Somebody else's script writer: its lines make the script, and where it gives up the case file is replayed."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Kind
from tensorparity.plugin import ScriptParts, ScriptRequest, Unprintable
from tensorparity.targets.catalogue import TARGETS
from tensorparity.triage.reproduce import scripts
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.reproduce.literals import Unprintable as OurUnprintable
from tensorparity.triage.reproduce.script import Reproducer
from tensorparity.triage.reproduce.writers import FILE_WRITERS, WRITERS, write_parts

NAME = "mine:fast"
X = np.array([[1.0, -2.0]], np.float32)


def suspicion() -> Suspicion:
    build = GraphBuilder("g")
    case = Case(build.build(build.add("ReLU", build.input("x", (2,)), name="r")), inputs={"x": X})
    return Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.DEFECT, (NAME,), "r#0", "keras.layers.ReLU"), case, (NAME,))


def outcomes() -> dict[str, Outcome]:
    return {NAME: Outcome(NAME, Status.COMPLETED, {"r": X}, Trace({"r#0": X}))}


@pytest.fixture
def reproduced(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is written for a target whose writer is this function."""

    def reproduced_by(write: Any) -> Reproducer:
        monkeypatch.setitem(sys.modules, "mine_scripts", SimpleNamespace(write=write))  # type: ignore[arg-type]
        monkeypatch.setattr(scripts, "verify", lambda text, *rest: Reproducer(text, verified=True))
        traits = Traits({NAME: TargetTraits(NAME, script_writer="mine_scripts:write")})
        runner: Any = SimpleNamespace(desk=lambda target: None, settings=SimpleNamespace(trust=False))
        return scripts.reproduce(runner, suspicion(), outcomes(), traits).script

    return reproduced_by


def test_its_lines_make_the_script(reproduced: Any) -> None:
    asked: list[ScriptRequest] = []

    def write(request: ScriptRequest) -> ScriptParts:
        asked.append(request)
        return ScriptParts(["import mine"], ["observed = mine.relu()"])

    text = reproduced(write).text
    assert "import mine" in text
    assert "observed = mine.relu()" in text
    assert "sys.exit(0 if np.allclose(observed, expected" in text
    (request,) = asked
    assert (request.target, request.flavour, request.traits.name, request.watched) == (NAME, "fast", NAME, False)
    assert isinstance(request.claim, Claim)
    assert request.claim.expected.tolist() == [[1.0, 0.0]]


def gives_up(request: ScriptRequest) -> ScriptParts:
    raise Unprintable("a layer that nobody types")


def is_broken(request: ScriptRequest) -> ScriptParts:
    raise KeyError("x")


@pytest.mark.parametrize("write", [gives_up, is_broken, lambda request: None])
def test_where_it_gives_up_the_case_file_is_replayed(reproduced: Any, write: Any) -> None:
    text = reproduced(write).text
    assert "replay" in text
    assert NAME in text


def test_why_it_gave_up_is_said() -> None:
    request = ScriptRequest(suspicion().case, NAME, TargetTraits(NAME, script_writer="nobody.has:this"))
    with pytest.raises(OurUnprintable, match="nobody.has"):
        write_parts(request)


def test_every_writer_that_a_target_of_ours_names_is_in_the_tables() -> None:
    named = {TARGETS.get(name).traits.script_writer for name in TARGETS.names()} - {""}
    assert {name for name in named if ":" not in name} == set(WRITERS) == set(FILE_WRITERS)
