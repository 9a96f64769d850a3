"""A user's ONNX file lowered: as it is, traced, and node by node; the runtimes agree that it is the same model."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Mode, Procedure
from tensorparity.generators.model_files.onnx_files import inspect_onnx_file
from tensorparity.targets.lowering import lower
from tensorparity.targets.runner import LocalRunner, open_runner

onnx = pytest.importorskip("onnx")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

RNG = np.random.default_rng(7)
W = RNG.standard_normal((3, 4)).astype(np.float32)
X = RNG.standard_normal((5, 3)).astype(np.float32)

Write = Callable[[Any], ModelFile]
Run = Callable[..., Outcome]


def value(name: str, shape: Any = ("N", 3), dtype: int = 1) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def make(nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Any = (), **settings: Any) -> Any:
    initializers = [numpy_helper.from_array(array, name) for name, array in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    imports = [helper.make_opsetid(domain, version) for domain, version in {"": 20, "mine": 1}.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, **settings)


def dense(batch: Any = "N") -> Any:
    nodes = [
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        helper.make_node("MatMul", ["x", "w"], ["h"], name="matmul"),
        helper.make_node("Mul", ["h", "half"], ["s"], name="scale"),
        helper.make_node("Split", ["s"], ["a", "b"], name="split", axis=1, num_outputs=2),
        helper.make_node("Sub", ["b", "a"], ["y"], name="sub"),
    ]
    return make(nodes, [value("x", (batch, 3))], [value("y", (batch, 2))], {"w": W})


def expected(x: Array) -> dict[str, Array]:
    s = x @ W * np.float32(0.5)
    return {"matmul#0": x @ W, "scale#0": s, "split#0": s[:, :2], "split#0.1": s[:, 2:], "sub#0": s[:, 2:] - s[:, :2]}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(model: Any) -> ModelFile:
        data = model.SerializeToString()
        path = tmp_path / f"{hashlib.sha256(data).hexdigest()[:8]}.onnx"
        path.write_bytes(data)
        return inspect_onnx_file(path).file

    return to


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    runtimes = [name for name in ("onnxruntime", "openvino") if importlib.util.find_spec(name)]
    with open_runner(["onnx:reference", *runtimes]) as opened:
        yield opened


@pytest.fixture(params=["onnx:reference", "onnxruntime", "openvino"])
def run(runner: LocalRunner, request: pytest.FixtureRequest) -> Run:
    if request.param not in runner.targets:
        pytest.skip(f"{request.param} is not installed")

    def once(
        file: ModelFile, inputs: dict[str, Array], *, status: Status = Status.COMPLETED, **options: Any
    ) -> Outcome:
        outcome = runner.run_pairs([(Case(file, Procedure(**options), inputs), request.param)])[0]
        assert outcome.status is status, outcome.failure
        return outcome

    return once


def close(found: Any, wanted: dict[str, Array]) -> None:
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        assert found[name].shape == array.shape, name
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6, err_msg=name)


def replay(write: Write, run: Run, model: Any, inputs: dict[str, Array]) -> Outcome:
    """Trace, then run every node alone on what was traced: both must say the same."""
    file = write(model)
    traced = run(file, inputs, trace=True)
    graph = inspect_onnx_file(Path(file.path)).graph
    arrays = {
        f"{node.key}/{index}": inputs[ref.node] if ref.node in inputs else traced.trace.nodes[_key(ref)]
        for node in graph.nodes
        for index, ref in enumerate(node.inputs)
    }
    alone = run(file, arrays, goal=Goal.REPLAY, nodes=tuple(node.key for node in graph.nodes))
    close(alone.trace.nodes, dict(traced.trace.nodes))
    return traced


def _key(ref: Any) -> str:
    return f"{ref.node}#0" + (f".{ref.index}" if ref.index else "")


class TestForward:
    def test_as_it_is(self, write: Write, run: Run) -> None:
        close(run(write(dense()), {"x": X}).outputs, {"y": expected(X)["sub#0"]})

    def test_a_batch_in_slices(self, write: Write, run: Run) -> None:
        close(run(write(dense()), {"x": X}, batch_size=2).outputs, {"y": expected(X)["sub#0"]})

    def test_a_fixed_batch_of_one_runs_once_per_instance(self, write: Write, run: Run) -> None:
        close(run(write(dense(1)), {"x": X}).outputs, {"y": expected(X)["sub#0"]})

    def test_without_a_batch_axis_an_instance_is_all_inputs(self, write: Write, run: Run) -> None:
        nodes = [helper.make_node("Mul", ["x", "factor"], ["y"], name="mul")]
        model = make(nodes, [value("x", (2, 3)), value("factor", ())], [value("y", (2, 3))])
        x = RNG.standard_normal((4, 2, 3)).astype(np.float32)
        factor = np.arange(4, dtype=np.float32)
        outcome = run(write(model), {"x": x, "factor": factor}, trace=True)
        close(outcome.outputs, {"y": x * factor[:, None, None]})
        close(outcome.trace.nodes, {"mul#0": x * factor[:, None, None]})

    def test_a_batch_axis_that_is_none(self, write: Write, run: Run) -> None:
        """Real files say so of outputs that are ordered by time."""
        model = make(
            [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])], [value("x", (1, 3))], [value("y", (1, "T"))]
        )
        close(run(write(model), {"x": X}).outputs, {"y": X[:, :, None]})

    def test_an_output_without_instances_is_not_compared(self, write: Write, run: Run) -> None:
        model = make([helper.make_node("Shape", ["x"], ["y"])], [value("x")], [value("y", None, 7)])
        outcome = run(write(model), {"x": X}, status=Status.UNSUPPORTED)
        assert outcome.failure is not None
        assert "shape (2,) has no axis of the 5 instances" in outcome.failure.message

    @pytest.mark.parametrize("dtype", ["int64", "int32", "bool", "float16", "float64", "uint8"])
    def test_other_types(self, write: Write, run: Run, dtype: str) -> None:
        number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        model = make(
            [helper.make_node("Identity", ["x"], ["y"])], [value("x", ("N", 3), number)], [value("y", ("N", 3), number)]
        )
        x = RNG.integers(0, 2, (5, 3)).astype(dtype)
        outcome = run(write(model), {"x": x})
        assert outcome.outputs["y"].dtype == dtype
        np.testing.assert_array_equal(outcome.outputs["y"], x)

    def test_unknown_operators_are_unsupported(self, write: Write, run: Run) -> None:
        model = make([helper.make_node("Nobody", ["x"], ["y"], domain="mine")], [value("x")], [value("y")])
        run(write(model), {"x": X}, status=Status.UNSUPPORTED)


class TestLayers:
    def test_every_output_is_shown(self, write: Write, run: Run) -> None:
        outcome = run(write(dense()), {"x": X}, trace=True)
        close(outcome.trace.nodes, expected(X))
        close(outcome.outputs, {"y": expected(X)["sub#0"]})

    @pytest.mark.parametrize("batch", ["N", 1])
    def test_alone_they_give_the_same(self, write: Write, run: Run, batch: Any) -> None:
        replay(write, run, dense(batch), {"x": X[:2]})

    def test_a_node_alone_owes_nothing_to_another(self, write: Write, run: Run) -> None:
        given = {"scale#0/0": np.full((2, 4), 3, np.float32), "sub#0/0": X[:, :2], "sub#0/1": X[:, 1:]}
        outcome = run(write(dense()), given, goal=Goal.REPLAY, nodes=("scale#0", "sub#0"))
        close(outcome.trace.nodes, {"scale#0": np.full((2, 4), 1.5), "sub#0": X[:, :2] - X[:, 1:]})

    def test_branches_that_capture(self, write: Write, run: Run) -> None:
        then = helper.make_graph([helper.make_node("MatMul", ["h", "w"], ["t"])], "then", [], [value("t", None)])
        inner = [helper.make_node("Neg", ["h"], ["n"]), helper.make_node("MatMul", ["n", "w"], ["e"])]
        other = helper.make_graph(inner, "else", [], [value("e", None)])
        nodes = [
            helper.make_node("Relu", ["x"], ["h"], name="relu"),
            helper.make_node("ReduceMax", ["x"], ["m"], name="max", keepdims=0),
            helper.make_node("Greater", ["m", "zero"], ["c"], name="greater"),
            helper.make_node("If", ["c"], ["y"], name="if", then_branch=then, else_branch=other),
        ]
        model = make(nodes, [value("x")], [value("y", ("N", 4))], {"w": W, "zero": np.float32(0)})
        traced = replay(write, run, model, {"x": X})
        np.testing.assert_allclose(traced.outputs["y"], np.maximum(X, 0) @ W, rtol=1e-5, atol=1e-6)

    def test_functions_of_the_file(self, write: Write, run: Run, request: pytest.FixtureRequest) -> None:
        body = [helper.make_node("Add", ["a", "a"], ["b"])]
        function = helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 20)])
        nodes = [
            helper.make_node("Twice", ["x"], ["h"], name="twice", domain="mine"),
            helper.make_node("Mul", ["h", "h"], ["y"], name="square"),
        ]
        model = make(nodes, [value("x")], [value("y")], functions=[function])
        if request.node.callspec.params["run"] == "openvino":  # it knows no functions of a file's own
            run(write(model), {"x": X}, status=Status.UNSUPPORTED)
            return
        traced = replay(write, run, model, {"x": X})
        close(traced.trace.nodes, {"twice#0": 2 * X, "square#0": 4 * X * X})

    def test_an_optional_input_that_is_left_out(self, write: Write, run: Run) -> None:
        nodes = [helper.make_node("Clip", ["x", "", "one"], ["y"], name="clip")]
        model = make(nodes, [value("x")], [value("y")], {"one": np.float32(1)})
        close(replay(write, run, model, {"x": X}).outputs, {"y": np.minimum(X, 1)})

    def test_nodes_without_inputs_and_integers_on_the_way(self, write: Write, run: Run) -> None:
        nodes = [
            helper.make_node("Shape", ["x"], ["s"], name="shape"),
            helper.make_node("Gather", ["s", "first"], ["n"], name="gather"),
            helper.make_node("ConstantOfShape", ["two"], ["z"], name="zeros"),
            helper.make_node("Concat", ["n", "two"], ["t"], name="concat", axis=0),
            helper.make_node("Reshape", ["h", "t"], ["y"], name="reshape"),
            helper.make_node("Sum", ["x", "x"], ["unused"], name="sum"),
        ]
        nodes.insert(0, helper.make_node("MatMul", ["x", "w"], ["h"], name="matmul"))
        weights = {"w": W, "first": np.array([0]), "two": np.array([2, 2])}
        model = make(nodes, [value("x")], [value("y", ("N", 2, 2))], weights)
        close(replay(write, run, model, {"x": X}).outputs, {"y": (X @ W).reshape(5, 2, 2)})

    def test_sequences_are_passed_over(self, write: Write, runner: LocalRunner) -> None:
        nodes = [
            helper.make_node("SplitToSequence", ["x"], ["s"], name="split", axis=1),
            helper.make_node("ConcatFromSequence", ["s"], ["y"], name="concat", axis=1),
        ]
        case = Case(write(make(nodes, [value("x")], [value("y")])), Procedure(trace=True), {"x": X})
        outcome = runner.run_pairs([(case, "onnx:reference")])[0]
        close(outcome.trace.nodes, {"concat#0": X})

    def test_the_reference_says_in_which_node_it_failed(self, write: Write, runner: LocalRunner) -> None:
        nodes = [
            helper.make_node("Relu", ["x"], ["h"], name="relu"),
            helper.make_node("Reshape", ["h", "shape"], ["y"], name="reshape"),
        ]
        model = make(nodes, [value("x")], [value("y", ("N", 7))], {"shape": np.array([5, 7])})
        case = Case(write(model), Procedure(trace=True), {"x": X})
        outcome = runner.run_pairs([(case, "onnx:reference")])[0]
        assert outcome.status is Status.RAISED
        assert outcome.failure is not None
        assert outcome.failure.node == "reshape#0"


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("options", "inputs", "reason"),
        [
            ({"training": True}, {"x": X}, "inference mode only"),
            ({"mode": Mode.COMPILED}, {"x": X}, "one mode only"),
            ({"goal": Goal.GRADIENTS}, {"x": X}, "forward only"),
            ({}, {}, "input 'x' is missing"),
            ({}, {"x": X[:0]}, "at least one; received [0]"),
            ({"goal": Goal.REPLAY}, {}, "the replay names no nodes"),
            ({"goal": Goal.REPLAY, "nodes": ("no#0",)}, {}, "which the model does not have"),
            ({"goal": Goal.REPLAY, "nodes": ("matmul#0",)}, {}, "input 'matmul#0/0' of the replay is missing"),
        ],
    )
    def test_requests(self, write: Write, options: dict[str, Any], inputs: dict[str, Array], reason: str) -> None:
        refused = lower("onnx", Case(write(dense()), Procedure(**options), inputs))
        assert isinstance(refused, str)
        assert reason in refused

    def test_random_numbers(self, write: Write) -> None:
        nodes = [helper.make_node("RandomNormalLike", ["x"], ["y"], name="dice")]
        file = write(make(nodes, [value("x")], [value("y")]))
        refused = lower("onnx", Case(file, Procedure(goal=Goal.REPLAY, nodes=("dice#0",)), {"dice#0/0": X}))
        assert refused == "dice#0 draws random numbers, which no two runtimes draw alike"

    def test_a_file_that_has_changed(self, write: Write) -> None:
        file = write(dense())
        Path(file.path).write_bytes(dense(1).SerializeToString())
        refused = lower("onnx", Case(file, Procedure(), {"x": X}))
        assert isinstance(refused, str)
        assert "has changed since it was inspected" in refused

    def test_the_path_is_not_in_the_identity(self, write: Write) -> None:
        file = write(dense())
        moved = ModelFile("elsewhere.onnx", file.sha256, "onnx", file.parts)
        assert Case(file, inputs={"x": X}).digest == Case(moved, inputs={"x": X}).digest
        other = ModelFile(file.path, file.sha256, "onnx", (("w.bin", "0" * 64),))
        assert Case(file, inputs={"x": X}).digest != Case(other, inputs={"x": X}).digest
        assert ModelFile.from_json(other.to_json()) == other
