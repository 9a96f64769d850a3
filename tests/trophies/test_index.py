"""``trophies/README.md`` lists every trophy, and is what ``make trophies-index`` makes of their pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "trophies"


def make_index(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "make_index.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def put(root: Path, name: str, page: str) -> None:
    (root / name).mkdir()
    (root / name / "README.md").write_text(page, encoding="utf-8")


def lines_of(root: Path) -> list[str]:
    done = make_index(root)
    assert done.returncode == 0, done.stderr
    return (root / "README.md").read_text(encoding="utf-8").splitlines()


def test_the_index_is_not_stale() -> None:
    done = make_index("--check")
    assert done.returncode == 0, done.stderr


def test_every_trophy_is_listed_once() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    names = [path.parent.name for path in FOLDER.glob("*/README.md")]
    assert [name for name in names if page.count(f"]({name}/README.md)") != 1] == []


def test_titles_decide_the_section_before_folders(tmp_path: Path) -> None:
    put(tmp_path, "jax-shared", "# Keras on JAX: a\n\n- Versions: keras 3.1 on jax 0.10.2.\n- Expected: b\n")
    put(tmp_path, "jax-sinc", "# jax.numpy.sinc: c\n\nVersions: jax 0.10.2, CPU; Python 3.11. Found by hand.\n")
    put(tmp_path, "i0", "# d\n\nVersions: torch 2.13.0+cpu, tensorflow-cpu\n2.21.0 (the script runs torch).\n")
    lines = lines_of(tmp_path)
    headed = {lines[index]: lines[index + 2] for index, line in enumerate(lines) if line.startswith("## ")}
    assert headed == {
        "## Keras on JAX": "- [Keras on JAX: a](jax-shared/README.md) (keras 3.1, jax 0.10.2)",
        "## JAX": "- [jax.numpy.sinc: c](jax-sinc/README.md) (jax 0.10.2)",
        "## Several libraries": "- [d](i0/README.md) (torch 2.13.0, tensorflow 2.21.0)",
    }


def test_who_is_right_is_not_listed_and_a_stated_severity_is(tmp_path: Path) -> None:
    said = "keras 3.1 on torch 2.1; jax 0.10 agrees with numpy; on tensorflow 2.2 it is right."
    put(tmp_path, "keras-torch-a", f"# Keras on torch: a\n\n- Versions: {said}\n- Severity: nan\n")
    assert lines_of(tmp_path)[-1] == "- [Keras on torch: a](keras-torch-a/README.md) (keras 3.1, torch 2.1; nan)"


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("no heading\n\nVersions: jax 0.10.2\n", "no line '# TITLE'"),
        ("# a\n\nVersions: the newest\n", "no 'Versions:'"),
        ("# a\n\nVersions: jax 0.10.2\n\nSeverity: dreadful\n", "'dreadful' is none of crash, wrong"),
    ],
)
def test_a_page_that_lacks_something_is_named(tmp_path: Path, page: str, complaint: str) -> None:
    put(tmp_path, "jax-a", page)
    done = make_index(tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("jax-a: ")
    assert complaint in done.stderr


def test_a_stale_index_is_told_and_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "jax-a", "# a\n\nVersions: jax 0.10.2\n")
    (tmp_path / "README.md").write_text("old", encoding="utf-8")
    done = make_index("--check", tmp_path)
    assert done.returncode == 1
    assert "make trophies-index" in done.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "old"
