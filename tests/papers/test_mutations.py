"""docs/papers.md and the changes that hold it go together; ``make papers`` makes all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..repository.test_papers import rows
from .hold import MUTATIONS, ROOT, Mutation, survives, table
from .mutating import mutated
from .mutations import MEASURED

#: The papers whose claims are changed; of the others the page only names places and tests.
_PAPERS = ("CRADLE", "Muffin", "Predoo")


def _own_rows() -> list[tuple[str, str, str]]:
    page = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    sections = [part for part in page.split("\n## ") if part.startswith(_PAPERS)]
    return [row for row in rows() if any(f"| {row[0]} |" in part for part in sections)]


_ROWS = _own_rows()


def _named(mutation: Mutation) -> str:
    return f"{mutation.claim}: {mutation.symbol}: {mutation.new}"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=_named)
def test_the_changed_text_stands_once_in_the_symbol(mutation: Mutation) -> None:
    path = ROOT / "src/tensorparity" / (mutation.module.replace(".", "/") + ".py")
    source = path.read_text(encoding="utf-8")
    assert mutated(source, mutation.symbol, mutation.old, mutation.new) != source


@pytest.mark.parametrize("mutation", MUTATIONS, ids=_named)
def test_the_page_names_the_module_and_the_test_for_the_claim(mutation: Mutation) -> None:
    (row,) = [row for row in _ROWS if row[0].startswith(mutation.claim)]
    assert f"{mutation.module.replace('.', '/')}.py" in row[1], f"{row[0]} does not name {mutation.module}"
    assert mutation.test in row[2], f"{row[0]} is not held by {mutation.test}"


def test_every_claim_has_a_change_or_a_reason() -> None:
    known = {mutation.claim for mutation in MUTATIONS} | set(MEASURED)
    without = [paper for paper, _, _ in _ROWS if not any(paper.startswith(claim) for claim in known)]
    assert not without
    stale = [claim for claim in known if not any(paper.startswith(claim) for paper, _, _ in _ROWS)]
    assert not stale


def test_the_committed_table_is_of_these_changes() -> None:
    written = Path(ROOT / "docs/papers_held.md").read_text(encoding="utf-8")
    assert written == table(), "run make papers"


@pytest.mark.parametrize("symbol", ["CLASS_THRESHOLD", "THETAS"])
def test_a_change_is_noticed(symbol: str) -> None:
    """Two of them, so that the way it is done stays tried; ``make papers`` does all."""
    mutation = next(mutation for mutation in MUTATIONS if mutation.symbol == symbol)
    assert survives(mutation) == ""
