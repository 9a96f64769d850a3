"""The GitHub Action, played step by step: the runner's files and variables are real, so are the steps."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


class Host(BaseHTTPRequestHandler):
    """The part of the host's interface that comments need."""

    comments: list[dict[str, Any]] = []
    calls: list[str] = []

    def _answer(self, value: Any) -> None:
        self.calls.append(self.command)
        data = json.dumps(value).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> str:
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def do_GET(self) -> None:
        assert self.path == "/repos/me/mine/issues/7/comments?per_page=100&page=1"
        self._answer(self.comments)

    def do_POST(self) -> None:
        self.comments.append({"id": len(self.comments) + 1, "body": self._body()})
        self._answer({})

    def do_PATCH(self) -> None:
        place = int(self.path.rpartition("/")[2]) - 1
        self.comments[place]["body"] = self._body()
        self._answer({})

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture
def host() -> Iterator[str]:
    Host.comments, Host.calls = [{"id": 1, "body": "Looks good to me."}], []
    server = HTTPServer(("127.0.0.1", 0), Host)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Runner:
    """Plays a job: substitutes expressions, runs the steps in order, keeps outputs."""

    def __init__(self, folder: Path, api: str) -> None:
        self.folder, self.summary = folder, folder / "summary.md"
        self.uploads: list[dict[str, str]] = []
        (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        python = bin_folder / "python"  # no link: an environment's interpreter knows its libraries by its place
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        self._variables = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_API_URL": api,
            "GITHUB_REPOSITORY": "me/mine",
            "GITHUB_JOB": "parity",
        }

    def run(self, **inputs: str) -> tuple[int, dict[str, str]]:
        """Exit code of the last step that ran, and the action's outputs."""
        given = {name: item.get("default", "") for name, item in ACTION["inputs"].items()} | inputs | {"token": "t"}
        known = {f"inputs.{name}": value for name, value in given.items()} | {"github.action_path": str(ROOT)}
        code = 0
        for place, step in enumerate(ACTION["runs"]["steps"]):
            if "if" in step and not self._holds(step["if"], known):
                continue
            if "uses" in step:
                self.uploads.append({name: self._put(value, known) for name, value in step["with"].items()})
                continue
            code = self._run_step(step, place, known)
            if code:
                break
        return code, {name: self._put(item["value"], known) for name, item in ACTION["outputs"].items()}

    def _run_step(self, step: dict[str, Any], place: int, known: dict[str, str]) -> int:
        assert not _EXPRESSION.search(step["run"]), "inputs come in by the environment, not by the script"
        output = self.folder / f"output-{place}"
        output.touch()
        own = {name: self._put(value, known) for name, value in step.get("env", {}).items()}
        variables = {**self._variables, **own, "GITHUB_OUTPUT": str(output)}
        ran = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=self.folder, env=variables, check=False)
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = value
        return ran.returncode

    @staticmethod
    def _put(text: str, known: dict[str, str]) -> str:
        return _EXPRESSION.sub(lambda match: known.get(match[1], ""), text)

    @staticmethod
    def _holds(condition: str, known: dict[str, str]) -> bool:
        name, operator, value = condition.split()
        return (known.get(name, "") == value.strip("'")) is (operator == "==")


WRONG_RELU = """
import onnxruntime

run = onnxruntime.InferenceSession.run
onnxruntime.InferenceSession.run = lambda self, *given: [value + 1 for value in run(self, *given)]
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    values = [helper.make_tensor_value_info(name, 1, ["n", 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", values[:1], values[1:])
    path = tmp_path / "my model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.onnxruntime
def test_a_run_that_finds_something_and_one_that_does_not(tmp_path: Path, host: str, model: Path) -> None:
    (tmp_path / "fault.py").write_text(WRONG_RELU)
    runner = Runner(tmp_path, host)
    pytest.importorskip("openvino")
    command = f"compare '{model}' --targets onnxruntime,openvino,onnx:reference --no-reduce --no-cache"
    code, outputs = runner.run(command=f"{command} --fault onnxruntime=fault.py")
    assert code == 1
    assert (outputs["findings"], outputs["new-findings"]) == ("1", "1")
    assert (tmp_path / outputs["report-path"]).read_text().startswith("<!doctype html>")
    sarif = json.loads((tmp_path / outputs["sarif-path"]).read_text())
    assert sarif["runs"][0]["results"][0]["partialFingerprints"]
    assert "onnxruntime" in runner.summary.read_text()
    assert len(Host.comments) == 2
    assert "onnxruntime" in Host.comments[1]["body"]

    code, outputs = runner.run(command=command)
    assert (code, outputs["findings"], outputs["new-findings"]) == (0, "0", "0")
    assert len(Host.comments) == 2  # the same comment, brought up to date
    assert "onnxruntime" in Host.comments[1]["body"]
    assert Host.comments[1]["body"].startswith("<!-- tensorparity:")
    assert runner.uploads[-1] == {"name": "tensorparity", "path": "tensorparity-out"}


def test_a_usage_error_fails_the_job_and_says_so(tmp_path: Path, host: str) -> None:
    runner = Runner(tmp_path, host)
    code, outputs = runner.run(command="compare nothing.onnx --targets onnxruntime,onnx:reference", fail="false")
    assert code == 2
    assert outputs["findings"] == "0"
    assert outputs["sarif-path"] == ""
    assert "exit code 2" in runner.summary.read_text()
    assert len(Host.comments) == 1


def test_an_input_is_never_a_command(tmp_path: Path, host: str) -> None:
    runner = Runner(tmp_path, host)
    runner.run(command="compare '; touch stolen; ' $(touch stolen) --targets `touch stolen`")
    assert not (tmp_path / "stolen").exists()


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_example_workflows_use_inputs_that_exist(path: Path) -> None:
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        (step,) = (step for step in job["steps"] if step.get("uses") == "./")
        assert set(step["with"]) <= set(ACTION["inputs"])
        assert step["with"]["command"].split()[0] in ("compare", "hunt")
