"""Case files, good and hostile."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.store.casefile import CaseFile, write_case

Tamper = Callable[[dict[str, bytes]], dict[str, bytes]]


@pytest.fixture
def case_file(tmp_path: Path) -> Callable[..., Path]:
    """A case file of one call, whose members may be tampered with."""

    def write(tamper: Tamper | None = None, api: str = "torch.fmod", targets: Sequence[str] = ("torch:eager",)) -> Path:
        inputs = {"a": np.ones(3, np.float32), "b": np.full(3, 2, np.float32)}
        case = Case(ApiCall(api, (ArrayArg("a"), ArrayArg("b"))), Procedure(goal=Goal.CALL), inputs=inputs)
        path = tmp_path / "case.tpcase"
        write_case(path, CaseFile(case, tuple(targets)))
        if tamper:
            with zipfile.ZipFile(path) as archive:
                members = {name: archive.read(name) for name in archive.namelist()}
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in tamper(members).items():
                    archive.writestr(name, data)
        return path

    return write


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"evil": 1}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def _first_array(members: dict[str, bytes]) -> str:
    return next(name for name in sorted(members) if name.endswith(".npy"))


def _another_format(members: dict[str, bytes]) -> dict[str, bytes]:
    index = json.loads(members["case.json"])
    return {**members, "case.json": json.dumps({**index, "tensorparity_case": 999}).encode()}


@pytest.fixture(scope="session")
def tampering() -> dict[str, Tamper]:
    """Hostile or broken case files by what is wrong with them."""
    return {
        "an absolute member": lambda members: {**members, "/etc/evil": b"x"},
        "a member above": lambda members: {**members, "../evil": b"x"},
        "a pickled array": lambda members: {**members, _first_array(members): pickled()},
        "a truncated array": lambda members: {**members, _first_array(members): members[_first_array(members)][:-3]},
        "an unknown member": lambda members: {**members, "evil.py": b"x"},
        "an oversize index": lambda members: {**members, "case.json": b" " * (80 << 20)},
        "another format": _another_format,
        "no index": lambda members: {name: data for name, data in members.items() if name != "case.json"},
    }
