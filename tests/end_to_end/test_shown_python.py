"""The Python that the guide shows, run as a reader would who has a model and inputs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
CONFTEST = """
import pytest, torch

@pytest.fixture
def my_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())

@pytest.fixture
def batch():
    return torch.linspace(-1, 1, 8).reshape(2, 4)
"""
KERAS = """
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu")])
model.save("model.keras")
"""

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.onnxruntime]


def snippet(page: str, about: str) -> str:
    """The block of a page in which this stands."""
    found = re.findall(r"^```python\n(.*?)^```", (GUIDE / page).read_text(encoding="utf-8"), re.M | re.S)
    (code,) = (block for block in found if about in block)
    return str(code)


def test_comparing_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"model": torch.nn.Linear(4, 3), "inputs": torch.ones(2, 4)}
    exec(snippet("compare.md", "progress=True"), names)
    result = names["result"]
    assert result.same
    assert "is the same on" in result.headline
    assert not result.findings


def test_comparing_in_pytest(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_shown.py").write_text(snippet("ci.md", "def test_export"))
    subprocess.run([sys.executable, "-c", KERAS], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
