"""The commands of the README and the guide, run one after another in one folder, as a reader would.

Those about ``model.onnx`` are run by ``tests/repository/test_shown_commands.py``. Here, only budgets are shorter, hunts
have two targets, and ``ID`` is a finding that is there.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
SHOWN = re.compile(r"^\$ (tensorparity [^#\n]+)", re.M)
#: In this order each finds what those before it have left.
ORDER = ("targets", "doctor", "compare", "hunt", "report", "replay", "accept")
SHORT = ("--budget", "40s", "--engines", "predoo")
FAULT = "import torch\n\n_tanh = torch.tanh\ntorch.tanh = lambda x: _tanh(x) * 1.001\n"
KERAS = """
import keras, numpy as np
x = np.random.default_rng(0).random((16, 8), np.float32)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(3)])
model.save("model.keras")
np.savez("validation.npz", x=x, y=np.zeros(16, np.int64))
"""

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.onnxruntime]


def commands() -> list[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    found = sorted({line.strip() for line in SHOWN.findall(text) if " model.onnx" not in line})
    return sorted(found, key=lambda line: ORDER.index(line.split()[1]))


def run(folder: Path, *arguments: str, seconds: float = 400) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tensorparity", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader has: models, data, a declared environment, and a store with a finding."""
    pytest.importorskip("transformers")
    made = tmp_path_factory.mktemp("reader")
    subprocess.run([sys.executable, "-c", KERAS], cwd=made, check=True, capture_output=True, timeout=120)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (made / "my_models.py").write_text(re.search(r"```python\n(# my_models.py\n.*?)```", readme, re.S)[1])  # type: ignore[index]
    (made / "tensorparity.toml").write_text(f'[environments.nightly]\npython = "{sys.executable}"\n')
    (made / "fault.py").write_text(FAULT)
    searching = ("precision", "--op", "tanh", "--dtype", "float32", "--inputs", "200", "--no-models", "--quiet")
    found = run(made, *searching, "--targets", "torch:eager,onnxruntime", "--fault", "torch:eager=fault.py")
    assert found.returncode == 1, found.stderr
    return made


@pytest.fixture(scope="module")
def identity(folder: Path) -> str:
    document = json.loads(run(folder, "report", "--format", "json").stdout)
    return str(document["findings"][0]["id"])


@pytest.mark.timeout(500)
@pytest.mark.parametrize("shown", commands())
def test_it_runs(shown: str, folder: Path, identity: str) -> None:
    name, *arguments = [identity if part == "ID" else part for part in shlex.split(shown)[1:]]
    if name == "hunt":
        named = () if "--targets" in arguments else ("--targets", "torch:eager,onnxruntime")
        arguments += [*SHORT, *named]
    ended = run(folder, name, *arguments)
    assert ended.returncode in ((0, 1) if name in ("hunt", "replay") else (0,)), ended.stderr
    assert "Traceback" not in ended.stderr
