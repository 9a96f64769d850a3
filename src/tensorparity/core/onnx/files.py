"""An ONNX file and its neighbours: weights kept outside of the file are put into it.

A file says where its external data lies, and a stranger's file may say anything. Only regular files
inside the model's own folder are read; everything else is refused, and nothing outside is even looked at.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ..arrays import dtype_named
from ..case import ModelFile
from ..errors import ModelRefusedError
from . import wire
from .model import DTYPES, MOST_DEPTH
from .wire import Field, WireError, read_fields

#: Protocol buffers end here, so no runtime takes more.
MOST_BYTES = 2**31 - 1

#: Where messages hold messages that may hold a tensor.
_NESTED: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
#: Of these a message has one; a second one would be merged into it by some readers and not by others.
_SINGULAR = frozenset(
    [("model", 7), ("training", 1), ("training", 2), ("attribute", 5), ("attribute", 6), ("attribute", 22)]
    + [("sparse", 1), ("sparse", 2)]
)
#: A graph within a graph is three messages further down.
_MOST_LEVELS = 3 * (MOST_DEPTH + 2)

_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_RAW, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 1, 2, 8, 9, 13, 14
_EXTERNAL = 1


@dataclass(frozen=True, slots=True)
class OnnxContent:
    """A model that stands alone: its bytes, and which files they came from (see ``ModelFile``)."""

    data: bytes
    sha256: str
    parts: tuple[tuple[str, str], ...]


def read_onnx(path: Path) -> OnnxContent:
    """Read a model with all that it keeps outside.

    Raises:
        ModelRefusedError: one line that says what is wrong with it.
    """
    try:
        data = _read_whole(path, MOST_BYTES)
    except OSError as error:
        raise ModelRefusedError(f"{path.name} cannot be read: {error.strerror or error}") from error
    folder = _Folder(path, len(data))
    try:
        inlined = _inline_external_data("model", memoryview(data), 0, folder)
    except WireError as error:
        raise ModelRefusedError(f"{path.name} is not an ONNX model, or is truncated: {error}") from error
    sha256 = hashlib.sha256(data).hexdigest()
    return OnnxContent(data if inlined is None else inlined, sha256, folder.parts())


def read_verified(file: ModelFile) -> OnnxContent:
    """Read the very model that ``file`` stands for.

    Raises:
        ModelRefusedError: if it is gone, or another one by now.
    """
    content = read_onnx(Path(file.path))
    if (content.sha256, content.parts) != (file.sha256, file.parts):
        raise ModelRefusedError(f"{Path(file.path).name} or its external data has changed since it was inspected")
    return content


def _read_whole(path: Path, most: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ModelRefusedError(f"{path.name} is not a regular file")
        if found.st_size > most:
            raise ModelRefusedError(
                f"{path.name} has {found.st_size} bytes, more than the {most} an ONNX file may have"
            )
        return file.read(most + 1)


# Putting it in


def _inline_external_data(kind: str, message: memoryview, level: int, folder: _Folder) -> bytes | None:
    """The message with all external data in it; None where there is none, so that nothing is copied."""
    if level > _MOST_LEVELS:
        raise WireError(f"graphs are nested more than {MOST_DEPTH} deep")
    fields = list(read_fields(message))
    if kind == "tensor":
        return _inlined_tensor(fields, folder)
    _check_singular(kind, fields)
    written: list[bytes | memoryview] = [field.raw for field in fields]
    changed = False
    for index, field in enumerate(fields):
        below = _NESTED[kind].get(field.number)
        inner = _inline_external_data(below, field.bytes, level + 1, folder) if below else None
        if inner is not None:
            written[index] = wire.delimited_field(field.number, inner)
            changed = True
    return b"".join(written) if changed else None


def _check_singular(kind: str, fields: list[Field]) -> None:
    numbers = [field.number for field in fields if (kind, field.number) in _SINGULAR]
    if len(numbers) > len(set(numbers)):
        raise WireError(f"one {kind} holds the same part twice")


def _inlined_tensor(fields: list[Field], folder: _Folder) -> bytes | None:
    location = [field.integer for field in fields if field.number == _TENSOR_LOCATION]
    if not location or location[-1] != _EXTERNAL:
        return None
    entries = dict(_entry(field.bytes) for field in fields if field.number == _TENSOR_EXTERNAL)
    name = next((field.text for field in fields if field.number == _TENSOR_NAME), "")
    raw = folder.read(name, entries, _expected_bytes(fields))
    dropped = (_TENSOR_EXTERNAL, _TENSOR_LOCATION, _TENSOR_RAW)
    kept = [field.raw for field in fields if field.number not in dropped]
    return b"".join((*kept, wire.delimited_field(_TENSOR_RAW, raw)))


def _entry(message: memoryview) -> tuple[str, str]:
    fields = {field.number: field.text for field in read_fields(message)}
    return fields.get(1, ""), fields.get(2, "")


def _expected_bytes(fields: list[Field]) -> int | None:
    """How many bytes the tensor's shape and type ask for; None for types that NumPy does not know."""
    dims = [size for field in fields if field.number == _TENSOR_DIMS for size in field.integers]
    types = [field.integer for field in fields if field.number == _TENSOR_TYPE]
    dtype = DTYPES.get(types[-1] if types else 0)
    if dtype is None or dtype == "string":
        return None
    return math.prod(max(0, size) for size in dims) * dtype_named(dtype).itemsize


