"""The site builds, and no link in it leads nowhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("material")
    run = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    ran = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    for name in ("index", "guide/compare/index", "models/index", "reference/index"):
        assert (tmp_path / "site" / f"{name}.html").exists()
