"""What the doctor says of the machine, and what it asks each target for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorparity.commands.checkup import small_case
from tensorparity.commands.machine import compiler, instruction_sets, machine_notes
from tensorparity.core.case import ApiCall
from tensorparity.oracles.references import references
from tensorparity.reporting import words
from tensorparity.targets.catalogue import TARGETS


def test_the_instruction_sets_that_choose_kernels() -> None:
    assert instruction_sets("fpu sse sse4_2 avx avx2 avx512f ssse3") == ["sse4_2", "avx", "avx2", "avx512f"]


def test_a_compiler_is_looked_for_where_torch_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert compiler()[0] is None
    mine = tmp_path / "mycc"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    monkeypatch.setenv("CXX", "mycc")
    assert compiler()[0] == str(mine)


def test_the_machine_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    said = machine_notes()
    assert any("TF_ENABLE_ONEDNN_OPTS=0" in line for line in said)
    assert any(line.startswith("memory: ") for line in said)
    without = words.machine("x86_64", 2, [], {}, None, False, 8 << 30, 4 << 30)
    assert "torch.compile has no C++ compiler: install g++, or set CXX" in without
    assert "memory: 4.0 of 8.0 GiB free; a worker may use half of all (--memory)" in without


@pytest.mark.parametrize("name", TARGETS.names())
def test_every_target_is_asked_for_what_it_can_run_and_a_reference_knows(name: str) -> None:
    case = small_case(TARGETS.get(name).traits)
    assert references(case)
    assert isinstance(case.subject, ApiCall) is (TARGETS.get(name).traits.max_goal.value == "call")
