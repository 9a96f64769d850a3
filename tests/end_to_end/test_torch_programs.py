"""``compare MODEL.pt2`` and ``compare module:function`` through the command line, on real libraries."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.whole_models import ModelExaminer
from tensorparity.core.case import ModelFile
from tensorparity.core.model import Model
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.exports import export_to_onnx
from tensorparity.targets.runner import RunnerSettings, open_runner

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

pytestmark = [pytest.mark.torch, pytest.mark.onnxruntime]

#: Inductor takes silu for x * sigmoid(0.9 x).
WRONG_SILU = """
import torch
from torch._inductor import decomposition

decomposition.decompositions[torch.ops.aten.silu.default] = lambda x: x * torch.sigmoid(x * 0.9)
"""

FACTORY = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.tanh(self.dense(x))


def with_examples():
    torch.manual_seed(0)
    return Net(), (torch.randn(1, 4),)


def without_examples():
    torch.manual_seed(0)
    return Net()


def keras_model():
    import keras

    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="tanh")])


def number():
    return 3


def broken():
    raise ValueError("no luck today")
"""


@pytest.fixture(scope="module")
def factories(tensorparity: Any) -> None:
    (tensorparity.folder / "my_models.py").write_text(FACTORY)


def test_programs_are_the_same_on_torch_and_onnxruntime(
    tensorparity: Any, torch_programs: Path, folder: Path, valid: Callable[[Any], Any]
) -> None:
    for name in ("convolutions", "several", "whole", "denoiser"):
        ran = tensorparity(
            *("compare", torch_programs / f"{name}.pt2", "--targets", "torch:eager,onnxruntime", "--format", "json"),
            *("--localize", "always", "--out", folder / name),
        )
        assert ran.code == 0, ran.stderr
        document = valid(ran.document)
        assert {item["verdict"] for item in document["comparisons"]} == {"pass"}
        layers = document["comparisons"][0]["layers"]
        assert any(layer["type"].startswith("torch.ops.aten.") for layer in layers)
        assert any(layer["deviation"] is not None for layer in layers)


def test_targets_that_cannot_run_a_program_are_named(tensorparity: Any, torch_programs: Path, folder: Path) -> None:
    ran = tensorparity("compare", torch_programs / "whole.pt2", "--targets", "torch:eager,keras:torch", "--out", folder)
    assert ran.code == 2
    assert "keras:torch cannot run whole.pt2" in ran.complaints[-1]


def test_what_is_no_program_is_refused_in_one_line(tensorparity: Any, folder: Path) -> None:
    path = folder / "bad.pt2"
    path.write_bytes(b"PK\x03\x04")
    ran = tensorparity("compare", path, "--targets", "torch:eager,onnxruntime", "--out", folder / "bad")
    assert ran.code == 2
    assert len(ran.complaints) == 1


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize(
    ("arguments", "targets"),
    [
        (["my_models:with_examples"], "torch:eager,onnxruntime"),
        (["my_models:without_examples", "--input", "x=4"], "torch:eager,onnxruntime"),
        (["my_models:keras_model"], "keras:torch,onnxruntime"),
    ],
)
def test_factories(tensorparity: Any, folder: Path, arguments: list[str], targets: str) -> None:
    ran = tensorparity("compare", *arguments, "--targets", targets, "--out", folder / "factory", "--format", "json")
    assert ran.code == 0, ran.stderr
    assert {item["verdict"] for item in ran.document["comparisons"]} == {"pass"}


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize(
    ("factory", "code", "complaint"),
    [
        ("my_models:without_examples", 2, "returned an nn.Module without example inputs"),
        ("my_models:number", 2, "returned a int; expected a keras.Model or a torch.nn.Module"),
        ("my_models:nothing", 2, "my_models has no function 'nothing'"),
        ("no_such_module:make", 2, "no_such_module cannot be imported"),
        ("my_models:broken", 3, "my_models:broken raised ValueError: no luck today"),
    ],
)
def test_factories_that_give_no_model(tensorparity: Any, folder: Path, factory: str, code: int, complaint: str) -> None:
    ran = tensorparity("compare", factory, "--targets", "torch:eager,onnxruntime", "--out", folder / "none")
    assert ran.code == code, ran.stderr
    assert len(ran.complaints) == 1
    assert complaint in ran.complaints[0]


