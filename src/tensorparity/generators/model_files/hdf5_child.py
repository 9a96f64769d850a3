"""A look into an HDF5 file, in a process of its own: ``python -I hdf5_child.py < FILE``.

The HDF5 library crashes and hangs on damaged files, and a stranger's may be damaged on purpose; so it
never sees one in our own process. Nothing of the package is imported here. The answer is one line of
JSON: the ``attributes`` we know, or the ``problem``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

#: Bytes of memory; what is there beside the configuration is metadata.
MEMORY = 4 << 30
_ATTRIBUTES = ("model_config", "keras_version")


class OtherFileError(Exception):
    """The file asks for another one."""


def look() -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        return {"problem": "cannot be looked into: reading HDF5 needs h5py; pip install h5py"}
    try:
        with os.fdopen(0, "rb") as source, h5py.File(source, "r") as file:
            _check_alone(h5py, file)
            found = {name: file.attrs[name] for name in _ATTRIBUTES if name in file.attrs}
        return {"attributes": {name: _text(value) for name, value in found.items()}}
    except OtherFileError as error:
        return {"problem": str(error)}
    except Exception as error:  # h5py lets through whatever its layers raise
        return {"problem": f"is not an HDF5 file, or is truncated: {error}"}


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _check_alone(h5py: Any, file: Any) -> None:
    """Links, storage and views can each lie in another file; none of Keras' does."""
    groups, seen = [file], {h5py.h5o.get_info(file.id).addr}
    while groups:
        group = groups.pop()
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise OtherFileError(f"asks for another file: {name!r} is a link to it")
            if isinstance(link, h5py.SoftLink):
                continue  # another way to what is looked at anyway
            item = group[name]
            if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                raise OtherFileError(f"asks for another file: the data of {name!r} lies in it")
            address = h5py.h5o.get_info(item.id).addr
            if isinstance(item, h5py.Group) and address not in seen:  # a group may hold itself
                seen.add(address)
                groups.append(item)


def _limit() -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(kind, (most, hard))


if __name__ == "__main__":
    _limit()
    sys.stdout.write(json.dumps(look()))
