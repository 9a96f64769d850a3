"""Drawn cases of a scenario, kept as they were drawn: what is drawn changes, what was recorded does not.

``cases/NAME.zip`` has a case file per case, in order, named after the stream that the case is from.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tensorparity.core.case import Case
from tensorparity.store.casefile import SUFFIX, CaseFile, read_case, write_case

FOLDER = Path(__file__).parent / "cases"
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def keep(name: str, cases: Sequence[tuple[str, Case]]) -> None:
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, zipfile.ZipFile(FOLDER / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as kept:
        for index, (stream, case) in enumerate(cases):
            path = Path(folder) / f"{index:04}-{stream}{SUFFIX}"
            write_case(path, CaseFile(case))
            kept.writestr(zipfile.ZipInfo(path.name, _TIMESTAMP), _uncompressed(path))


def kept(name: str) -> Iterator[tuple[str, Case]]:
    with TemporaryDirectory() as folder, zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        for member in sorted(archive.namelist()):
            path = Path(archive.extract(member, folder))
            yield path.stem.split("-", 1)[1], read_case(path).case


def is_kept(name: str) -> bool:
    return (FOLDER / f"{name}.zip").is_file()


def _uncompressed(path: Path) -> bytes:
    """The same zip with nothing compressed: together they compress better."""
    made = io.BytesIO()
    with zipfile.ZipFile(path) as own, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as plain:
        for member in own.infolist():
            plain.writestr(zipfile.ZipInfo(member.filename, _TIMESTAMP), own.read(member))
    return made.getvalue()
