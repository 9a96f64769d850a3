"""A package of somebody else, installed as users install it: everything it adds works without a line changed here."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tensorparity as package
from tensorparity.store.casefile import read_case

HUNT = ("hunt", "--engines", "tiny", "--targets", "tiny,keras:torch")
EXAMPLE = Path(package.__file__).parents[2] / "examples" / "tensorparity-example"


@pytest.fixture(scope="module")
def with_plugin(tensorparity: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The command line, with the example package installed."""
    source, installed = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    copied = source / "example"
    subprocess.run(["cp", "-r", str(EXAMPLE), str(copied)], check=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(installed), str(copied)], check=True, capture_output=True)
    paths = [str(installed), *filter(None, [os.environ.get("PYTHONPATH")])]
    return replace(tensorparity, variables={**tensorparity.variables, "PYTHONPATH": os.pathsep.join(paths)})


@pytest.mark.torch
def test_all_of_a_plug_in_works_in_a_hunt(with_plugin: Any, tmp_path: Path) -> None:
    ended = with_plugin(
        "hunt",
        "--engines",
        "tiny",
        "--targets",
        "tiny,keras:torch",
        "--cases",
        "8",
        "--out",
        tmp_path,
        "--format",
        "csv",
    )
    assert ended.code == 1, ended.stderr
    rows = {row["api"]: row for row in csv.DictReader(io.StringIO(ended.stdout))}
    assert set(rows) == {"keras.layers.ReLU", "tiny.layers.Halve"}, "the second by the reference of the plug-in's layer"
    assert {(row["class"], row["suspects"]) for row in rows.values()} == {("defect", "tiny")}
    found = rows["keras.layers.ReLU"]
    cases = tmp_path / "cases" / "1"
    reduced = read_case(cases / f"{found['id']}.tpcase")
    assert [node.op for node in reduced.case.subject.nodes] == ["ReLU"]
    script = (cases / f"{found['id']}.py").read_text()
    assert not script.startswith("# Not verified")
    again = subprocess.run(
        [sys.executable, str(cases / f"{found['id']}.py")],
        env=dict(with_plugin.variables),
        capture_output=True,
        text=True,
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert "still fails" in again.stdout
    replayed = with_plugin("replay", found["id"], "--out", tmp_path, "--format", "csv")
    assert replayed.code == 1
    assert "keras.layers.ReLU" in replayed.stdout


@pytest.mark.torch
def test_settings_reach_engine_and_oracle(with_plugin: Any, tmp_path: Path) -> None:
    hunt = (
        "hunt",
        "--engines",
        "tiny",
        "--targets",
        "tiny,keras:torch",
        "--cases",
        "4",
        "--out",
        tmp_path,
        "--no-reduce",
    )
    ended = with_plugin(*hunt, "--oracle", "nonnegative", "--set", "tiny.scale=64", "--set", "nonnegative.slack=1e9")
    assert ended.code == 0, ended.stderr
    assert "tiny" in ended.stdout
    assert "scale" in ended.stdout, "its tables are shown too"
    document = with_plugin(*hunt, "--set", "tiny.scale=64", "--format", "json").document
    assert document["stats"]["engine_tables"]["tiny"]["scale"] == 64
    assert document["stats"]["per_engine"]["tiny"]["cases"] == 4


@pytest.mark.torch
def test_an_operator_of_a_plug_in_is_searched(with_plugin: Any, tmp_path: Path) -> None:
    precision = ("precision", "--op", "tiny_cube", "--targets", "torch:eager", "--dtype", "float32", "--inputs", "200")
    ended = with_plugin(*precision, "--out", tmp_path, "--format", "json")
    assert ended.code == 0, ended.stderr
    (row,) = ended.document["precision"]["operators"]
    assert (row["operator"], row["target"], row["status"]) == ("tiny_cube", "torch:eager", "measured")
    assert 0 < row["units"] < 16


_WRONG_RELU = """
import torch

right = torch.relu
torch.relu = lambda *args, **named: right(*args, **named) + 0.5
"""


@pytest.mark.torch
def test_a_rule_of_a_plug_in_is_held_against_a_library(with_plugin: Any, tmp_path: Path) -> None:
    equiv = ("equiv", "--rule", "twice", "--api", "torch.relu", "--targets", "torch:eager", "--inputs", 20)
    ended = with_plugin(*equiv, "--out", tmp_path / "right", "--format", "json")
    assert ended.code == 0, ended.stderr
    assert ended.document["stats"]["equivalences"]["per_rule"]["twice"]["apis"] == 1
    fault = tmp_path / "wrong_relu.py"
    fault.write_text(_WRONG_RELU)
    ended = with_plugin(*equiv, "--fault", f"torch:eager={fault}", "--out", tmp_path / "wrong", "--format", "json")
    assert ended.code == 1, ended.stderr
    found = {one["api"]: one for one in ended.document["findings"]}
    assert "torch.relu" in found
    assert set(found) <= {"torch.relu", "torch.nn.functional.relu"}  # as calls that torch brings along name it
    assert {(one["kind"], one["class"]) for one in found.values()} == {("equivalence", "defect")}
    assert all(any("twice" in line for line in one["evidence"]) for one in found.values())


def test_wrong_settings_are_refused(with_plugin: Any) -> None:
    for name in ("tiny.skale", "nonnegative.slacks"):
        ended = with_plugin("hunt", "--set", f"{name}=2")
        assert ended.code == 2
        assert "has no setting" in ended.complaints[0]
    ended = with_plugin("hunt", "--set", "tinny.scale=2")
    assert ended.code == 2
    assert "did you mean 'tiny'" in ended.complaints[0]
    assert with_plugin("hunt", "--set", "tiny").code == 2
    assert with_plugin("hunt", "--format", "cvs").code == 2


def test_the_target_is_listed(with_plugin: Any) -> None:
    assert any(item["name"] == "tiny" for item in with_plugin("targets", "--format", "json").document["details"])


def test_a_plug_in_imports_one_module_of_ours() -> None:
    sources = [path for path in (EXAMPLE / "src").rglob("*.py") if path.name != "adapter.py"]
    lines = [
        line for path in sources for line in path.read_text().splitlines() if line.startswith(("from ", "import "))
    ]
    ours = {line.split()[1] for line in lines if "tensorparity" in line.split()[1]}
    assert ours == {"tensorparity.plugin"}
