"""The documents for readers of the code: short where they promise it, and no link that leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tensorparity

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
TOPICS = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")
#: A numbered list that the code refers to.
NUMBERED = "foundations.md"
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "tests").glob("*.md"),
    ROOT / "trophies/README.md",
]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    """A page without what only looks like a link: code."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def links(path: Path) -> list[str]:
    return [link for link in _LINK.findall(text_of(path)) if "://" not in link]


def test_the_architecture_is_one_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 8 * 1024


def test_every_decision_file_is_linked_from_the_index() -> None:
    assert TOPICS
    linked = [link for link in links(DECISIONS / "README.md") if "/" not in link]
    assert sorted(linked) == [path.name for path in TOPICS]


@pytest.mark.parametrize("path", [path for path in TOPICS if path.name != NUMBERED], ids=name)
def test_every_decision_has_context_choice_and_consequence(path: Path) -> None:
    head, *decisions = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)
    assert head.startswith("# ")
    assert decisions
    for decision in decisions:
        title = decision.splitlines()[0]
        assert re.findall(r"^\*\*(\w+)\.\*\*", decision, re.M) == ["Context", "Choice", "Consequence"], title


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    assert [link for link in links(path) if not (path.parent / link).exists()] == []


def anchors(path: Path) -> set[str]:
    """The headings of a page as the addresses that they get."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    words = (re.sub(r"[`*]", "", line).strip().lower() for line in re.findall(r"^#+ (.+)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in words}


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_to_a_heading_find_it(path: Path) -> None:
    wanted = re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", text_of(path))
    pages = [(path.parent / link if link else path, heading) for link, heading in wanted if "://" not in link]
    assert [heading for page, heading in pages if page.suffix == ".md" and heading not in anchors(page)] == []


def test_numbered_decisions_in_the_code_exist() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in Path(tensorparity.__file__).parent.rglob("*.py"))
    cited = {int(number) for number in re.findall(r"\bdecision (\d+)\b", sources, re.I)}
    listed = {int(number) for number in re.findall(r"^(\d+)\. ", (DECISIONS / NUMBERED).read_text("utf-8"), re.M)}
    assert cited <= listed


def test_the_changelog_has_the_release_and_what_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] == "Unreleased"
    assert tensorparity.__version__ in headings
