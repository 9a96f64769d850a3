"""A last bit may become a large difference at a step, and nobody is wrong (decision 13)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tensorparity.campaign.events import silent
from tensorparity.commands.sources.models import Context, open_source
from tensorparity.commands.whole_models import ModelExaminer
from tensorparity.core.arrays import Array
from tensorparity.core.finding import Class
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import RunnerSettings, open_runner

pytestmark = [pytest.mark.onnxruntime]
onnx = pytest.importorskip("onnx")
pytest.importorskip("openvino")

TARGETS = ["onnxruntime", "openvino", "onnx:reference"]


def stepping_model(seed: int, path: Path) -> None:
    """A convolution, and behind it round, floor, argmax and a comparison, each an output."""
    rng = np.random.default_rng(seed)
    kernel = (rng.integers(-9, 10, (3, 2, 3, 3)) / 10).astype(np.float32)  # sums of tenths fall on steps
    make, float32 = onnx.helper.make_node, onnx.TensorProto.FLOAT
    nodes = [
        make("Conv", ["x", "kernel"], ["convolved"], kernel_shape=[3, 3]),
        make("Round", ["convolved"], ["rounded"]),
        make("Floor", ["convolved"], ["floored"]),
        make("Mul", ["floored", "half"], ["halved"]),
        make("ArgMax", ["convolved"], ["largest"], axis=1, keepdims=0),
        make("Greater", ["convolved", "floored"], ["above"]),
        make("Cast", ["above"], ["compared"], to=float32),
        make("Add", ["rounded", "halved"], ["stepped"]),
    ]
    outputs = {"stepped": float32, "largest": onnx.TensorProto.INT64, "compared": float32}
    graph = onnx.helper.make_graph(
        nodes,
        "stepping",
        [onnx.helper.make_tensor_value_info("x", float32, ["batch", 2, 6, 6])],
        [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [onnx.numpy_helper.from_array(kernel, "kernel"), onnx.numpy_helper.from_array(np.float32([0.5]), "half")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    model.ir_version = 9
    onnx.save(model, path)


def examine(seeds: range, folder: Path) -> tuple[list[str], int]:
    """What is called a defect, in words, and for how many seeds the targets do differ."""
    found, apart = [], 0
    settings = RunnerSettings()
    with open_runner(TARGETS, settings) as runner:
        for seed in seeds:
            path = folder / f"stepping_{seed}.onnx"
            stepping_model(seed, path)
            source = open_source(str(path), Context(runner, settings, TARGETS, seed, silent, (), {}))
            rng = np.random.default_rng([seed, 1])
            inputs = {"x": (rng.integers(-4, 5, (4, 2, 6, 6)) / 2).astype(np.float32)}
            always = {"localize": "always"}
            examiner = ModelExaminer(runner, source.model, TARGETS, traits_of(TARGETS), settings=always, seed=seed)
            examined = examiner.examine(inputs, {})
            assert all(outcome.completed for outcome in examined.outcomes.values())
            apart += _differ([outcome.outputs for outcome in examined.outcomes.values()])
            found += [
                f"seed {seed}: {sentences(s.diagnosis)}"
                for s in examined.suspicions
                if s.diagnosis.klass is Class.DEFECT
            ]
            path.unlink()
    return found, apart


def _differ(outputs: list[Mapping[str, Array]]) -> bool:
    return any(not np.array_equal(outputs[0][name], other[name]) for other in outputs[1:] for name in outputs[0])


def test_no_defect_behind_a_step(tmp_path: Path) -> None:
    found, apart = examine(range(10), tmp_path)
    assert found == []
    assert apart  # otherwise nothing was asked


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_defect_behind_a_step_in_many(tmp_path: Path) -> None:
    found, apart = examine(range(200), tmp_path)
    assert found == []
    assert apart > 20