def test_a_file_that_is_another_model_blames_the_exporter_or_the_only_original(
    torch_programs: Path, tmp_path: Path
) -> None:
    """The runtimes get the export of a program with other weights: what an exporter that mixes them up would write.

    No reference has the weights of a program's nodes, so nothing shows that the original is right.
    """
    pytest.importorskip("openvino")
    files = {
        name: ModelFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), "torch")
        for name in ("convolutions", "other_weights")
        for path in [torch_programs / f"{name}.pt2"]
    }
    targets = ["torch:eager", "onnxruntime", "openvino"]
    settings = RunnerSettings()
    with open_runner(targets, settings) as runner:
        exported = export_to_onnx(runner, settings, files["other_weights"], ["torch:eager"], "torch:eager", tmp_path)
        model = Model(
            "convolutions",
            file=files["convolutions"],
            files={"torch:eager": files["convolutions"], "onnxruntime": exported.file, "openvino": exported.file},
        )
        examiner = ModelExaminer(runner, model, targets, traits_of(targets))
        images = np.random.default_rng(0).standard_normal((4, 3, 9, 9)).astype(np.float32)
        examined = examiner.examine({"image": images}, {})
    assert {s.diagnosis.suspects for s in examined.suspicions} == {("torch:eager", "exporter:torch.onnx")}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_fault_of_the_compiler_is_localized(tensorparity: Any, torch_programs: Path, folder: Path) -> None:
    fault = folder / "wrong_silu.py"
    fault.write_text(WRONG_SILU)
    program, targets = torch_programs / "convolutions.pt2", "torch:eager,torch:compile,onnxruntime"
    clean = tensorparity(
        *("compare", program, "--targets", targets, "--out", folder / "clean", "--format", "json"), timeout=900
    )
    assert clean.code == 0, clean.stderr
    ran = tensorparity(
        *("compare", program, "--targets", targets, "--fault", f"torch:compile={fault}", "--format", "json"),
        *("--out", folder / "silu", "--no-reduce"),
        timeout=900,
    )
    assert ran.code == 1, ran.stderr
    (finding,) = ran.document["findings"]
    assert finding["suspects"] == ["torch:compile"]
    assert finding["node"] == "silu#0"
    assert finding["api"] == "torch.ops.aten.silu.default"


#: A user's own kernel for an operator of torch's, which is wrong.
MY_KERNELS = """
import torch

library = torch.library.Library("aten", "IMPL")
library.impl("silu", lambda x: x * torch.sigmoid(0.9 * x), "CPU")
"""


@pytest.mark.slow
def test_a_users_fault_in_their_own_program_has_a_script_that_is_right_once_it_is_mended(
    tensorparity: Any, torch_programs: Path, folder: Path
) -> None:
    pytest.importorskip("openvino")
    (tensorparity.folder / "my_kernels.py").write_text(MY_KERNELS)
    program, targets = torch_programs / "convolutions.pt2", "torch:eager,onnxruntime,openvino"
    options = ("--targets", targets, "--import", "my_kernels", "--format", "json", "--out", folder / "kernels")
    ended = tensorparity("compare", program, *options, timeout=500)
    assert ended.code == 1, ended.stderr
    (finding,) = ended.document["findings"]
    assert (finding["suspects"], finding["node"]) == (["torch:eager"], "silu#0")
    script = folder / "kernels" / finding["reproducer"]
    assert "Not verified" not in script.read_text()
    assert run_script(script, folder) == 1
    mended = script.with_name("my_kernels.py")
    mended.write_text(mended.read_text().replace("0.9", "1.0"))
    assert run_script(script, folder) == 0


def run_script(script: Path, folder: Path) -> int:
    """What a script exits with, run from another folder than its own."""
    return subprocess.run([sys.executable, str(script)], cwd=folder, capture_output=True, timeout=200).returncode
