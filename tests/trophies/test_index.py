"""``trophies/README.md`` lists every trophy, and is what ``make trophies-index`` makes of their pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "trophies"
PAGE = """# {title}

What it costs.

| Field | Value |
| --- | --- |
| Library | {library} |
| Severity | {severity} |
| Seen in | jax 0.10.2 |
| Newest tried | jax 0.10.2 |
| Settings | any |
| Upstream | none found on 2026-11-18 |
| Source | `lax.py` |

## Documentation

a

## Expected

b

## Observed

c

## Cause

d

## Reproduce

e
"""


def make_index(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "make_index.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def put(root: Path, name: str, page: str) -> None:
    (root / name).mkdir()
    (root / name / "README.md").write_text(page, encoding="utf-8")


def page(title: str = "a", library: str = "JAX", severity: str = "nan") -> str:
    return PAGE.format(title=title, library=library, severity=severity)


def lines_of(root: Path) -> list[str]:
    done = make_index(root)
    assert done.returncode == 0, done.stderr
    return (root / "README.md").read_text(encoding="utf-8").splitlines()


def test_the_index_is_not_stale() -> None:
    done = make_index("--check")
    assert done.returncode == 0, done.stderr


def test_every_trophy_is_listed_once() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    names = [path.parent.name for path in FOLDER.glob("*/README.md")]
    assert [name for name in names if index.count(f"]({name}/README.md)") != 1] == []


def test_sorted_by_library_then_severity_then_title(tmp_path: Path) -> None:
    put(tmp_path, "a", page("z", "torch", "crash"))
    put(tmp_path, "b", page("y", "JAX", "digits"))
    put(tmp_path, "c", page("x", "JAX", "wrong"))
    put(tmp_path, "d", page("w", "JAX", "wrong"))
    assert [line for line in lines_of(tmp_path) if line.startswith("## ") or "README.md)" in line] == [
        "## JAX",
        "| wrong | [w](d/README.md) | jax 0.10.2 |",
        "| wrong | [x](c/README.md) | jax 0.10.2 |",
        "| digits | [y](b/README.md) | jax 0.10.2 |",
        "## torch",
        "| crash | [z](a/README.md) | jax 0.10.2 |",
    ]


def test_counted_by_severity(tmp_path: Path) -> None:
    put(tmp_path, "b", page("y", "JAX", "digits"))
    put(tmp_path, "c", page("x", "JAX", "wrong"))
    assert "| [JAX](#jax) |  | 1 |  |  | 1 | 2 |" in lines_of(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no heading\n", "does not begin with '# TITLE'"),
        (page().replace("| Settings | any |\n", ""), "lacks Settings"),
        (page().replace("## Cause\n\nd\n", ""), "lacks Cause"),
        (page().replace("## Expected\n\nb\n", "## Expected\n\n"), "lacks Expected"),
        (page(severity="dreadful"), "Severity 'dreadful' is none of crash, wrong"),
        (page(library="Theano"), "Library 'Theano' is none of Keras"),
    ],
)
def test_a_page_that_lacks_something_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    put(tmp_path, "jax-a", text)
    done = make_index(tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("jax-a: ")
    assert complaint in done.stderr


def test_a_stale_index_is_told_and_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "jax-a", page())
    (tmp_path / "README.md").write_text("old", encoding="utf-8")
    done = make_index("--check", tmp_path)
    assert done.returncode == 1
    assert "make trophies-index" in done.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "old"
