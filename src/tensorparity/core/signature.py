"""Identity of a finding: the key that reduction keeps, and the signature that counts defects.

Shapes, seeds, paths, line numbers and figures are never part of either, nor are versions part of the signature.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

from .finding import Diagnosis
from .jsontext import Json, canonical
from .verdict import Kind, Stage

#: What reduction keeps of a finding: kind, stage, suspects, API, exception type.
Key = tuple[str, ...]
_SUSPECTS, _API = 2, 3  # their places in a key


def claim_against(suspects: Iterable[str]) -> Key:
    """The key of a claim of which only the suspects are known: a case file says no more."""
    return ("", "", ",".join(sorted(set(suspects))), "", "")


def is_whole(claim: Key | None) -> TypeGuard[Key]:
    """Whether a claim names a failure, and not its suspects alone."""
    return claim is not None and bool(claim[0])


def same_key(key: Key, other: Key) -> bool:
    """Whether ``other`` is the failure that ``key`` names; one whose API is not known yet may gain one."""
    return key == other or (not key[_API] and key == (*other[:_API], "", *other[_API + 1 :]))


def suspects_of(key: Key | None) -> tuple[str, ...]:
    """Whom a key accuses; nobody without one."""
    return tuple(key[_SUSPECTS].split(",")) if key and key[_SUSPECTS] else ()


def key(kind: Kind, stage: Stage, diagnosis: Diagnosis, exception: str = "") -> Key:
    """What reduction keeps: kind, stage, suspects, API, exception type.

    The suspects with their settings and environments: of two versions, reduction must not swap the one that is wrong.
    """
    return _parts(kind, stage, diagnosis.suspects, diagnosis.api, exception)


def _parts(kind: Kind, stage: Stage, suspects: Iterable[str], api: str | None, exception: str) -> tuple[str, ...]:
    return (kind.value, stage.value, ",".join(sorted(set(suspects))), api or "", exception)


def signature(kind: Kind, stage: Stage, diagnosis: Diagnosis, exception: str = "", features: Sequence[str] = ()) -> str:
    """The key with the parameters that matter, values as classes, and what is special about the inputs.

    Short, stable, and readable at its beginning.
    """
    suspects = (_without_settings(suspect) for suspect in diagnosis.suspects)
    shared = _parts(kind, stage, suspects, diagnosis.api, exception)
    parts = [*shared, canonical(value_classes(diagnosis.parameters)), *features]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    name = (diagnosis.api or "unknown").rpartition(".")[2]
    return f"{kind.value}/{stage.value}/{name}/{digest}"


def canonical_cluster(
    ending: Sequence[str], api: str, libraries: Sequence[str], parameters: Mapping[str, Json], features: Sequence[str]
) -> str:
    """What several signatures of one defect have in common: how it ends, where, whose, and what sets it off."""
    parts = [*ending, api, ",".join(libraries), canonical(value_classes(parameters)), *features]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    kind, stage, *_ = ending
    return f"{kind}/{stage}/{api.rpartition('.')[2]}/{digest}"


def policy_parameter(dtype: str | None) -> dict[str, Json]:
    """A dtype policy as what it is to users: an argument of every layer, whose default is float32."""
    return {"dtype": dtype} if dtype not in (None, "float32") else {}


def value_classes(parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value_class(value) for name, value in parameters.items()}


def value_class(value: Json) -> Json:
    """Numbers as the class they belong to; words and truth values as they are."""
    if isinstance(value, (list, tuple)):
        classes = [value_class(item) for item in value]
        return classes[0] if classes and all(item == classes[0] for item in classes) else classes
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        if value != value:
            return "nan"
        if value == 0:
            return "zero"
        if value < 0:
            return "negative"
        if isinstance(value, float) and not value.is_integer():
            return "fraction"
        return "one" if value == 1 else ("even" if value % 2 == 0 else "odd")
    return "structure"


def _without_settings(target: str) -> str:
    return re.sub(r"[@{].*", "", target)
