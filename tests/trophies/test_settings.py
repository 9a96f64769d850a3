"""``trophies/settings.md``: what ``trophies/run_all.py`` makes of scripts; the committed table fits the folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "trophies"
HEAD = "import os\nimport sys\n"
#: Ends as a script does, by the variables that it sees.
ONLY_AVX2 = HEAD + 'print("skipped: only there")\nsys.exit(1 if os.environ.get("ONEDNN_MAX_CPU_ISA") else 77)\n'


def run_all(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run_all.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def put(root: Path, name: str, script: str) -> None:
    (root / name).mkdir(exist_ok=True)
    (root / name / "reproduce.py").write_text(script, encoding="utf-8")


def rows(root: Path) -> dict[str, list[str]]:
    """The cells behind each name."""
    lines = (root / "settings.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| [")]
    return {first[1 : first.index("]")]: rest for first, *rest in cells}


def test_the_table_and_the_folders_agree() -> None:
    """Every script is in it, shows its defect everywhere or says why not, and at most seven do not show it."""
    done = run_all("--check")
    assert (done.returncode, done.stdout) == (0, "")


def test_what_reads_neither_variable_is_run_once(tmp_path: Path) -> None:
    put(tmp_path, "plain", "import time\ntime.sleep(0.5)\nraise SystemExit(1)\n")  # long enough to be looked at
    assert run_all("--root", tmp_path).returncode == 0
    assert rows(tmp_path)["plain"][:4] == ["1", "=", "=", "="]


@pytest.mark.torch
def test_what_is_run_where_a_library_reads_one(tmp_path: Path) -> None:
    """The library has oneDNN in it; a script that does not end with 1 beside others is run by itself."""
    put(tmp_path, "shows", "import torch\nprint(torch.ones(1))\nraise SystemExit(1)\n")
    put(tmp_path, "skips", "import torch\n" + ONLY_AVX2)
    done = run_all("--root", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = rows(tmp_path)
    assert found["shows"][:4] == ["1", "1", "=", "="]
    assert found["skips"][:4] == ["77", "1", "=", "="]
    assert found["skips"][5] == "skipped: only there"
    assert found["shows"][4].startswith("torch 2.")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("raise SystemExit(0)\n", "0"),
        ("raise ValueError('no')\n", "raises"),
        ("import os\nos.kill(os.getpid(), 8)\n", "SIGFPE"),
        ("import time\ntime.sleep(60)\n", "SIGKILL"),
    ],
)
def test_what_does_not_show_its_defect_fails(tmp_path: Path, script: str, code: str) -> None:
    put(tmp_path, "odd", script)
    done = run_all("--root", tmp_path, "--timeout", 5)
    assert done.returncode == 1
    assert rows(tmp_path)["odd"][0] == code
    assert done.stdout.startswith(f"odd/reproduce.py: {code} ")


def test_named_scripts_alone_are_run_and_gone_ones_dropped(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path, name, "raise SystemExit(1)\n")
    assert run_all("--root", tmp_path).returncode == 0
    put(tmp_path, "a", "raise SystemExit(0)\n")
    put(tmp_path, "b", "print('skipped: so')\nraise SystemExit(77)\n")
    (tmp_path / "a").rename(tmp_path / "c")
    assert "a/reproduce.py: in the table alone" in run_all("--root", tmp_path, "--check").stdout
    assert run_all("--root", tmp_path, "b").returncode == 1
    assert rows(tmp_path)["b"][0] == "77"
    assert "a" not in rows(tmp_path)
    assert "c" not in rows(tmp_path)


def test_more_than_seven_skipped_are_too_many(tmp_path: Path) -> None:
    for number in range(8):
        put(tmp_path, f"s{number}", "print('skipped: so')\nraise SystemExit(77)\n")
    done = run_all("--root", tmp_path, "--jobs", 4)
    assert (done.returncode, done.stdout) == (1, "8 are skipped, at most 7 may be\n")


def test_a_skipped_one_says_why(tmp_path: Path) -> None:
    put(tmp_path, "mute", "raise SystemExit(77)\n")
    done = run_all("--root", tmp_path)
    assert (done.returncode, done.stdout) == (1, "mute/reproduce.py: skipped for no reason\n")
