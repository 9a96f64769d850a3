"""The other commands on real libraries: hunt, replay, targets, doctor; and a parent that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.store.casefile import CaseFile, write_case
from tensorparity.store.database import Result, open_store

Valid = Callable[[Any], Any]


@pytest.mark.torch
@pytest.mark.onnxruntime
class TestHunt:
    """The same seed with one and with four workers, and after a resume: identical cases and verdicts."""

    CASES = 3

    @pytest.fixture(scope="class")
    @classmethod
    def hunts(cls, tensorparity: Any, folder: Path) -> dict[str, tuple[Any, list[Result]]]:
        def hunt(name: str, *options: object) -> tuple[Any, list[Result]]:
            store = folder / f"hunt-{name}"
            common = (
                "--engine",
                "cradle",
                "--targets",
                "keras:torch,onnxruntime",
                "--no-cache",
                "--format",
                "json",
                "--out",
                store,
            )
            ended = tensorparity("hunt", *common, *options)
            with open_store(store) as opened:
                return ended, opened.results(opened.campaigns()[-1].id, "cradle")

        hunt("resumed", "--cases", 1)
        return {
            "one": hunt("one", "--cases", cls.CASES, "--workers", 1),
            "four": hunt("four", "--cases", cls.CASES, "--workers", 4),
            "resumed": hunt("resumed", "--cases", cls.CASES, "--resume"),
        }

    @pytest.mark.parametrize("name", ["one", "four", "resumed"])
    def test_every_case_was_run_and_nothing_found(self, hunts: Any, valid: Valid, name: str) -> None:
        ended, results = hunts[name]
        assert ended.code == 0, ended.stderr
        document = valid(ended.document)
        assert document["findings"] == []
        assert document["stats"]["cases"] == len(results) == self.CASES
        assert document["stats"]["stop_reason"] == "all cases were run"

    @pytest.mark.parametrize("name", ["four", "resumed"])
    def test_cases_and_verdicts_are_identical(self, hunts: Any, name: str) -> None:
        _, expected = hunts["one"]
        _, results = hunts[name]
        assert [result.digest for result in results] == [result.digest for result in expected]
        assert [result.verdicts for result in results] == [result.verdicts for result in expected]

    def test_the_resumed_one_ran_only_what_was_left(self, hunts: Any) -> None:
        ended, _ = hunts["resumed"]
        assert ended.document["stats"]["per_engine"]["cradle"]["resumed"] == 1

    def test_a_page_was_written(self, hunts: Any, folder: Path) -> None:
        assert "<html" in (folder / "hunt-four" / "report.html").read_text(encoding="utf-8")


class TestApiCalls:
    """One public function, from a case file to a judgement."""

    @pytest.fixture
    def write(self, tmp_path: Path) -> Callable[..., Path]:
        def case_file(api: str, *arguments: Any, targets: tuple[str, ...], **inputs: Any) -> Path:
            call = ApiCall(api, (*map(ArrayArg, inputs), *arguments))
            path = tmp_path / "call.tpcase"
            write_case(path, CaseFile(Case(call, Procedure(goal=Goal.CALL), inputs=inputs), targets))
            return path

        return case_file

    @pytest.mark.tensorflow
    @pytest.mark.jax
    @pytest.mark.torch
    def test_keras_softmax(self, write: Any, tensorparity: Any, valid: Valid) -> None:
        targets = ("keras:tensorflow", "keras:jax", "keras:torch")
        x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32) * 10
        ended = tensorparity("replay", write("keras.ops.softmax", -1, targets=targets, x=x), "--format", "json")
        assert ended.code == 0, ended.stdout + ended.stderr
        document = valid(ended.document)
        assert [detail["status"] for detail in document["details"]] == ["completed"] * 3
        assert (document["findings"], document["stats"]["undecided"]) == ([], 0)

    @pytest.mark.torch
    def test_torch_fmod_and_a_fault_in_it(self, write: Any, tensorparity: Any, valid: Valid, tmp_path: Path) -> None:
        a, b = np.array([5.5, -5.5, 7, 1e6], np.float32), np.array([2, 2, -3, 0.7], np.float32)
        path = write("torch.fmod", targets=("torch:eager",), a=a, b=b)
        fault = tmp_path / "python_remainder.py"
        fault.write_text("import torch\ntorch.fmod = torch.remainder\n")
        planted = tensorparity("replay", path, "--fault", f"torch:eager={fault}", "--format", "json")
        assert planted.code == 1, planted.stderr
        finding = valid(planted.document)["findings"][0]
        assert (finding["api"], finding["suspects"]) == ("torch.fmod", ["torch:eager"])
        clean = tensorparity("replay", path, "--format", "json")
        assert (clean.code, valid(clean.document)["findings"]) == (0, [])


class TestCheckups:
    def test_targets(self, tensorparity: Any, valid: Valid) -> None:
        ended = tensorparity("targets", "--format", "json")
        assert ended.code == 0
        document = valid(ended.document)
        assert {"keras:tensorflow", "keras:jax", "keras:torch", "onnxruntime"} <= set(document["targets"])
        for detail in document["details"]:
            assert detail["status"] in ("available", "missing")
            assert bool(detail["install"]) == (detail["status"] == "missing")

    @pytest.mark.torch
    @pytest.mark.onnxruntime
    def test_doctor(self, tensorparity: Any, valid: Valid) -> None:
        ended = tensorparity("doctor", "--targets", "onnxruntime,torch:eager", "--format", "json")
        assert ended.code == 0, ended.stdout
        assert [detail["status"] for detail in valid(ended.document)["details"]] == ["completed"] * 2


@pytest.mark.torch
@pytest.mark.onnxruntime
def test_nothing_survives_a_killed_parent(tensorparity: Any, folder: Path) -> None:
    marker = uuid.uuid4().hex
    targets = ",".join(f"{name}{{MARKER={marker}}}" for name in ("keras:torch", "onnxruntime"))
    options = ("--targets", targets, "--no-cache", "--out", str(folder / "killed"))
    parent = subprocess.Popen(
        [*tensorparity.command, "compare", "zoo:resnet20", *options],
        cwd=tensorparity.folder,
        env=dict(tensorparity.variables),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert _wait(lambda: len(_marked(marker, parent.pid)) >= 2, 60), "no workers were started"
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    assert _wait(lambda: not _marked(marker, parent.pid), 5), _marked(marker, parent.pid)


def _marked(marker: str, parent: int) -> list[psutil.Process]:
    """Living processes with the marker in their environment or on their command line, without the parent."""
    found = []
    for process in psutil.process_iter():
        try:
            text = " ".join([*process.environ().values(), *process.cmdline()])
            if marker in text and process.pid != parent and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
