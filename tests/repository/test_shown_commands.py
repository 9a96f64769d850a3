"""Every command that the documentation shows is one: options, arguments and values are parsed as on a terminal."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tensorparity.cli import settings_page
from tensorparity.cli.main import COMMANDS as COMMANDS_OF_THE_PROGRAM
from tensorparity.cli.main import cli
from tensorparity.cli.page import page
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.node_errors import VOTE_MARGIN

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def shown(path: Path) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [line.partition("  #")[0] for line in lines if line.startswith("tensorparity ")]


COMMANDS = sorted({command for path in PAGES for command in shown(path)})


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 10


@pytest.mark.parametrize("text", COMMANDS)
def test_it_is_understood(text: str) -> None:
    _, name, *arguments = shlex.split(text)
    parent = click.Context(cli, info_name="tensorparity", **cli.context_settings)  # a command keeps its help option
    command = cli.get_command(parent, name)
    assert command is not None, f"no command {name}"
    with command.make_context(name, arguments, parent=parent):
        pass


def test_the_readme_lists_every_command() -> None:
    listed = re.findall(r"^\| `tensorparity (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert set(listed) == set(COMMANDS_OF_THE_PROGRAM)


def test_the_limit_that_the_guide_names_is_the_one_that_is_used() -> None:
    page = (ROOT / "docs" / "guide" / "diagnosis.md").read_text(encoding="utf-8")
    assert f"{K:g} against a reference, {K * VOTE_MARGIN:g} where targets vote" in page


def test_the_reference_is_what_the_code_says() -> None:
    again = "python -m tensorparity.cli.page > docs/reference.md"
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == page(), f"run {again}"


def test_the_settings_are_what_the_code_says() -> None:
    path = "docs/guide/configuration.md"
    page = (ROOT / path).read_text(encoding="utf-8")
    assert page == settings_page.written(page), f"run python -m tensorparity.cli.settings_page {path}"


def test_every_setting_has_a_meaning_and_no_other_has_one() -> None:
    assert set(settings_page.MEANINGS) == {setting for setting, _ in settings_page.declared()}


@pytest.mark.slow
@pytest.mark.onnxruntime
@pytest.mark.parametrize("text", [command for command in COMMANDS if " model.onnx" in command])
def test_it_runs(text: str, tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", text)
    _, *arguments = shlex.split(text)
    run = [sys.executable, "-m", "tensorparity", *arguments, "--targets", "onnxruntime,onnx:reference"]
    ran = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr


def write_model(path: Path, text: str) -> None:
    """A model with the inputs that a command names."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    if "tokens=" in text:
        nodes = [helper.make_node("Mul", ["tokens", "mask"], ["y"])]
        inputs = [helper.make_tensor_value_info(name, 7, ["n", 16]) for name in ("tokens", "mask")]
        outputs = [helper.make_tensor_value_info("y", 7, ["n", 16])]
    else:
        name, sizes = ("image", ["n", 3, "h", "w"]) if "image=" in text else ("x", ["n", 4])
        nodes = [helper.make_node("Relu", [name], ["y"])]
        inputs, outputs = ([helper.make_tensor_value_info(item, 1, sizes)] for item in (name, "y"))
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
