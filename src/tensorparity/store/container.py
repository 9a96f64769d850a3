"""The zip around a case file, read as if a stranger had written it.

Nothing is extracted and no size a header claims is believed: members are named, checked, and read
into memory with a limit.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, NoReturn

from ..core.atomic import replacing_file
from ..core.errors import CaseFileError

#: All members together, uncompressed. Reduced cases have kilobytes; an embedded VGG-19 has 550 MiB.
MAX_TOTAL_BYTES = 2**30
#: One member, uncompressed.
MAX_MEMBER_BYTES = 2**30 - 2**24
#: ``case.json``: 20,000 arrays in the index need about 3 MiB.
MAX_JSON_BYTES = 2**24
#: A case has an array per weight and input; the largest model of the zoo has under 2,000.
MAX_MEMBERS = 20_000
#: We store without compression, so a high ratio is never ours. Re-zipped weights reach 10, zeros 1,000.
MAX_RATIO = 100
#: Below this size a high ratio is harmless.
MAX_RATIO_FREE_BYTES = 2**20

#: Characters of what a refusal quotes from the file.
MAX_MESSAGE = 300

#: Bytes of the central directory per member: its fixed part, our longest name, and some room for
#: the extra fields other zip tools add.
_DIRECTORY_BYTES_PER_MEMBER = 46 + 210
_END_OF_DIRECTORY = struct.Struct("<4s4H2LH")
_ZIP64_LOCATOR_BYTES = 20
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold; fixed, so that equal cases are equal bytes

JSON_MEMBER = "case.json"
MODEL_MEMBER = "model.bin"
_KNOWN_NAMES = re.compile(r"case\.json|model\.bin|arrays/[0-9]{4,5}\.npy|fault/[A-Za-z0-9_][A-Za-z0-9_-]{0,99}\.py")

#: What zipfile and zlib raise on bytes that are not a zip, or not a whole one.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError, RuntimeError)


def is_known_name(name: str) -> bool:
    """Whether a case file may have a member of this name."""
    return _KNOWN_NAMES.fullmatch(name) is not None


def refuse(path: Path, found: str, advice: str) -> NoReturn:
    """Raise the one-line error every refusal of a case file ends in."""
    raise CaseFileError(f"{path}: {_one_line(found)}; {advice}")


def _one_line(text: str) -> str:
    """One line of bounded length without control characters: a hostile file may have put anything into it."""
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 3] + "..."


class Container:
    """The members of one case file.

    Not thread-safe; use as a context manager. Everything raises CaseFileError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0
        self._file = self._open()
        try:
            self._zip = self._directory()
            self._members = self._checked_members()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Container:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._members)

    def read(self, name: str, limit: int = MAX_MEMBER_BYTES) -> bytes:
        """The bytes of one member, its checksum verified."""
        if name not in self._members:
            self.refuse(f"member {name!r} is missing", "the file is incomplete: ask for it again")
        info = self._members[name]
        room = min(limit, MAX_TOTAL_BYTES - self._read)
        try:
            with self._zip.open(info) as file:
                data = file.read(room + 1)
        except (*_BROKEN, OSError) as error:
            self.refuse(f"member {name!r} is damaged ({error})", "copy the file again")
        self._read += len(data)
        if len(data) > room:
            self.refuse(f"member {name!r} unpacks to more than {room:,} bytes", "do not use this file")
        if len(data) != info.file_size:
            self.refuse(f"member {name!r} has {len(data):,} bytes instead of {info.file_size:,}", "copy the file again")
        return data

    def refuse(self, found: str, advice: str) -> NoReturn:
        refuse(self.path, found, advice)

    def _open(self) -> IO[bytes]:
        try:
            return open(self.path, "rb")
        except OSError as error:
            refuse(self.path, f"cannot be read ({error.strerror})", "check the path")

    def _directory(self) -> zipfile.ZipFile:
        self._check_end()
        try:
            return zipfile.ZipFile(self._file)
        except (*_BROKEN, OSError) as error:
            self.refuse(f"the zip is damaged ({error})", "copy the file again")

    def _check_end(self) -> None:
        """Bound the directory before zipfile reads it: it makes an object of every entry there is."""
        end = _END_OF_DIRECTORY
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(0, size - end.size - _ZIP64_LOCATOR_BYTES))
        tail = self._file.read()
        self._file.seek(0)
        if not self._file.read(4).startswith((b"PK\x03\x04", b"PK\x05\x06")):
            self.refuse("this is not a case file (no zip)", "give a .tpcase file written by tensorparity")
        if len(tail) < end.size or tail[-end.size :][:4] != b"PK\x05\x06":
            self.refuse("the zip is truncated or has something appended", "copy the file again")
        _, _, _, _, count, directory, _, _ = end.unpack(tail[-end.size :])
        if tail[: -end.size].startswith(b"PK\x06\x07") or count > MAX_MEMBERS:
            self.refuse(f"more than {MAX_MEMBERS:,} members", "do not use this file")
        if directory > _DIRECTORY_BYTES_PER_MEMBER * max(count, 16):
            self.refuse(f"a directory of {directory:,} bytes for {count} members", "do not use this file")

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            self._check_name(info)
            if info.filename in members:
                self.refuse(f"member {info.filename!r} is there twice", "do not use this file")
            self._check_kind(info)
            members[info.filename] = info
        if len(members) > MAX_MEMBERS:
            self.refuse(f"more than {MAX_MEMBERS:,} members", "do not use this file")
        if (total := sum(info.file_size for info in members.values())) > MAX_TOTAL_BYTES:
            self.refuse(f"unpacks to {total:,} bytes, the limit is {MAX_TOTAL_BYTES:,}", "do not use this file")
        if JSON_MEMBER not in members:
            self.refuse(f"a zip without {JSON_MEMBER!r}", "give a .tpcase file written by tensorparity")
        return members

    def _check_name(self, info: zipfile.ZipInfo) -> None:
        name = info.orig_filename  # filename is what zipfile made of it
        parts = name.replace("\\", "/").split("/")
        if "\\" in name or ".." in parts or name.startswith("/") or re.match(r"[A-Za-z]:", name):
            self.refuse(f"member {name!r} points outside of the file", "do not use this file")
        if not is_known_name(name) or info.filename != name:
            self.refuse(f"member {name!r} does not belong into a case file", "do not use this file")

    def _check_kind(self, info: zipfile.ZipInfo) -> None:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind == stat.S_IFLNK:
            self.refuse(f"member {info.filename!r} is a symbolic link", "do not use this file")
        if kind not in (0, stat.S_IFREG):
            self.refuse(f"member {info.filename!r} is not a plain file", "do not use this file")
        if info.flag_bits & 1:
            self.refuse(f"member {info.filename!r} is encrypted", "ask for the file without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.refuse(f"member {info.filename!r} has compression {info.compress_type}", "store or deflate it")
        if info.file_size > max(MAX_RATIO_FREE_BYTES, MAX_RATIO * info.compress_size):
            self.refuse(
                f"member {info.filename!r} unpacks {info.compress_size:,} bytes to {info.file_size:,}",
                "do not use this file",
            )


def write_container(path: Path, members: Mapping[str, bytes]) -> None:
    """Write a case file's zip atomically; equal members give equal bytes.

    Raises:
        CaseFileError: if it would be too large to be read again.
        OSError: if the folder cannot be written.
    """
    _check_size(path, members)
    with replacing_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            # Not compressed: the bytes then depend on no version of zlib, and weights hardly shrink.
            info = zipfile.ZipInfo(name, _TIMESTAMP)
            info.create_system = 3  # "made on Unix", also elsewhere
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, members[name])


def _check_size(path: Path, members: Mapping[str, bytes]) -> None:
    advice = "give fewer or smaller inputs, or do not embed the model"
    total = sum(len(data) for data in members.values())
    if total > MAX_TOTAL_BYTES:
        refuse(path, f"the case has {total:,} bytes, the limit is {MAX_TOTAL_BYTES:,}", advice)
    if len(members) > MAX_MEMBERS:
        refuse(path, f"the case has {len(members):,} members, the limit is {MAX_MEMBERS:,}", advice)
    for name, data in members.items():
        limit = MAX_JSON_BYTES if name == JSON_MEMBER else MAX_MEMBER_BYTES
        if len(data) > limit:
            refuse(path, f"member {name!r} has {len(data):,} bytes, the limit is {limit:,}", advice)
