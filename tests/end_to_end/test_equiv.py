"""``equiv`` on a real library: one function, what would be tested, and a user's folder that is left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch]
TORCH = ("--targets", "torch")


def test_what_would_be_tested_is_listed(tensorparity: Any, valid: Callable[[Any], Any]) -> None:
    listed = tensorparity("equiv", "--list", "--api", "torch.f*", *TORCH, "--format", "json")
    document = valid(listed.document)
    assert listed.code == 0, listed.stderr
    entries = {entry["api"]: entry for entry in document["apis"]}
    assert document["stats"]["apis"] == len(entries) > 10
    assert entries["torch.fmod"]["library"] == "torch"
    assert {"strided", "inductor", "cast-int64-float64"} <= set(entries["torch.fmod"]["rules"])


@pytest.mark.slow
def test_a_single_function_ends_with_the_papers_tables(
    tensorparity: Any, folder: Path, valid: Callable[[Any], Any]
) -> None:
    options = ("--api", "torch.trunc", "--inputs", 40, "--rule", "strided,aot-eager,meta", "--format", "json")
    done = tensorparity("equiv", *options, *TORCH, "--out", folder / "trunc")
    assert done.code == 0, done.stderr
    stats = valid(done.document)["stats"]
    tables = stats["equivalences"]
    assert tables["pairs"] == 3
    assert tables["table_3"]["torch"]["pairs"] == 3
    assert tables["table_3"]["torch"]["worker_seconds_per_pair"] > 0
    assert set(tables["per_rule"]) == {"strided", "aot-eager", "meta"}
    assert stats["packing"]["calls"] > stats["packing"]["packs"] > 0
    assert (tables["defects"], tables["seen_by_crash_oracle"], tables["no_counterpart"]) == (0, [], None)


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.slow
@pytest.mark.parametrize(
    "library",
    [
        "torch",
        *(pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax")),
        pytest.param("keras:jax", marks=pytest.mark.jax),
    ],
)
def test_a_sweep_leaves_the_users_folder_alone(tensorparity: Any, tmp_path: Path, library: str) -> None:
    """Functions of all of a library are called from a folder with files in it, which is the home as well."""
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (home / "canary.txt").write_text("alive")
    (home / "sub" / "model.pt").write_bytes(b"\x00\x01")
    (home / "0").write_text("named like a number")
    before = contents(home)
    variables = {**tensorparity.variables, "HOME": str(home), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    swept = replace(tensorparity, folder=home, variables=variables)
    options = ("--inputs", 10, "--rule", "defaults-written", "--budget", "3m", "--no-reduce", "--format", "json")
    done = swept("equiv", "--targets", library, *options, "--out", tmp_path / "out")
    assert done.code in (0, 1), done.stderr
    coverage = done.document["stats"]["equivalences"]["coverage"]
    assert coverage[library.partition(":")[0]]["tried"] > 5
    assert contents(home) == before
