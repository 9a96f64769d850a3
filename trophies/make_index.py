"""The index of all trophies, by library and severity.

``python trophies/make_index.py`` writes ``README.md``, ``--check`` compares. A trophy's page begins with its title and
one sentence on what it costs; the table of fields behind it is read here.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

#: The sections of the index in their order, and the values of the field ``Library``.
LIBRARIES = (
    "Keras",
    "Keras on TensorFlow",
    "Keras on JAX",
    "Keras on JAX and torch",
    "Keras on TensorFlow and torch",
    "Keras on torch",
    "Keras on OpenVINO",
    "TensorFlow",
    "JAX",
    "torch",
    "ONNX Runtime",
    "OpenVINO",
    "ONNX reference evaluator",
    "Several libraries",
)
#: The worst first, with what each means.
SEVERITIES = {
    "crash": "the process ends",
    "wrong": "a wrong number, shape, dtype or state, and no error",
    "nan": "NaN or infinity in place of a number, or a number in place of those",
    "refuses-valid": "an exception on a valid call",
    "digits": "fewer correct digits, or a smaller range, than the dtype has",
}
FIELDS = ("Library", "Severity", "Seen in", "Newest tried", "Settings", "Upstream", "Source")
HEADINGS = ("Documentation", "Expected", "Observed", "Cause", "Reproduce")

_ROW = re.compile(r"^\| ([^|]+?) \| (.+) \|$", re.M)


class PageError(Exception):
    """A page without something that it must have."""


@dataclass(frozen=True)
class Trophy:
    """What the index says of one page."""

    folder: str
    title: str
    fields: dict[str, str]

    @property
    def rank(self) -> tuple[int, str]:
        return list(SEVERITIES).index(self.fields["Severity"]), self.title

    @property
    def row(self) -> str:
        fields = self.fields
        return f"| {fields['Severity']} | [{self.title}]({self.folder}/README.md) | {fields['Seen in']} |"


def read_trophy(folder: Path) -> Trophy:
    """The page of one trophy.

    Raises:
        PageError: if the title, a field or a section is missing, or a field has a value that it cannot have.
    """
    page = _text_of(folder)
    heading = re.match(r"# +(.+)\n", page)
    if not heading:
        raise PageError(f"{folder.name}: README.md does not begin with '# TITLE'")
    fields = {name: value.strip() for name, value in _ROW.findall(page)}
    missing = [name for name in FIELDS if not fields.get(name)]
    missing += [name for name in HEADINGS if not re.search(rf"^## {name}\n\n\S", page, re.M)]
    if missing:
        raise PageError(f"{folder.name}: README.md lacks {', '.join(missing)}")
    _one_of(folder, "Library", fields["Library"], LIBRARIES)
    _one_of(folder, "Severity", fields["Severity"], SEVERITIES)
    return Trophy(folder.name, heading[1].strip(), fields)


def _text_of(folder: Path) -> str:
    try:
        return (folder / "README.md").read_text(encoding="utf-8")
    except OSError as error:
        raise PageError(f"{folder.name}: no README.md") from error


def _one_of(folder: Path, name: str, value: str, allowed: tuple[str, ...] | dict[str, str]) -> None:
    if value not in allowed:
        raise PageError(f"{folder.name}: {name} {value!r} is none of {', '.join(allowed)}")


def folders_in(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))


def index_of(root: Path) -> str:
    """The whole page.

    Raises:
        PageError: if a trophy's page cannot be read.
    """
    trophies = [read_trophy(folder) for folder in folders_in(root)]
    lines = _head(len(trophies))
    sections = {name: [t for t in trophies if t.fields["Library"] == name] for name in LIBRARIES}
    filled = {name: sorted(members, key=lambda t: t.rank) for name, members in sections.items() if members}
    lines += _counts(filled)
    for name, members in filled.items():
        lines += ["", f"## {name}", "", "| severity | defect | seen in |", "| --- | --- | --- |"]
        lines += [trophy.row for trophy in members]
    return "\n".join(lines) + "\n"


def _head(number: int) -> list[str]:
    return [
        "# Trophies",
        "",
        f"{number} defects of released libraries, one folder each. A folder has a page and scripts that import only",
        "the library and exit 1 while the defect exists. Made by `make trophies-index`.",
        "",
        "| severity | means |",
        "| --- | --- |",
        *(f"| {name} | {meaning} |" for name, meaning in SEVERITIES.items()),
        "",
    ]


def _counts(filled: dict[str, list[Trophy]]) -> list[str]:
    lines = [f"| library | {' | '.join(SEVERITIES)} | all |", "| --- |" + " --- |" * (len(SEVERITIES) + 1)]
    for name, members in filled.items():
        numbers = [sum(t.fields["Severity"] == severity for t in members) for severity in SEVERITIES]
        cells = " | ".join(str(number or "") for number in numbers)
        lines.append(f"| [{name}](#{_anchor(name)}) | {cells} | {len(members)} |")
    return lines


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, help="of the trophies")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if README.md is stale")
    options = parser.parse_args()
    page = options.folder / "README.md"
    try:
        made = index_of(options.folder)
    except PageError as error:
        print(error, file=sys.stderr)
        return 2
    if not options.check:
        page.write_text(made, encoding="utf-8")
        return 0
    if page.is_file() and page.read_text(encoding="utf-8") == made:
        return 0
    print(f"{page} is stale; run make trophies-index", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
