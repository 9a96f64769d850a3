"""Every trophy's page: all fields, a valid severity, a dated line on upstream threads, a maintainer's words."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "trophies"
sys.path.insert(0, str(FOLDER))

from make_index import folders_in, read_trophy  # noqa: E402

TROPHIES = folders_in(FOLDER)
#: Words of this project that say nothing to those who maintain the library.
OURS = frozenset(
    ["arbiter", "case", "catalogue", "examiner", "finding", "fuzz", "museum", "oracle", "precision", "reducer"]
    + ["sighting", "subgradient", "suspect", "target", "tensorparity", "trophies", "trophy", "verdict", "witness"]
)
#: "precision" and "target" are also words of the libraries.
_ALSO_THEIRS = re.compile(
    r"(mixed|half|single|in|relative|absolute|instead of relative) precision|precision near|target (size|shape)"
)
_DATED = re.compile(r"none found on \d{4}-\d\d-\d\d|#\d+\].*searched on \d{4}-\d\d-\d\d")


def prose_of(folder: Path) -> str:
    """The page without quotations, code and links."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^>.*$", "", text, flags=re.M)
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)|\"[^\"\n]*\"", "", text)
    return _ALSO_THEIRS.sub("", text.lower())


def test_there_are_some() -> None:
    assert TROPHIES


@pytest.mark.parametrize("trophy", TROPHIES, ids=lambda path: path.name)
def test_the_page_is_whole(trophy: Path) -> None:
    read = read_trophy(trophy)
    assert _DATED.search(read.fields["Upstream"]), read.fields["Upstream"]
    assert re.search(r"\d+\.\d+", read.fields["Seen in"]), read.fields["Seen in"]
    assert re.search(r"\d+\.\d+", read.fields["Newest tried"]), read.fields["Newest tried"]
    assert not read.title.endswith(".")


@pytest.mark.parametrize("trophy", TROPHIES, ids=lambda path: path.name)
def test_it_says_in_one_sentence_what_it_costs(trophy: Path) -> None:
    text = (trophy / "README.md").read_text(encoding="utf-8")
    costs = text.split("\n\n")[1]
    assert costs.endswith(".")
    assert "|" not in costs
    assert len(costs.splitlines()) == 1


@pytest.mark.parametrize("trophy", TROPHIES, ids=lambda path: path.name)
def test_it_has_none_of_our_words(trophy: Path) -> None:
    prose = prose_of(trophy)
    assert sorted(word for word in OURS if re.search(rf"\b{word}s?\b", prose)) == []


@pytest.mark.parametrize("trophy", TROPHIES, ids=lambda path: path.name)
def test_it_names_its_scripts(trophy: Path) -> None:
    section = (trophy / "README.md").read_text(encoding="utf-8").split("## Reproduce\n")[1]
    assert sorted(re.findall(r"`python ([\w.]+)`", section)) == sorted(path.name for path in trophy.glob("*.py"))
