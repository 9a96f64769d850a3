"""Exported torch programs on torch:eager and torch:compile, and their export to ONNX."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import EXPORTED_ONNX, Case, ModelFile
from tensorparity.core.graph import LayerGraph, Node
from tensorparity.core.model import node_inputs
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.targets.lowering.onnx_export import steps_of
from tensorparity.targets.requests import Reply
from tensorparity.targets.runner import LocalRunner, open_runner

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="not installed: torch"),
]

RNG = np.random.default_rng(5)
INPUTS: dict[str, dict[str, Array]] = {
    "convolutions": {"image": RNG.standard_normal((5, 3, 9, 9)).astype(np.float32)},
    "several": {
        "tokens": RNG.integers(0, 11, (5, 4)),
        "scale": RNG.standard_normal((5, 6)).astype(np.float32),
    },
    "writing": {"x": RNG.standard_normal((5, 4)).astype(np.float32)},
    "whole": {"x": RNG.standard_normal((2, 2, 3)).astype(np.float32)},
}
NEEDS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


def file_of(path: Path, form: str = "torch") -> ModelFile:
    return ModelFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), form)


@dataclass(frozen=True)
class Desk:
    """One target and the programs to run on it."""

    runner: LocalRunner
    target: str
    folder: Path

    def run(self, name: str, procedure: Procedure, inputs: dict[str, Array] | None = None) -> Outcome:
        case = Case(file_of(self.folder / f"{name}.pt2"), procedure, INPUTS[name] if inputs is None else inputs)
        return self.runner.run_pairs([(case, self.target)])[0]

    def ask(self, name: str, **header: Any) -> Reply:
        return self.runner.ask(self.target, {"path": str(self.folder / f"{name}.pt2"), **header}, {}, 300)

    def graph(self, name: str) -> LayerGraph:
        reply = self.ask(name, do="import", trust=False)
        assert reply.header["status"] == "completed", reply.header["failure"]
        return LayerGraph.from_json(reply.header["graph"])

    def replay(self, name: str, nodes: dict[str, Array]) -> Outcome:
        graph = self.graph(name)
        given = {
            f"{node.key}/{index}": array
            for node in graph.nodes
            for index, array in enumerate(node_inputs(graph, node, INPUTS[name], nodes))
        }
        keys = tuple(node.key for node in graph.nodes)
        return self.run(name, Procedure(goal=Goal.REPLAY, nodes=keys), given)


def same(a: Any, b: Any, rtol: float = 0.0) -> None:
    assert sorted(a) == sorted(b)
    for name in a:
        assert a[name].dtype == b[name].dtype
        np.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=rtol, err_msg=name)


@pytest.fixture(scope="module")
def eager(torch_programs: Path) -> Iterator[Desk]:
    with open_runner(["torch:eager"]) as runner:
        yield Desk(runner, "torch:eager", torch_programs)


@pytest.mark.parametrize("name", list(INPUTS))
class TestEager:
    def test_the_trace_gives_the_same_outputs(self, eager: Desk, name: str) -> None:
        plain, traced = eager.run(name, Procedure()), eager.run(name, Procedure(trace=True))
        assert plain.completed, plain.failure
        same(plain.outputs, traced.outputs)

    def test_every_layer_is_traced(self, eager: Desk, name: str) -> None:
        traced = eager.run(name, Procedure(trace=True))
        keys = {node.key for node in eager.graph(name).nodes}
        assert keys == {key.partition("#0.")[0] + ("#0" if "#0." in key else "") for key in traced.trace.nodes}

    def test_each_node_alone_gives_what_was_traced(self, eager: Desk, name: str) -> None:
        traced = eager.run(name, Procedure(trace=True))
        if name == "writing":  # what is written into later is traced before and after
            pytest.skip("nodes that write into their inputs")
        replayed = eager.replay(name, dict(traced.trace.nodes))
        assert replayed.completed, replayed.failure
        same(replayed.trace.nodes, traced.trace.nodes)

    def test_a_second_run_finds_the_program_as_it_was(self, eager: Desk, name: str) -> None:
        same(eager.run(name, Procedure()).outputs, eager.run(name, Procedure()).outputs)


def test_outputs_are_named_and_typed(eager: Desk) -> None:
    outputs = eager.run("several", Procedure()).outputs
    shapes = [(array.shape, array.dtype.name) for array in outputs.values()]
    assert shapes == [((5, 4, 11), "float32"), ((5, 12), "float32"), ((5, 12), "float32"), ((5, 4), "int64")]


def test_layers_have_public_names_numbers_and_no_weights(eager: Desk) -> None:
    nodes = {node.op: node for node in eager.graph("convolutions").nodes}
    convolution = nodes["torch.ops.aten.conv2d.default"]
    assert dict(convolution.params) in ({"padding": [1, 1]}, {"stride": [2, 2]})
    assert len(convolution.inputs) == 1


def test_outputs_of_one_node_are_told_apart(eager: Desk) -> None:
    graph = eager.graph("several")
    halves = [ref for ref in graph.outputs if _op(graph, ref.node).endswith("aten.chunk.default")]
    assert [ref.index for ref in halves] == [0, 1]


def _op(graph: LayerGraph, name: str) -> str:
    node: Node = graph.node(name)
    return node.op


def test_the_circumstances_are_recorded(eager: Desk) -> None:
    record = eager.run("convolutions", Procedure()).record
    assert record.versions["torch"]
    assert record.threads == 1
    assert str(record.build["mode"]).startswith("eager")


@pytest.mark.parametrize(
    "procedure",
    [
        Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError")),
        Procedure(training=True),
    ],
)
def test_what_a_program_cannot_be_asked_is_unsupported(eager: Desk, procedure: Procedure) -> None:
    outcome = eager.run("convolutions", procedure)
    assert outcome.status is Status.UNSUPPORTED
    assert outcome.failure
    assert outcome.failure.message


def test_a_program_runs_in_float64(eager: Desk) -> None:
    """The run by which its float32 outputs are judged."""
    inputs = {"image": INPUTS["convolutions"]["image"].astype(np.float64)}
    wide = eager.run("convolutions", Procedure(dtype="float64"), inputs)
    assert wide.completed, wide.failure
    plain = eager.run("convolutions", Procedure()).outputs
    assert {array.dtype.name for array in wide.outputs.values()} == {"float64"}
    for name, array in wide.outputs.items():
        assert 0 < np.abs(array - plain[name]).max() < 1e-5


def test_small_batches_give_the_same(eager: Desk) -> None:
    small = eager.run("several", Procedure(batch_size=2)).outputs
    same(small, eager.run("several", Procedure()).outputs, rtol=1e-6)


def test_what_raises_says_in_which_node(eager: Desk) -> None:
    broken = {**INPUTS["several"], "tokens": np.full((5, 4), 99)}
    outcome = eager.run("several", Procedure(trace=True), broken)
    assert outcome.status is Status.RAISED
    assert outcome.failure
    assert outcome.failure.node == "embedding#0"


# Export


@pytest.fixture(scope="module")
def runtime(torch_programs: Path) -> Iterator[LocalRunner]:
    with open_runner(["onnxruntime"]) as runner:
        yield runner


@pytest.mark.onnxruntime
@pytest.mark.skipif(importlib.util.find_spec("onnxscript") is None, reason="not installed: onnxscript")
@pytest.mark.parametrize("name", ["convolutions", "several", "whole"])
def test_the_export_keeps_names_and_values(eager: Desk, runtime: LocalRunner, name: str, tmp_path: Path) -> None:
    reply = eager.ask(name, do="export", form="onnx")
    assert reply.header["status"] == "completed", reply.header["failure"]
    assert reply.header["exporter"] == "torch.onnx"
    path = tmp_path / "exported.onnx"
    path.write_bytes(reply.arrays["weights:model"].tobytes())
    steps = reply.arrays["weights:steps"].tobytes()
    steps_of(path, hashlib.sha256(steps).hexdigest()).write_bytes(steps)
    exported = file_of(path, EXPORTED_ONNX)

    original = eager.run(name, Procedure(trace=True))
    case = Case(exported, Procedure(trace=True), INPUTS[name])
    traced = runtime.run_pairs([(case, "onnxruntime")])[0]
    assert traced.completed, traced.failure
    same(traced.outputs, original.outputs, rtol=1e-5)
    assert len(traced.trace.nodes) > len(traced.outputs)
    same(traced.trace.nodes, {key: original.trace.nodes[key] for key in traced.trace.nodes}, rtol=1e-5)

    graph = eager.graph(name)
    alone = [node for node in graph.nodes if (reply.header["layers"].get(node.key) or {}).get("inputs") is not None]
    given = {
        f"{node.key}/{index}": array
        for node in alone
        for index, array in enumerate(node_inputs(graph, node, INPUTS[name], original.trace.nodes))
    }
    replay = Case(exported, Procedure(goal=Goal.REPLAY, nodes=tuple(node.key for node in alone)), given)
    replayed = runtime.run_pairs([(replay, "onnxruntime")])[0]
    assert replayed.completed, replayed.failure
    assert replayed.trace.nodes
    same(replayed.trace.nodes, {key: original.trace.nodes[key] for key in replayed.trace.nodes}, rtol=1e-5)


# Compiled


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.timeout(1800)
def test_compiled_programs_run_trace_and_replay(torch_programs: Path, eager: Desk) -> None:
    with open_runner(["torch:compile"]) as runner:
        compiled = Desk(runner, "torch:compile", torch_programs)
        for name in INPUTS:
            plain, traced = compiled.run(name, Procedure()), compiled.run(name, Procedure(trace=True))
            assert plain.completed, plain.failure
            assert traced.completed, traced.failure
            original = eager.run(name, Procedure(trace=True))
            same(plain.outputs, original.outputs, rtol=1e-5)
            same(traced.outputs, original.outputs, rtol=1e-5)
            same(traced.trace.nodes, original.trace.nodes, rtol=1e-5)
            if name != "writing":
                replayed = compiled.replay(name, dict(original.trace.nodes))
                assert replayed.completed, replayed.failure
                same(replayed.trace.nodes, original.trace.nodes, rtol=1e-5)
        assert str(plain.record.build["mode"]).startswith("inductor")


def test_without_a_compiler_it_says_so(torch_programs: Path) -> None:
    target = "torch:compile{CXX=no-such-compiler}"
    with open_runner([target]) as runner:
        outcome = Desk(runner, runner.targets[0], torch_programs).run("writing", Procedure())
    assert outcome.status is Status.UNSUPPORTED
    assert outcome.failure
    assert "needs a C++ compiler, and there is no no-such-compiler" in outcome.failure.message
