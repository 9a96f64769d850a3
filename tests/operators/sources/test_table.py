"""Every reference of the catalogue has two independent sources, or says why not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tensorparity.operators.catalogue import layer_names
from tensorparity.operators.losses.catalogue import LOSSES
from tensorparity.operators.optimizers.catalogue import OPTIMIZERS

from . import table
from .calls import HAND
from .page import KINDS, PAGE, read_cells, render

TESTS = Path(__file__).parents[1]
TABLES = [(table.LAYERS, layer_names()), (table.LOSSES, LOSSES), (table.OPTIMIZERS, OPTIMIZERS)]
ROWS = [(name, sources) for listed, _ in TABLES for name, sources in listed.items()]


@pytest.mark.parametrize(("listed", "names"), TABLES, ids=["layers", "losses", "optimizers"])
def test_the_table_lists_the_catalogue(listed, names):
    assert sorted(listed) == sorted(names)


@pytest.mark.parametrize(("name", "sources"), ROWS)
def test_two_sources_or_a_reason(name, sources):
    assert set(sources) <= {*table.LIBRARIES, "hand"}
    enough = len(sources) >= 2
    assert enough or name in table.EXCEPTIONS, f"{name} has {len(sources)} sources and no reason why"
    assert not (enough and name in table.EXCEPTIONS), f"{name} has two sources and needs no exception"
    assert sources


def test_exceptions_are_of_the_catalogue_and_give_a_reason():
    names = {name for name, _ in ROWS}
    for name, reason in table.EXCEPTIONS.items():
        assert name in names
        assert len(reason.split()) > 5


BY_HAND = [(name, sources["hand"]) for name, sources in ROWS if "hand" in sources] + list(HAND.items())


@pytest.mark.parametrize(("name", "test"), BY_HAND)
def test_hand_vectors_exist(name, test):
    file, _, function = test.partition("::")
    text = next(TESTS.rglob(file)).read_text()
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name == function]
    assert found, f"{name}: there is no {test}"
    # Tests of a whole family take its names from the catalogue; the others spell them out.
    assert name in text or (name.startswith("Random") and "layer_names()" in text), f"{test} is not about {name}"


def test_the_page_is_current():
    text = PAGE.read_text(encoding="utf-8")
    assert render(read_cells(PAGE)) == text, "sources have changed: make references"


def test_the_page_has_figures_for_all_that_libraries_compute():
    cells = read_cells(PAGE)
    for kind, (_, listed) in KINDS.items():
        for name, sources in listed.items():
            measured = any(source != "hand" for source in sources)
            assert (cells[kind, name][0] != "by hand") == measured, name
