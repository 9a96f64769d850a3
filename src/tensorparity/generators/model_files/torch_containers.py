"""Programs whose inputs or outputs travel in classes of somebody's own: dataclasses, named tuples, caches.

``torch.export`` writes down which class each container is, and importing that class runs code of its package, if the
package is there at all. Nobody needs it to compare tensors: a copy of the program with dictionaries and lists in place
of those classes computes the same, loads without the package, and runs nothing of it.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ...core.atomic import replacing_file
from ...core.jsontext import Json

#: Containers that torch rebuilds without importing anything.
PLAIN = (None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict")
_SPECS = ("in_spec", "out_spec")
_PROGRAM = "models/model.json"
#: The only date in the archive, so that the same program gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def is_plain_tree(text: Json) -> bool:
    """A pytree of plain containers; the others make torch import what they name."""
    if text == "":
        return True
    try:
        _, tree = json.loads(text)
        return not list(_foreign_types(tree))
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def is_tree(text: Json) -> bool:
    """Any pytree that can be read, and so be made plain."""
    try:
        plain_tree(text)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return True


def container_types(program: Json) -> list[str]:
    """The classes of the containers that are not plain, in their order."""
    found: dict[str, None] = {}
    for text in _specs(program):
        try:
            found.update(dict.fromkeys(_foreign_types(json.loads(text)[1])))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue  # refused elsewhere
    return list(found)


def plain_tree(text: str) -> str:
    """The pytree with dictionaries and lists instead of classes.

    Raises:
        ValueError, TypeError, KeyError, RecursionError: if it is none.
    """
    if text == "":
        return text
    version, tree = json.loads(text)
    return json.dumps([version, _plain_branch(tree)])


def write_plain_copy(path: Path, folder: Path) -> Path:
    """A copy of the program at ``path`` with plain containers, in ``folder``, under a name of its content."""
    key = hashlib.sha256(path.read_bytes()).hexdigest()[:24]
    copy = folder / f"{path.stem}-{key}.pt2"
    if not copy.exists():
        with zipfile.ZipFile(path) as archive, replacing_file(copy) as out, zipfile.ZipFile(out, "w") as made:
            for item in archive.infolist():
                data = archive.read(item)
                if item.filename.partition("/")[2] == _PROGRAM:
                    data = json.dumps(_rewritten(json.loads(data))).encode()
                made.writestr(zipfile.ZipInfo(item.filename, _DATE), data)
    return copy


def _rewritten(value: Json) -> Json:
    if isinstance(value, list):
        return [_rewritten(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: plain_tree(item) if key in _SPECS and item else _rewritten(item) for key, item in value.items()}


def _specs(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _specs(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in _SPECS and isinstance(item, str) and item:
                yield item
            elif key != "metadata":
                yield from _specs(item)


def _foreign_types(tree: Json) -> Iterator[str]:
    if not _is_plain(tree):
        yield str(tree["type"])
    for child in tree["children_spec"]:
        yield from _foreign_types(child)


def _is_plain(tree: Json) -> bool:
    return tree["type"] in PLAIN and not (isinstance(tree["context"], str) and "__enum__" in tree["context"])


def _plain_branch(tree: Json) -> Json:
    children = [_plain_branch(child) for child in tree["children_spec"]]
    if _is_plain(tree):
        return {**tree, "children_spec": children}
    names = _names(tree["context"], len(children))
    kind, context = ("builtins.dict", json.dumps(names)) if names else ("builtins.list", "null")
    return {"type": kind, "context": context, "children_spec": children}


def _names(context: Json, count: int) -> list[str] | None:
    """The names of the fields, where the context is a list of as many different ones."""
    try:
        names = json.loads(context)
    except (ValueError, TypeError):
        return None
    if not isinstance(names, list) or len(names) != count or len(set(map(str, names))) != count or not names:
        return None
    return names if all(isinstance(name, str) and name.isidentifier() for name in names) else None
