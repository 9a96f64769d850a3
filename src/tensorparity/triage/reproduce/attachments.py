"""Files that a script reads from its own folder: a model, and inputs that are too many to be written down."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...core.arrays import Array, dtype_name
from . import literals

#: How a script says where its own folder is.
HERE = "here = Path(__file__).parent  # what is read from here stands beside this script"


@dataclass(frozen=True)
class Attachment:
    """One file, by the name that the script reads; either a copy of ``path`` or ``data``."""

    name: str
    path: Path | None = None
    data: bytes = b""

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path else len(self.data)

    def put(self, folder: Path) -> None:
        """Write it into a folder.

        Raises:
            OSError: if it cannot be read or written.
        """
        if self.path is None:
            (folder / self.name).write_bytes(self.data)
        else:
            shutil.copyfile(self.path, folder / self.name)


@dataclass
class AttachmentFolder:
    """What a script has beside it, while it is being written."""

    files: dict[str, Attachment] = field(default_factory=dict)

    def model(self, path: str, sha256: str) -> str:
        """The model's file under a name of its own; an expression for its path."""
        stem, suffix = Path(path).stem, Path(path).suffix
        return self._add(f"{_plain(stem)}-{sha256[:8]}{_plain(suffix)}", path=Path(path))

    def module(self, path: Path) -> None:
        """A module of the user's under its own name, by which the script imports it."""
        self._add(path.name, path=path)

    def data(self, stem: str, suffix: str, data: bytes) -> str:
        return self._add(f"{stem}-{hashlib.sha256(data).hexdigest()[:8]}{suffix}", data=data)

    def arrays(self, named: Mapping[str, Array]) -> list[str]:
        """One line per array: written down where that is short, else read from a file of all that are not."""
        lines, long = [], {}
        for name, array in named.items():
            try:
                lines.append(f"{name} = {literals.array(array)}")
            except literals.Unprintable:
                if dtype_name(array) not in np.sctypeDict or array.dtype.kind not in "fiubc":
                    raise
                long[name] = array
        if long:
            buffer = io.BytesIO()
            np.savez(buffer, **long)  # type: ignore[arg-type]
            file = self.data("inputs", ".npz", buffer.getvalue())
            lines += [f'{name} = np.load({file})["{name}"]' for name in long]
        return lines

    def _add(self, name: str, path: Path | None = None, data: bytes = b"") -> str:
        self.files[name] = Attachment(name, path, data)
        return f"here / {literals.value(name)}"


def _plain(text: str) -> str:
    """A user's file name as part of a name in code and on any disk."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", text)[:60]
