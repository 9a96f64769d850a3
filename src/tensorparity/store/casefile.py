"""Case files: one finding's case, complete enough to be run anywhere (suffix ``.tpcase``).

A zip of ``case.json`` and ``arrays/NNNN.npy``, optionally with the user's model (``model.bin``) and
fault files (``fault/NAME.py``). Files of strangers are inspected before they are believed: see
``container`` for the zip, ``npy`` for the arrays, and here for what the JSON may say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ..core.arrays import Array, dtype_name
from ..core.atomic import replacing_file
from ..core.call import CALLED, ITEM, SEVERAL
from ..core.case import EXPORTED_ONNX, ApiCall, Case, ModelFile, Subject
from ..core.errors import CaseFileError, ModelRefusedError, UsageError
from ..core.jsontext import Json, canonical, parse
from . import npy
from .container import JSON_MEMBER, MAX_JSON_BYTES, MODEL_MEMBER, Container, is_known_name, refuse, write_container

#: Version of the container; the case inside has its own (``core.case.FORMAT``).
FORMAT = 1
SUFFIX = ".tpcase"

#: Models that are data. Any other format is code that builds a model, and needs trust like a fault.
DATA_FORMATS = frozenset({"keras", "h5", "hdf5", "onnx", "torch", EXPORTED_ONNX})

_FAULT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}")
_API_NAME = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_OURS = "give a .tpcase file written by tensorparity"
_HOSTILE = "do not use this file"
_TRUST = "if you trust where it comes from, add --trust"


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A case with what is needed to run it elsewhere as it ran here.

    Args:
        targets: the targets it ran on, first those that failed.
        versions: per target, the version of each library.
        faults: per target, the name of a shipped fault, or the path of a ``.py`` file, which is embedded.
        note: a sentence for the reader.
        suspects: who was found wrong, while others were right.
        oracle: who convicted, where that is not the oracle of this kind of case.
    """

    case: Case
    targets: tuple[str, ...] = ()
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    suspects: tuple[str, ...] = ()
    oracle: str = ""

    def __post_init__(self) -> None:
        versions = {target: MappingProxyType(dict(found)) for target, found in self.versions.items()}
        object.__setattr__(self, "targets", tuple(self.targets))
        object.__setattr__(self, "versions", MappingProxyType(versions))
        object.__setattr__(self, "faults", MappingProxyType(dict(self.faults)))


def write_case(path: str | Path, case_file: CaseFile, *, embed_model: bool = False) -> None:
    """Write a case file atomically; equal contents give equal bytes on every machine.

    Args:
        embed_model: put the user's model inside. Off by default: models are large, and not always
            meant to leave the house.

    Raises:
        CaseFileError: if something in the case cannot be kept, or a fault file cannot be read.
        ModelRefusedError: if the model to embed is missing or has changed.
        OSError: if the folder cannot be written.
    """
    path = Path(path)
    members: dict[str, bytes] = {}
    case = case_file.case
    if embed_model and isinstance(case.subject, ModelFile):
        if case.subject.parts:
            refuse(path, f"the model needs {case.subject.parts[0][0]!r} beside it", "put all data into the model first")
        members[MODEL_MEMBER] = _model_bytes(case.subject)
        # The folders of this machine are nobody's business where the model itself is inside.
        case = replace(case, subject=replace(case.subject, path=Path(case.subject.path).name))
    index: dict[str, Json] = {
        "tensorparity_case": FORMAT,
        "case": case.header(),
        "arrays": _add_arrays(path, case, members),
        "targets": list(case_file.targets),
        "versions": {target: dict(found) for target, found in case_file.versions.items()},
        "faults": _add_faults(path, case_file.faults, members),
        "note": case_file.note,
    }
    if case_file.suspects:
        index["suspects"] = list(case_file.suspects)
    if case_file.oracle:
        index["oracle"] = case_file.oracle
    try:
        members[JSON_MEMBER] = canonical(index).encode()
    except (TypeError, ValueError, RecursionError) as error:
        refuse(path, f"the case is not JSON ({error})", "use plain numbers, strings, lists and dicts as parameters")
    write_container(path, members)


def read_case(
    path: str | Path,
    *,
    trust: bool = False,
    scratch: Path | None = None,
    api_known: Callable[[str], bool] | None = None,
) -> CaseFile:
    """Read a case file that may come from a stranger.

    The arrays are read-only. Nothing is written unless the file is trusted and embeds a model or a
    fault, which then go to ``scratch``, and the paths in the result point there. A model that is not
    embedded keeps its path, unchecked: call ``verify_model`` before use.

    Args:
        trust: accept what can run code: an embedded model, a factory, a fault file.
        scratch: the folder for embedded files; the caller's to remove.
        api_known: whether a public name is of the enumerated API; None accepts every dotted name.

    Raises:
        CaseFileError: one line that says what was found and what to do.
        OSError: if ``scratch`` cannot be written.
    """
    path = Path(path)
    with Container(path) as container:
        index = _read_index(container)
        _check_members(container, index)
        case = _read_case(container, index)
        _check_subjects(path, case, trust, api_known)
        embedded = sorted(name for name in container.names if name == MODEL_MEMBER or name.startswith("fault/"))
        if embedded and not trust:
            refuse(path, f"it embeds {', '.join(map(repr, embedded))}, which can run code", _TRUST)
        if embedded and scratch is None:
            refuse(path, f"it embeds {', '.join(map(repr, embedded))}", "name a scratch folder to extract to")
        if scratch is not None and MODEL_MEMBER in embedded:
            case = _extract_model(container, case, scratch)
        faults = {target: _read_fault(container, name, scratch) for target, name in index["faults"].items()}
        suspects = tuple(index.get("suspects", ()))
        targets, oracle = tuple(index["targets"]), str(index.get("oracle", ""))
        return CaseFile(case, targets, index["versions"], faults, index["note"], suspects, oracle)


