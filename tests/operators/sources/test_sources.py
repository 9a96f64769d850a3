"""Layers, losses and optimizers against torch and TensorFlow, in float64: values and gradients."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import table
from .confirm import Confirmation, Judge, Name, draw_cases, launch
from .page import Figures

#: Uses of each reference: a few always, many in the slow suite, as many as the page is made of by ``make references``.
FEW, MANY = int(os.environ.get("TENSORPARITY_DRAWS", 2)), 100

NAMED = [("layer", name) for name in table.LAYERS] + [("loss", name) for name in table.LOSSES]
NAMED += [("optimizer", name) for name in table.OPTIMIZERS]
PAIRS = [
    pytest.param(library, kind, name, marks=getattr(pytest.mark, library), id=f"{library}-{name}")
    for library in table.LIBRARIES
    for kind, name in NAMED
    if library in table.sources_of(kind, name)
]


class Sources:
    """One process per library that some selected test asks for, all at once: they mostly wait for a core."""

    def __init__(self, folder: Path, draws: int, draw_example, wanted: set[str]) -> None:
        self._folder = folder
        self._cases = list(draw_cases(draws, draw_example))
        self._judge = Judge(self._cases)
        self._found: dict[str, dict[Name, Confirmation]] = {}
        self._running = {
            library: launch(library, folder / library, self._cases)
            for library in table.LIBRARIES
            if library in wanted and importlib.util.find_spec(library) is not None
        }

    def ask(self, library: str) -> dict[Name, Confirmation]:
        if library not in self._found:
            folder = self._folder / library
            code = self._running[library].wait(timeout=3000)
            assert code == 0, (folder / "messages").read_text()[-2000:]
            self._found[library] = self._judge.confirmations(library, folder)
        return self._found[library]

    def covered(self, library: str) -> dict[str, list[str]]:
        self.ask(library)
        return json.loads((self._folder / library / "answers.json").read_text())["covers"]

    def stop(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()


@pytest.fixture(scope="module", params=[pytest.param(FEW, id="few"), pytest.param(MANY, marks=pytest.mark.slow)])
def sources(request, tmp_path_factory, draw_example) -> Iterator[Sources]:
    items = (item for item in request.session.items if hasattr(item, "callspec"))
    wanted = {str(item.callspec.params.get("library")) for item in items}
    found = Sources(tmp_path_factory.mktemp("sources"), request.param, draw_example, wanted)
    yield found
    found.stop()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("library", "kind", "name"), PAIRS)
def test_reference_is_confirmed(sources: Sources, figures: Figures, library: str, kind: str, name: str) -> None:
    found = sources.ask(library)[kind, name]
    figures.setdefault((kind, name), {})[library] = found
    assert not found.failures, "\n".join(found.failures[:5])
    assert found.cases
    assert found.sloped or found.kinked <= 3, f"no gradient in {found.kinked} uses was clear of kinks"


@pytest.mark.parametrize("library", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in table.LIBRARIES])
def test_table_lists_what_the_library_computes(sources: Sources, library: str) -> None:
    covered = sources.covered(library)
    listed = {
        kind: sorted(name for k, name in NAMED if k == kind and library in table.sources_of(kind, name))
        for kind in covered
    }
    assert covered == listed
