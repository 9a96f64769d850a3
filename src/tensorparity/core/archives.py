"""What reading a damaged or hostile zip may raise; Python's modules let each layer's own error through."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib

#: RuntimeError is an encrypted member or an unknown compression, KeyError a directory that disagrees with itself.
UNREADABLE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    KeyError,
    OSError,
    RuntimeError,
    ValueError,
)
