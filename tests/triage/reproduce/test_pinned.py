"""Scripts that set what they need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorparity.core.machine_settings import INSTRUCTION_SETS, Setting
from tensorparity.triage.reproduce import pinned
from tensorparity.triage.reproduce.pinned import SKIPPED, with_settings

SCRIPT = '''"""Something is wrong."""

import os
import sys

print("observed:", os.environ.get("TF_ENABLE_ONEDNN_OPTS"), os.environ.get("OMP_NUM_THREADS"))
sys.exit(1)
'''


def _run(text: str, folder: Path) -> tuple[int, str]:
    path = folder / "script.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, path], env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0"}, stdout=subprocess.PIPE
    )
    return done.returncode, done.stdout.decode().strip()


def test_what_it_needs_is_set_whatever_its_surroundings_set(tmp_path: Path) -> None:
    text = with_settings(SCRIPT, [Setting("TF_ENABLE_ONEDNN_OPTS", "1"), Setting("threads", "1")])
    assert _run(text, tmp_path) == (1, "observed: 1 1")


def test_nothing_is_imported_twice() -> None:
    text = with_settings(SCRIPT, [Setting("TF_ENABLE_ONEDNN_OPTS", "1")])
    assert text.count("import os\n") == text.count("import sys\n") == 1
    assert "settings\n\nprint(" in text


def test_a_processor_that_cannot_show_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INSTRUCTION_SETS, "AVX2", "no_such_flag")  # type: ignore[arg-type]
    text = with_settings(SCRIPT, [Setting("ONEDNN_MAX_CPU_ISA", "AVX2")])
    assert _run(text, tmp_path) == (SKIPPED, "skipped: only processors with AVX2 show this")


def test_a_system_that_does_not_describe_its_processor_is_no_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinned, "PROCESSOR", str(tmp_path / "missing"))
    code, said = _run(with_settings(SCRIPT, [Setting("ONEDNN_MAX_CPU_ISA", "AVX2")]), tmp_path)
    assert code == SKIPPED
    assert said.startswith("skipped: what the processor can do is not known here")
