"""docs/references.md: every reference with its sources, the largest error seen, and the exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from tensorparity.operators.functions.catalogue import OPERATORS

from . import table
from .calls import UNFIT, sources_of
from .measure import BOUND


class Figure(Protocol):
    """What a source confirmed: see ``Confirmation``."""

    values: float
    gradients: float
    cases: int
    sloped: int


#: By kind and name of the reference, then by source.
Figures = dict[tuple[str, str], dict[str, Figure]]
#: The two cells that figures give a row of the page.
Cells = tuple[str, str]

PAGE = Path(__file__).parents[3] / "docs" / "references.md"
#: Title and rows of each part of the page, by kind.
KINDS = {
    "layer": ("Layers", table.LAYERS),
    "loss": ("Losses", table.LOSSES),
    "optimizer": ("Optimizers", table.OPTIMIZERS),
    "operator": ("Operators", {name: sources_of(name) for name in OPERATORS.names()}),
}


def write(path: Path, figures: Figures) -> None:
    """The page with these figures; rows that were not measured this time keep theirs."""
    cells = read_cells(path) if path.exists() else {}
    for key, found in figures.items():
        cells[key] = _largest(list(found.values()))
    path.write_text(render(cells), encoding="utf-8")


def read_cells(path: Path) -> dict[tuple[str, str], Cells]:
    """The figures of a page, by kind and name."""
    found, kind = {}, ""
    titles = {title: name for name, (title, _) in KINDS.items()}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind = titles.get(line.removeprefix("## "), "")
        row = re.fullmatch(r"\| (\w+) \| .* \| ([^|]*) \| ([^|]*) \|", line)
        if row and kind and row[1] != "reference":
            found[kind, row[1]] = (row[2], row[3])
    return found


def _largest(found: list[Figure]) -> Cells:
    values = f"{max(one.values for one in found):.1e}"
    sloped = [one for one in found if one.sloped]
    return values, f"{max(one.gradients for one in sloped):.1e}" if sloped else "none"


def render(cells: dict[tuple[str, str], Cells]) -> str:
    return "\n".join(_lines(cells)) + "\n"


def _lines(cells: dict[tuple[str, str], Cells]) -> Iterator[str]:
    yield "# What confirms the references"
    yield ""
    yield "Made by `make references`; `tests/operators/sources/` holds it. Every reference of the catalogue is compared"
    yield "in float64 with at least two independent sources: functions of torch, TensorFlow and JAX (without Keras),"
    yield "ONNX's reference implementation, SciPy, and numbers worked out by hand. `composed` means the formula in the"
    yield f"library's sums, products and elementary functions. The bound is {BOUND:g} of"
    yield "`|a - b| / sum |terms|`; the figures are the largest seen."
    yield ""
    yield "Gradients are the libraries' own; the reference's is `<g, J v>` along a random direction, from its values by"
    yield "extrapolated differences. `none` means that nothing is differentiable."
    for kind, (title, listed) in KINDS.items():
        yield ""
        yield f"## {title}"
        yield ""
        yield "| reference | sources | values | gradients |"
        yield "| --- | --- | --- | --- |"
        for name in sorted(listed):
            values, gradients = cells.get((kind, name), ("by hand", "none"))
            yield f"| {name} | {_sources(listed[name])} | {values} | {gradients} |"
    yield ""
    yield "## Exceptions"
    yield ""
    yield "| reference | why it has fewer than two sources |"
    yield "| --- | --- |"
    for name, reason in sorted(table.EXCEPTIONS.items()):
        yield f"| {name} | {reason} |"
    yield ""
    yield "Libraries that are no source of an operator in float64, while the others are; a test holds that they still"
    yield "are none:"
    yield ""
    yield "| operator | library | why |"
    yield "| --- | --- | --- |"
    for (name, library), reason in sorted(UNFIT.items()):
        yield f"| {name} | {library} | {reason} |"


def _sources(sources: table.Sources) -> str:
    shown = []
    for source, how in sources.items():
        shown.append(f"by hand: `{how.partition('::')[2]}`" if source == "hand" else f"{source}: {how}")
    return "; ".join(shown)
