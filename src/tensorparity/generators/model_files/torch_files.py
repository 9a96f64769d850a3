"""Exported torch programs (``.pt2``), inspected before anything loads them.

A ``.pt2`` of ``torch.export.save`` is a zip: the program as JSON, weights and constants as raw bytes
(some as pickles), the example inputs as a pickle inside a zip of its own. Loading one runs those
pickles, evaluates the sizes and guards in the JSON as code, and takes compiled libraries along; so
all of it is looked at first, without torch, and a file with more in it than tensors and torch's own
operators is refused unless the user trusts it (decision 17).
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...core.archives import UNREADABLE
from ...core.case import ModelFile
from ...core.errors import ModelRefusedError
from ...core.feeding import has_batch_axis
from ...core.graph import InputSpec
from ...core.jsontext import Json
from ..inputs.models import Draw
from .existing import check_is_file
from .pickles import PickleError, foreign_globals
from .torch_containers import container_types
from .torch_expressions import suspicious

_JSON_CAP = 256 << 20
_PICKLE_CAP = 1 << 30
_MOST_MEMBERS = 200_000
_PROGRAM = "models/model.json"
WHOLE_SETS = "the inputs have no common batch axis: an instance is a whole set of inputs, data needs one axis more"
_ZIP = b"PK\x03\x04"
#: Folders of an archive that hold compiled code or other systems' programs.
_NATIVE = ("data/aotinductor/", "data/executorch/", "data/mtia/")
#: Of torch's enumeration of dtypes, those that NumPy and we know.
_DTYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    34: "uint32",
    35: "uint64",
}


@dataclass(frozen=True, slots=True)
class InspectedProgram:
    """A program that may be loaded.

    Args:
        batch: the only batch size it takes; None where it takes any.
        draws: ranges of inputs that look something up in a table.
        foreign: what was trusted, in words.
        notes: what a reader should know of the program.
        containers: classes that its inputs or outputs travel in; nobody loads it before they are plain ones
            (``torch_containers``).
    """

    model: ModelFile
    inputs: tuple[InputSpec, ...]
    batch: int | None
    torch_version: str
    draws: Mapping[str, Draw] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()


def inspect_torch_file(path: Path, *, trust: bool = False) -> InspectedProgram:
    """Look into an exported program without loading it.

    Raises:
        ModelRefusedError: missing, not a program, damaged, or holding what could run code.
    """
    check_is_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive)
            program = _read_json(path, archive, members[_PROGRAM])
            foreign = tuple(dict.fromkeys(_foreign(path, archive, members)))
    except UNREADABLE as error:
        raise ModelRefusedError(f"{path.name} is not a .pt2 program, or is truncated: {error}") from error
    if foreign and not trust:
        more = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
        raise ModelRefusedError(f"{path.name} holds {foreign[0]}{more}, which could run code; refused without --trust")
    signature = _signature(path, program)
    notes = (WHOLE_SETS,) if signature.whole else ()
    return InspectedProgram(
        model=ModelFile(str(path.resolve()), hashlib.sha256(path.read_bytes()).hexdigest(), "torch"),
        inputs=signature.inputs,
        batch=signature.batch,
        torch_version=str(program.get("torch_version", "")),
        draws=dict(_draws(program["graph_module"]["graph"], {spec.name for spec in signature.inputs})),
        foreign=foreign,
        notes=notes,
        containers=tuple(container_types(program)),
    )


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, str]:
    """The members by their path below the archive's one folder.

    torch finds members whatever their case and takes the first member's folder for the archive's; a
    file that could be read in two ways is refused.
    """
    names = archive.namelist()
    if len(names) > _MOST_MEMBERS:
        raise ModelRefusedError(f"{path.name} has {len(names)} members; more than {_MOST_MEMBERS} are refused")
    bad = next((name for name in names if _leaves(name)), None)
    if bad is not None:
        raise ModelRefusedError(f"{path.name} has a member outside its folder: {bad!r}")
    if len({name.lower() for name in names}) < len(names):
        raise ModelRefusedError(f"{path.name} has two members of one name")
    roots = {name.partition("/")[0] for name in names}
    members = {name.partition("/")[2]: name for name in names}
    if "serialized_exported_program.json" in names:
        raise ModelRefusedError(f"{path.name} was saved by a torch older than 2.8; load it there and save it again")
    if len(roots) != 1 or _PROGRAM not in members:
        raise ModelRefusedError(f"{path.name} is a zip, but no exported torch program: it lacks {_PROGRAM}")
    damaged = archive.testzip()
    if damaged:
        raise ModelRefusedError(f"{path.name} is damaged: {damaged} does not match its checksum")
    return members


def _leaves(name: str) -> bool:
    return name.startswith("/") or "\\" in name or "\0" in name or ".." in name.split("/")


def _read_json(path: Path, archive: zipfile.ZipFile, name: str) -> dict[str, Json]:
    if archive.getinfo(name).file_size > _JSON_CAP:
        raise ModelRefusedError(f"{path.name}: {name} is larger than {_JSON_CAP >> 20} MiB")
    try:
        value = json.loads(archive.read(name))
    except (ValueError, RecursionError) as error:
        raise ModelRefusedError(f"{path.name}: {name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelRefusedError(f"{path.name}: {name} describes nothing")
    return value


def _foreign(path: Path, archive: zipfile.ZipFile, members: dict[str, str]) -> Iterator[str]:
    """Everything in the archive that could run code when it is loaded or run."""
    pickled = set()
    for inside, name in members.items():
        if inside.startswith(_NATIVE):
            yield f"compiled code ({inside})"
        elif inside.startswith("models/"):
            try:
                yield from suspicious(_read_json(path, archive, name))
            except RecursionError:
                yield f"a structure too deep to look into ({inside})"
        elif inside.endswith("_config.json"):
            pickled |= set(_pickled_payloads(inside, _read_json(path, archive, name)))
        elif inside.endswith(".pt"):
            pickled.add(inside)
    for inside in sorted(pickled):
        if inside not in members:
            raise ModelRefusedError(f"{path.name} lacks {inside}")
        yield from _foreign_in_pickle(path, archive, members[inside])


def _pickled_payloads(inside: str, config: dict[str, Json]) -> Iterator[str]:
    """The payloads a configuration says are pickles: by flag, or by a name that is no plain tensor's."""
    folder = inside.rpartition("/")[0]
    payloads = config.get("config")
    for payload in payloads.values() if isinstance(payloads, dict) else ():
        plain = str(payload.get("path_name", "")).startswith(("weight_", "tensor_"))
        if payload.get("use_pickle") or not plain:
            yield f"{folder}/{payload.get('path_name')}"