def verify_model(model: ModelFile) -> None:
    """Make sure that a model file is the one the case was made with.

    Raises:
        ModelRefusedError: if it is missing, unreadable or has changed.
    """
    try:
        with open(model.path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelRefusedError(
            f"model {model.path!r} cannot be read ({error.strerror}); put the file with sha256 {model.sha256} there"
        ) from error
    _compare_model(model, found)


def _compare_model(model: ModelFile, found: str) -> None:
    if found != model.sha256:
        raise ModelRefusedError(
            f"model {model.path!r} has changed: its sha256 is {found}, the case was made with {model.sha256}"
        )


# Writing


def _model_bytes(model: ModelFile) -> bytes:
    verify_model(model)
    data = Path(model.path).read_bytes()
    _compare_model(model, hashlib.sha256(data).hexdigest())  # it may be written to while we look
    return data


def _add_arrays(path: Path, case: Case, members: dict[str, bytes]) -> dict[str, Json]:
    index: dict[str, Json] = {}
    number = 0
    for name, array in case.arrays().items():
        try:
            files = npy.encode(array)
        except npy.ArrayError as error:
            refuse(path, f"array {name!r}: {error}", "convert it first")
        entry: dict[str, Json] = {"dtype": dtype_name(array), "shape": list(array.shape)}
        for key, data in zip(("member", "offsets"), files, strict=False):
            entry[key] = f"arrays/{number:04d}.npy"
            members[entry[key]] = data
            number += 1
        index[name] = entry
    return index


def _add_faults(path: Path, faults: Mapping[str, str], members: dict[str, bytes]) -> dict[str, str]:
    kept = {}
    for target, fault in sorted(faults.items()):
        if not fault.endswith(".py"):
            kept[target] = fault
            continue
        try:
            kept[target] = _fault_member(Path(fault), members)
        except OSError as error:
            refuse(path, f"fault file {fault!r} cannot be read ({error.strerror})", "check the path")
    return kept


def _fault_member(file: Path, members: dict[str, bytes]) -> str:
    """Embed a fault file once per content: two files of one name do not replace each other."""
    data = file.read_bytes()
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", file.stem).lstrip("-")[:80] or "fault"
    member, number = f"fault/{stem}.py", 1
    while members.setdefault(member, data) != data:
        number += 1
        member = f"fault/{stem}-{number}.py"
    return member


# Reading


def _read_index(container: Container) -> dict[str, Json]:
    try:
        index = parse(container.read(JSON_MEMBER, MAX_JSON_BYTES).decode())
    except (ValueError, TypeError, RecursionError) as error:
        container.refuse(f"{JSON_MEMBER!r} is not strict JSON ({error})", _OURS)
    if not isinstance(index, dict) or "tensorparity_case" not in index:
        container.refuse(f"{JSON_MEMBER!r} describes no case", _OURS)
    found = index["tensorparity_case"]
    if isinstance(found, bool) or found != FORMAT:
        container.refuse(
            f"format {found!r} of case files is not known here (this version reads {FORMAT})", "update tensorparity"
        )
    for key, fits in _FIELDS.items():
        if not fits(index.get(key, _OPTIONAL.get(key))):
            container.refuse(f"{key!r} in {JSON_MEMBER!r} is missing or malformed", _OURS)
    return index


def _is_texts(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_shape(value: Json) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _is_array_entry(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("dtype"), str) or not _is_shape(value.get("shape")):
        return False
    return all(isinstance(value.get(key), str) for key in _member_keys(value))


#: What ``case.json`` has besides its version, and what each entry looks like.
_FIELDS: Mapping[str, Callable[[Json], bool]] = {
    "case": lambda value: isinstance(value, dict),
    "arrays": lambda value: isinstance(value, dict) and all(map(_is_array_entry, value.values())),
    "targets": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "versions": lambda value: isinstance(value, dict) and all(map(_is_texts, value.values())),
    "faults": _is_texts,
    "note": lambda value: isinstance(value, str),
    "suspects": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "oracle": lambda value: isinstance(value, str),
}
#: What files of earlier versions lack.
_OPTIONAL: Mapping[str, Json] = {"suspects": [], "oracle": ""}


def _member_keys(entry: Mapping[str, Json]) -> tuple[str, ...]:
    return ("member", "offsets") if entry["dtype"] == npy.STRING else ("member",)


def _check_members(container: Container, index: Mapping[str, Json]) -> None:
    """Each array has members of its own, and nothing is there that nobody speaks of."""
    used = {JSON_MEMBER, MODEL_MEMBER}
    for name, entry in index["arrays"].items():
        for key in _member_keys(entry):
            member = entry[key]
            if not member.startswith("arrays/") or not is_known_name(member) or member in used:
                container.refuse(f"array {name!r} has {member!r} as a member of its own", _HOSTILE)
            used.add(member)
    for target, fault in index["faults"].items():
        embedded = fault.startswith("fault/") and is_known_name(fault)
        if not embedded and (fault.endswith(".py") or not _FAULT_NAME.fullmatch(fault)):
            container.refuse(f"the fault {fault!r} of {target!r} is neither a name nor a member", _HOSTILE)
        used |= {fault} if embedded else set()
    for member in sorted(container.names - used):
        container.refuse(f"member {member!r} is not in the index", _HOSTILE)


def _read_case(container: Container, index: Mapping[str, Json]) -> Case:
    header = index["case"]
    arrays = {name: _read_array(container, name, entry) for name, entry in index["arrays"].items()}
    try:
        case = Case.from_parts(header, arrays)
        # What does not come back the way it went in was not understood, and would be dropped in silence.
        understood = canonical(case.header()) == canonical(header)
        _check_graphs(case)
    except CaseFileError as error:
        container.refuse(str(error), _OURS)
    except (UsageError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        container.refuse(f"the case is malformed: {error}", _OURS)
    if not understood:
        container.refuse("the case has entries this version does not know", "update tensorparity")
    return case


def _read_array(container: Container, name: str, entry: Mapping[str, Json]) -> Array:
    files = tuple(container.read(entry[key]) for key in _member_keys(entry))
    try:
        return npy.decode(files, entry["dtype"], tuple(entry["shape"]))
    except npy.ArrayError as error:
        container.refuse(f"array {name!r} ({entry['member']}): {error}", _HOSTILE)


def _subjects(case: Case) -> Iterator[Subject]:
    yield case.subject
    if case.counterpart and case.counterpart.subject:
        yield case.counterpart.subject


def _check_graphs(case: Case) -> None:
    """Names that are no strings would only be noticed deep inside of a later stage."""
    for subject in _subjects(case):
        if isinstance(subject, ModelFile):
            texts: list[Json] = [subject.path, subject.sha256, subject.format]
        elif isinstance(subject, ApiCall):
            texts = [subject.api]
        else:
            texts = [subject.name, *(text for item in subject.inputs for text in (item.name, item.dtype))]
            texts += [text for node in subject.nodes for text in (node.name, node.op, node.layer)]
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"a name must be a string, got {text!r}")


def _is_name(api: str) -> bool:
    """A dotted name, or that of a part of a program."""
    whole = f"method{api}" if api.startswith(".") else api
    return api in (CALLED, ITEM, SEVERAL) or _API_NAME.fullmatch(whole) is not None


def _check_subjects(path: Path, case: Case, trust: bool, api_known: Callable[[str], bool] | None) -> None:
    for subject in _subjects(case):
        if isinstance(subject, ApiCall):
            for call in subject.calls():
                if not (_is_name(call.api) and (api_known is None or api_known(call.api))):
                    refuse(path, f"it calls {call.api!r}, which is no public function of a known library", _HOSTILE)
        elif isinstance(subject, ModelFile) and subject.format not in DATA_FORMATS and not trust:
            refuse(path, f"its model is of format {subject.format!r}, which can run code", _TRUST)


def _extract_model(container: Container, case: Case, scratch: Path) -> Case:
    subject = case.subject
    if not isinstance(subject, ModelFile):
        container.refuse(f"it embeds {MODEL_MEMBER!r}, but its subject is a {subject.kind}", _HOSTILE)
    data = container.read(MODEL_MEMBER)
    found = hashlib.sha256(data).hexdigest()
    if found != subject.sha256:
        container.refuse(f"the embedded model has sha256 {found}, the case wants {subject.sha256}", _HOSTILE)
    suffix = re.search(r"\.[A-Za-z0-9]{1,8}\Z", subject.path)  # libraries choose their reader by it
    file = scratch / f"model-{found[:16]}{suffix.group() if suffix else ''}"
    with replacing_file(file) as out:
        out.write(data)
    case = replace(case, subject=replace(subject, path=str(file)))
    if case.counterpart and isinstance(other := case.counterpart.subject, ModelFile) and other.sha256 == found:
        case = replace(case, counterpart=replace(case.counterpart, subject=replace(other, path=str(file))))
    return case


def _read_fault(container: Container, fault: str, scratch: Path | None) -> str:
    """The fault's name, or the path of the file it was extracted to."""
    if scratch is None or not fault.startswith("fault/"):
        return fault
    data = container.read(fault)
    # A folder per content: two case files in one scratch may have different faults of one name.
    file = scratch / f"fault-{hashlib.sha256(data).hexdigest()[:16]}" / fault.removeprefix("fault/")
    with replacing_file(file) as out:
        out.write(data)
    return str(file)