# The folder


class _Folder:
    """The model's folder: the only place anything is read from."""

    def __init__(self, model: Path, size: int) -> None:
        self._model = model.name
        self._folder = model.parent.resolve()
        self._size = size
        self._files: dict[str, Path] = {}

    def parts(self) -> tuple[tuple[str, str], ...]:
        """Every file that was read, with its digest."""
        return tuple((location, self._digest(path)) for location, path in sorted(self._files.items()))

    def _digest(self, path: Path) -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def read(self, tensor: str, entries: Mapping[str, str], expected: int | None) -> bytes:
        """The bytes of one tensor.

        Raises:
            ModelRefusedError: if they lie outside of the folder, of the file, or of what fits one message.
        """
        location = entries.get("location", "")
        path = self._files.get(location) or self._inside(location)
        offset = self._number(entries, "offset", 0)
        size = path.stat().st_size
        length = self._number(entries, "length", size - offset if expected is None else expected)
        if offset + length > size or length < 0:
            self._refuse(f"bytes {offset} to {offset + length} of {location!r} for tensor {tensor!r}; it has {size}")
        if expected is not None and length != expected:
            self._refuse(f"{length} bytes of {location!r} for tensor {tensor!r}, whose shape needs {expected}")
        self._size += length
        if self._size > MOST_BYTES:
            self._refuse(f"more than {MOST_BYTES} bytes in all, which is what one ONNX message can hold")
        self._files[location] = path
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def _inside(self, location: str) -> Path:
        """The file at ``location``, once it is sure that it is one and lies in the folder."""
        steps = re.split(r"[/\\]", location)
        if not location or "\0" in location or not steps[0] or ".." in steps or re.match(r"[A-Za-z]:", location):
            self._refuse(f"{location!r}, which is not a path inside of the model's folder")
        path = (self._folder / location).resolve()
        if not path.is_relative_to(self._folder):
            self._refuse(f"{location!r}, a link out of the model's folder")
        if not path.exists():
            self._refuse(f"{location!r}, which is not there")
        if not path.is_file():
            self._refuse(f"{location!r}, which is not a regular file")
        return path

    def _number(self, entries: Mapping[str, str], name: str, default: int) -> int:
        text = entries.get(name, "")
        if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
            self._refuse(f"{name} {text!r}, expected a number of bytes")
        return int(text) if text else default

    def _refuse(self, what: str) -> NoReturn:
        raise ModelRefusedError(f"{self._model} keeps data outside of itself: it asks for {what}")