def _foreign_in_pickle(path: Path, archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    """The foreign globals of one payload: a zip of torch.save's with pickles in it, or a bare pickle."""
    if archive.getinfo(name).file_size > _PICKLE_CAP:
        raise ModelRefusedError(f"{path.name}: {name} is larger than {_PICKLE_CAP >> 20} MiB")
    data = archive.read(name)
    inside = name.partition("/")[2]
    try:
        for pickled in _pickles_of(data):
            yield from (f"the global {found} in {inside}" for found in foreign_globals(pickled))
    except PickleError as error:
        yield f"{inside}, which is no pickle of tensors ({error})"


def _pickles_of(data: bytes) -> Iterator[bytes]:
    if not data.startswith(_ZIP):
        yield data
        return
    with zipfile.ZipFile(io.BytesIO(data)) as nested:
        names = nested.namelist()
        if len({name.lower() for name in names}) < len(names):
            raise PickleError("two members of one name")
        if any(name.endswith(("constants.pkl", ".py")) for name in names):
            raise PickleError("it is TorchScript")
        if sum(item.file_size for item in nested.infolist()) > _PICKLE_CAP:
            raise PickleError("it is too large")
        found = [name for name in names if name.endswith(".pkl")]
        if not found:
            raise PickleError("it has no data.pkl")
        for name in found:
            yield nested.read(name)


# Signature


@dataclass(frozen=True, slots=True)
class _Signature:
    """What goes in, and how: ``batch`` is the only size the program takes, ``whole`` says that it has no batch axis."""

    inputs: tuple[InputSpec, ...]
    batch: int | None
    whole: bool


def _signature(path: Path, program: dict[str, Json]) -> _Signature:
    try:
        module = program["graph_module"]
        described = module["graph"]["tensor_values"]
        names = [name for spec in module["signature"]["input_specs"] for name in _user_tensor(spec, "user_input")]
        shapes = {name: _sizes(described[name]["sizes"]) for name in names}
        dtypes = {name: _DTYPES[described[name]["dtype"]] for name in names}
        returned = [name for spec in module["signature"]["output_specs"] for name in _user_tensor(spec, "user_output")]
        outputs = [_sizes(described[name]["sizes"]) for name in returned if name in described]
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelRefusedError(f"{path.name}: {_PROGRAM} is no program of torch.export's ({error!r})") from error
    if not names:
        raise ModelRefusedError(f"{path.name} takes no tensors")
    whole = not has_batch_axis(list(shapes.values()), outputs)
    cut = 0 if whole else 1
    specs = tuple(InputSpec(name, shapes[name][cut:], dtypes[name]) for name in names)
    return _Signature(specs, None if whole else shapes[names[0]][0], whole)


def _user_tensor(spec: Json, kind: str) -> Iterator[str]:
    tensor = ((spec.get(kind) or {}).get("arg") or {}).get("as_tensor")
    if tensor:
        yield str(tensor["name"])


def _sizes(sizes: Json) -> tuple[int | None, ...]:
    return tuple(size.get("as_int") for size in sizes)


def _draws(graph: Json, inputs: set[str]) -> Iterator[tuple[str, Draw]]:
    """Inputs that are indices of an embedding, of a table or of classes: from 0 to as many as there are."""
    alike = {name: name for name in inputs}
    found: dict[str, tuple[int, str]] = {}
    for node in graph.get("nodes", ()):
        given = {item["name"]: item.get("arg") or {} for item in node["inputs"]}
        called = str(node.get("target", "")).rpartition("ops.aten.")[2]
        if called in _PASSING:
            _pass_on(node, given, alike)
        elif called in _INDEXING:
            place = _INDEXING[called]
            source = alike.get(_tensor_name(given.get(place.indices)))
            size = place.size(graph, given) if source else 0
            if source and size:
                found[source] = min((size, called.partition(".")[0]), found.get(source, (size, "~")))
    for name, (size, op) in found.items():
        yield name, Draw(low=0, high=size - 1, whole=True, source=f"what {op} behind it takes")


def _pass_on(node: Json, given: dict[str, Json], alike: dict[str, str]) -> None:
    """What changes the shape or the dtype of indices leaves them what they are."""
    source = alike.get(_tensor_name(given.get("self")))
    for output in node.get("outputs", ()) if source else ():
        alike[_tensor_name(output)] = str(source)


def _tensor_name(argument: Json) -> str:
    return str(((argument or {}).get("as_tensor") or {}).get("name", ""))


@dataclass(frozen=True)
class _Indexing:
    """How an operator names its indices, and what they choose from: an axis of a table, or a number of classes."""

    indices: str
    table: str = ""
    axis: str = ""
    count: str = ""

    def size(self, graph: Json, given: dict[str, Json]) -> int:
        if self.count:
            return int((given.get(self.count) or {}).get("as_int") or 0)
        table = graph["tensor_values"].get(_tensor_name(given.get(self.table)))
        sizes = _sizes(table["sizes"]) if table else ()
        axis = int((given.get(self.axis) or {}).get("as_int") or 0) if self.axis else 0
        return sizes[axis] or 0 if -len(sizes) <= axis < len(sizes) else 0


#: By the name of an operator, where its indices are.
_INDEXING = {
    "embedding.default": _Indexing("indices", "weight"),
    "index_select.default": _Indexing("index", "self", "dim"),
    "gather.default": _Indexing("index", "self", "dim"),
    "one_hot.default": _Indexing("self", count="num_classes"),
}
_PASSING = frozenset(
    f"{name}.default"
    for name in ("view", "reshape", "unsqueeze", "expand", "clone", "_to_copy", "flatten", "t", "contiguous")
) | {"squeeze.dim", "to.dtype", "transpose.int"}
