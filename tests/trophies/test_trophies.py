"""Every trophy: its page says what it must, its script is short, and whether the defect still stands."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "trophies"
TROPHIES = sorted(path for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))


def test_there_are_some() -> None:
    assert TROPHIES


@pytest.mark.parametrize("trophy", TROPHIES, ids=lambda path: path.name)
def test_the_page_and_the_script(trophy: Path) -> None:
    page = (trophy / "README.md").read_text(encoding="utf-8")
    for word in ("Versions", "Expected", "Observed"):
        assert f"{word}:" in page or f"## {word}" in page, word
    lines = (trophy / "reproduce.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 30
    assert not any("tensorparity" in line for line in lines), "a reproducer stands alone"


@pytest.mark.slow
@pytest.mark.parametrize("trophy", TROPHIES, ids=lambda path: path.name)
def test_it_still_runs(trophy: Path) -> None:
    """1 while the defect stands, 0 once it is gone, which is worth a warning; anything else is a broken script."""
    ended = subprocess.run(
        [sys.executable, str(trophy / "reproduce.py")], capture_output=True, text=True, timeout=300, check=False
    )
    if "ModuleNotFoundError" in ended.stderr:
        pytest.skip(ended.stderr.strip().splitlines()[-1])
    assert ended.returncode in (0, 1), ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr
    if ended.returncode == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.warn(f"{trophy.name} does not stand any more: {ended.stdout.strip()}", stacklevel=1)
