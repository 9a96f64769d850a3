"""Files that are either there in full or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing_file(path: Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """A file to write that becomes ``path`` when the block ends without an error.

    A reader sees the old file or the new one, never a part. Two writers at once are safe: the last
    one wins. A killed writer leaves only a hidden ``.tmp`` file behind.

    Args:
        durable: also after a power cut; costs some milliseconds, which a cache need not pay.

    Raises:
        OSError: if the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Our own name instead of tempfile's: that one is created readable by its owner only.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
