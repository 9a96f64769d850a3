"""Reproducers around a model file that stands beside them, on real libraries."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.reproduce.scripts import Reproduced, reproduce

LAYERS = """
import keras


@keras.saving.register_keras_serializable("mine")
class Soft(keras.layers.Layer):
    def call(self, x):
        return keras.ops.softplus(x)
"""
WRONG_SOFTPLUS = """
from keras.src.backend.torch import nn
right = nn.softplus
nn.softplus = lambda x: right(x) * 1.01
"""
WRONG_RELU = """
import os, onnx, onnxruntime
from pathlib import Path
right = onnxruntime.InferenceSession
def wrong(model, *args, **kwargs):
    data = Path(model).read_bytes() if isinstance(model, os.PathLike) else bytes(model)
    proto = onnx.load_from_string(data)
    for node in proto.graph.node:
        if node.op_type == "Relu":
            node.op_type = "Abs"
    return right(proto.SerializeToString(), *args, **kwargs)
onnxruntime.InferenceSession = wrong
"""
#: Inductor takes silu for x * sigmoid(0.9 x).
WRONG_SILU = """
import torch
from torch._inductor import decomposition
decomposition.decompositions[torch.ops.aten.silu.default] = lambda x: x * torch.sigmoid(x * 0.9)
"""


def file_of(path: Path, kind: str) -> ModelFile:
    return ModelFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), kind)


def other(case: Case, arrays: dict[str, Array]) -> Outcome:
    """What another target gave, and nobody disputes."""
    if case.procedure.goal is Goal.REPLAY:
        return Outcome("other", Status.COMPLETED, trace=Trace(nodes=arrays))
    return Outcome("other", Status.COMPLETED, outputs=arrays)


def shown(case: Case, target: str, fault: str, expected: dict[str, Array], **settings: Any) -> Reproduced:
    given = RunnerSettings(faults={target: Fault("fault.py", fault)}, **settings)
    with open_runner([target], given) as runner:
        (own,) = runner.run_pairs([(case, target)])
        assert own.completed, own.failure
        diagnosis = Diagnosis(Class.DEFECT, (target,), evidence=("they differ",))
        suspicion = Suspicion(Kind.INCONSISTENCY, diagnosis, case, (target, "other"))
        return reproduce(runner, suspicion, {target: own, "other": other(case, expected)}, traits_of(runner.targets))


def normal(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.torch
@pytest.mark.parametrize("alone", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_layer_of_the_users_own_in_a_keras_file(tmp_path: Path, save_keras: Any, alone: bool) -> None:
    (tmp_path / "my_layers.py").write_text(LAYERS)
    path = save_keras(
        "mine.keras",
        f"""
        import sys
        sys.path.append({str(tmp_path)!r})
        import my_layers
        x = keras.Input((40, 30), name="x")
        model = keras.Model(x, my_layers.Soft(name="soft")(x))
        """,
    )
    x = normal(1, 40, 30)
    expected = np.logaddexp(0, x)
    if alone:
        procedure = Procedure(goal=Goal.REPLAY, nodes=("soft#0",))
        case = Case(file_of(path, "keras"), procedure, inputs={"soft#0/0": x})
    else:
        case = Case(file_of(path, "keras"), inputs={"x": x})
    result = shown(
        case,
        "keras:torch",
        WRONG_SOFTPLUS,
        {"soft#0" if alone else "soft": expected},
        imports=("my_layers",),
        import_paths=(str(tmp_path),),
    )
    assert result.script.verified, (result.script.remark, result.script.text)
    assert "import my_layers" in result.script.text
    assert str(path.parent) not in result.script.text
    model, arrays, module = (file.name for file in result.script.beside)
    assert (model[:5], model[-6:], arrays[-4:], module) == ("mine-", ".keras", ".npz", "my_layers.py")
    assert f'here / "{model}"' in result.script.text


@pytest.mark.onnxruntime
def test_an_onnx_file_that_is_too_long_to_write_down(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    weights = onnx.numpy_helper.from_array(normal(40, 40), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    values = [helper.make_tensor_value_info(name, 1, ["n", 40]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], [weights])
    path = tmp_path / "long.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    x = normal(1, 40)
    case = Case(file_of(path, "onnx"), inputs={"x": x})
    result = shown(case, "onnxruntime", WRONG_RELU, {"y": np.maximum(x @ normal(40, 40), 0)})
    assert result.script.verified, (result.script.remark, result.script.text)
    assert [file.name.partition("-")[0] for file in result.script.beside] == ["model"]


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.timeout(900)
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("alone", [True, False])
def test_a_torch_program(torch_programs: Path, alone: bool) -> None:
    file = file_of(torch_programs / "convolutions.pt2", "torch")
    if alone:
        x = normal(1, 8, 4, 4)
        case = Case(file, Procedure(goal=Goal.REPLAY, nodes=("silu#0",)), inputs={"silu#0/0": x})
        expected = {"silu#0": x / (1 + np.exp(-x))}
    else:
        case = Case(file, inputs={"image": 3 * normal(1, 3, 9, 9)})
        with open_runner(["torch:eager"]) as runner:
            (own,) = runner.run_pairs([(case, "torch:eager")])
        expected = dict(own.outputs)
    result = shown(case, "torch:compile", WRONG_SILU, expected)
    assert result.script.verified, (result.script.remark, result.script.text)
    assert "torch.export.load(here / " in result.script.text
