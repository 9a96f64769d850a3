"""The index of all trophies, by library: ``python trophies/make_index.py`` writes ``README.md``, ``--check`` compares.

Of each trophy's page it reads the title, the ``Versions:`` and, where there is one, the ``Severity:``.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

#: Sections of the index in their order: how titles begin that belong there, and how names of folders do.
SECTIONS: dict[str, tuple[str, str]] = {
    "Keras on several backends": (r"Keras(,| on \w+ and |:)", "keras-"),
    "Keras on TensorFlow": (r"Keras on TensorFlow:", "keras-tensorflow-"),
    "Keras on JAX": (r"Keras on JAX:", "keras-jax-"),
    "Keras on torch": (r"Keras on torch:", "keras-torch-"),
    "Keras on OpenVINO": (r"Keras on OpenVINO:", "keras-openvino-"),
    "TensorFlow": (r"TensorFlow:", "tensorflow-"),
    "JAX": (r"JAX:", "jax-"),
    "torch": (r"torch:", "torch-"),
    "ONNX Runtime": (r"ONNX Runtime:", "onnxruntime-"),
    "OpenVINO": (r"OpenVINO:", "openvino-"),
    "ONNX's reference evaluator": (r"ONNX's reference evaluator:", "onnx-reference-"),
}
SEVERAL = "Several libraries"
SEVERITIES = ("crash", "wrong", "nan", "refuses-valid", "digits")

_FIELD = r"^(?:[-*] )?\**{}\**:\**\s*(.*?)(?=\n\s*\n|\n[-*] |\Z)"
_NAMES = "keras|tensorflow|torch|jax|onnxruntime|openvino|onnx|tf2onnx"
_LIBRARY = re.compile(rf"\b({_NAMES})(?:-cpu)? (\d+(?:\.\d+)*)", re.I)
#: Ends of what a page says of one library; a number's point has no space behind it.
_CLAUSES = re.compile(r";|\.\s")
#: What is said of libraries that do not have the defect.
_OF_OTHERS = re.compile(r"\b(agrees?|right|to write the model)\b")


class PageError(Exception):
    """A page without something that the index needs."""


@dataclass(frozen=True)
class Trophy:
    """One line of the index."""

    folder: str
    title: str
    section: str
    versions: str
    severity: str

    @property
    def line(self) -> str:
        stated = f"; {self.severity}" if self.severity else ""
        return f"- [{self.title}]({self.folder}/README.md) ({self.versions}{stated})"


def read_trophy(folder: Path) -> Trophy:
    """What the page of one trophy says.

    Raises:
        PageError: if it has no title or names no version, or an unknown severity.
    """
    try:
        page = (folder / "README.md").read_text(encoding="utf-8")
    except OSError as error:
        raise PageError(f"{folder.name}: no README.md") from error
    heading = re.search(r"^# +(.+)$", page, re.M)
    if not heading:
        raise PageError(f"{folder.name}: README.md has no line '# TITLE'")
    title = heading[1].strip()
    versions = _versions(_field(page, "Versions"))
    if not versions:
        raise PageError(f"{folder.name}: README.md has no 'Versions:' with a library, as in 'jax 0.10.2'")
    severity = _field(page, "Severity").strip(" .`")
    if severity and severity not in SEVERITIES:
        raise PageError(f"{folder.name}: severity {severity!r} is none of {', '.join(SEVERITIES)}")
    return Trophy(folder.name, title, _section(folder.name, title), versions, severity)


def _field(page: str, name: str) -> str:
    found = re.search(_FIELD.format(name), page, re.M | re.S)
    return " ".join(found[1].split()) if found else ""


def _versions(text: str) -> str:
    """The versions of the libraries that have the defect, each once."""
    clauses = [clause for clause in _CLAUSES.split(text) if not _OF_OTHERS.search(clause)]
    found = [(name.lower(), number) for clause in clauses for name, number in _LIBRARY.findall(clause)]
    return ", ".join(dict.fromkeys(f"{name} {number}" for name, number in found))


def _section(folder: str, title: str) -> str:
    """By the title, which is written for readers; else by the longest beginning of the folder's name."""
    for section, (start, _) in SECTIONS.items():
        if re.match(start, title):
            return section
    fitting = [section for section, (_, prefix) in SECTIONS.items() if folder.startswith(prefix)]
    return max(fitting, key=lambda section: len(SECTIONS[section][1]), default=SEVERAL)


def index_of(root: Path) -> str:
    """The whole page.

    Raises:
        PageError: if a trophy's page cannot be read.
    """
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))
    trophies = [read_trophy(folder) for folder in folders]
    sections = [(name, [t for t in trophies if t.section == name]) for name in (*SECTIONS, SEVERAL)]
    filled = [(name, members) for name, members in sections if members]
    lines = [
        "# Trophies",
        "",
        f"{len(trophies)} defects of released libraries. Each folder has a page and a `reproduce.py` that imports only",
        "the library and exits 1 while the defect exists. In parentheses: the versions it was last seen in, and its",
        "severity where the page states one. Made by `make trophies-index`.",
        "",
        "| library | defects |",
        "| --- | --- |",
        *(f"| [{name}](#{_anchor(name)}) | {len(members)} |" for name, members in filled),
    ]
    for name, members in filled:
        lines += ["", f"## {name}", "", *(trophy.line for trophy in members)]
    return "\n".join(lines) + "\n"


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
