"""A case of every oracle, with targets of which one is wrong: what it convicts, whoever asks it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tensorparity.core.arrays import Array, dtype_name, dtype_named
from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case, Counterpart, ModelFile
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.registry import resolve
from tensorparity.generators.equivalences.random_properties import RANDOM_PROPERTIES
from tensorparity.operators.functions.catalogue import OPERATORS, operator_of
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.declared_valid import declared

A, B, C, D = "keras:tensorflow", "keras:torch", "keras:jax", "keras:numpy"
X = np.linspace(-2.0, 2.0, 8, dtype=np.float32).reshape(2, 4)
CALL = Procedure(goal=Goal.CALL)
ROWS = Procedure(goal=Goal.CALL, rows=2)
FILE = ModelFile("m.keras", "0" * 64)
EXAMPLE = Path(__file__).parents[2] / "examples" / "tensorparity-example" / "src"
#: What a target answers; the number is what it is off by: none but the one that is wrong is off by anything.
Answer = Callable[[Case, str, np.float32], Outcome]


@dataclass
class Answers:
    """A Runner one of whose targets is wrong."""

    answer: Answer
    targets: Sequence[str] = (A, B, C)
    wrong: str = B

    def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None) -> list[Outcome]:
        return [self.answer(case, target, np.float32(0.5 if target == self.wrong else 0.0)) for case, target in pairs]


@dataclass(frozen=True)
class Planted:
    """A case, and what is wrong with it.

    Args:
        answer: None for layers that are evaluated, of which ``layer`` is wrong on one target.
        signs: the oracle whose name stands on the suspicion, where a part of a model is judged by its own.
        suspects: who is accused, where that is not the wrong target alone.
    """

    case: Case
    answer: Answer | None = None
    targets: tuple[str, ...] = (A, B, C)
    wrong: str = B
    signs: str = ""
    layer: str = ""
    change: Callable[[Array], Array] = lambda array: array + np.float32(0.5)
    suspects: tuple[str, ...] | None = None

    def runner(self, fake_runner: Any) -> Any:
        if self.answer is not None:
            return Answers(self.answer, self.targets, self.wrong)
        return fake_runner(targets=self.targets, planted={self.wrong: {self.layer: self.change}})


def gave(target: str, array: Array, name: str = "0", **trace: Any) -> Outcome:
    return Outcome(target, Status.COMPLETED, {name: array}, Trace(**trace))


def raised(target: str, message: str = "no") -> Outcome:
    return Outcome(target, Status.RAISED, failure=Failure("ValueError", message))


# Graphs and files


def graph(*ops: str, **params: Any) -> LayerGraph:
    build = GraphBuilder()
    x = build.input("x", (4,))
    for index, op in enumerate(ops):
        x = build.add(op, x, name=f"n{index}", **params)
    return build.build(x)


def classifier() -> Case:
    build = GraphBuilder("small")
    x = build.add("Conv2D", build.input("x", (4, 4, 1)), name="conv", filters=2, kernel_size=3, padding="same")
    x = build.add("Dense", build.add("Flatten", x, name="flat"), name="logits", units=3)
    made = build.build(build.add("Softmax", x, name="classes"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((6, 4, 4, 1)).astype(np.float32)}
    return Case(made, inputs=inputs, labels={"classes": np.arange(6) % 3}, weights=draw_weights(made, rng))


def turned_around(y: Array) -> Array:
    return np.asarray(np.float32(1.0) - np.float32(5.0) * y)


def step(loss: str = "MeanSquaredError") -> Case:
    rng = np.random.default_rng(0)
    x, labels, kernel = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (3, 2), (4, 2)))
    build = GraphBuilder()
    made = build.build(build.add("Dense", build.input("x", (4,)), name="d", units=2, use_bias=False))
    procedure = Procedure(goal=Goal.UPDATE, loss=Recipe(loss), optimizer=Recipe("SGD", {"learning_rate": 0.1}))
    return Case(made, procedure, {"x": x}, {"d": labels}, {"d/kernel": kernel})


def steps(case: Case, target: str, off: np.float32) -> Outcome:
    """A step of one dense layer without bias; the wrong target's loss is off, and its layer's output."""
    (node,) = case.subject.nodes  # type: ignore[union-attr]
    (x,) = case.inputs.values()
    kernel = case.weights.get(f"{node.layer}/kernel")
    y = x if kernel is None else (x @ kernel) * (1 + off)
    if case.procedure.goal is Goal.REPLAY:
        back = case.cotangents[node.key]
        pulled = {f"input:{node.key}/0": back @ kernel.T, f"weight:{node.layer}/kernel": x.T @ back}  # type: ignore[union-attr]
        return Outcome(target, Status.COMPLETED, trace=Trace(gradients=pulled))
    if case.procedure.loss is None:
        return Outcome(target, Status.COMPLETED, {node.name: y}, Trace({node.key: y}))
    error = y - case.labels[node.name]
    back = np.float32(2.0 / error.size) * error
    gradients = {f"node:{node.key}": back, f"input:{next(iter(case.inputs))}": back}
    weights = {}
    if kernel is not None:
        gradients[f"input:{next(iter(case.inputs))}"] = back @ kernel.T
        gradients[f"weight:{node.layer}/kernel"] = x.T @ back
        weights[f"{node.layer}/kernel"] = kernel - np.float32(0.1) * (x.T @ back)
    trace = Trace({node.key: y}, float(np.mean(error**2)), gradients=gradients, weights=weights)
    return Outcome(target, Status.COMPLETED, {node.name: y}, trace)


def accepts(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, X) if off else raised(target, "negative_slope must be at least 0")


def accepts_units(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, X) if off else raised(target, "units must be a positive integer")


def fits(case: Case, target: str, off: np.float32) -> Outcome:
    trace = Trace(losses=(1.0 + float(off),), weights={"0:d/kernel": X})
    return Outcome(target, Status.COMPLETED, trace=trace)


def ends_training(case: Case, target: str, off: np.float32) -> Outcome:
    return raised(target, "no training today") if off else fits(case, target, off)


def in_file(case: Case, target: str, off: np.float32) -> Outcome:
    return Outcome(target, Status.COMPLETED, trace=Trace(nodes={"odd#0": X + off}))


def reads_no_file(case: Case, target: str, off: np.float32) -> Outcome:
    return raised(target) if off else gave(target, X, "out")


def layers_in_file(case: Case, target: str, off: np.float32) -> Outcome:
    """A file with one ReLU, whose layers can be read."""
    if case.procedure.goal is Goal.LAYERS:
        return Outcome(target, Status.COMPLETED, reply={"graph": graph("ReLU").to_json()})
    return Outcome(target, Status.COMPLETED, trace=Trace(nodes={"n0#0": np.maximum(X, 0) + off}))


def raises(case: Case, target: str, off: np.float32) -> Outcome:
    return raised(target) if off else gave(target, np.maximum(case.inputs["x"], 0), "n0")


def negative(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, np.maximum(case.inputs["x"], 0) - off, "n0")


# Calls


def by_rows(case: Case, target: str, function: Callable[[Array], Array]) -> Outcome:
    """What a function gives, row by row where a case has rows."""
    x = case.inputs["x"]
    if case.procedure.rows is None:
        return gave(target, np.asarray(function(x)))
    outputs = {f"{row}/0": np.asarray(function(array)) for row, array in enumerate(x)}
    return Outcome(target, Status.COMPLETED, outputs, reply={"rows": {}})


def tanh(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, np.tanh(case.inputs["x"]) + off)


def off_in_32(case: Case, target: str, off: np.float32) -> Outcome:
    """Right in float64, by which it is convicted."""
    return by_rows(case, target, lambda x: (np.exp(x) * (1 + off * (x.dtype == np.float32))).astype(x.dtype))


def off_on_the_other_side(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, X + (off if case.subject.api == "keras.ops.other" else 0))  # type: ignore[union-attr]


def counterparts(case: Case, target: str, off: np.float32) -> Outcome:
    """Either library runs its own side alone."""
    if case.subject.api.partition(".")[0] != target.partition(":")[0]:  # type: ignore[union-attr]
        return Outcome(target, Status.UNSUPPORTED, failure=Failure("Unsupported", "another library's"))
    zero = np.float32(7) if off else np.float32(1)

    def function(x: Array) -> Array:
        return np.where((x == 0) & (x.dtype == np.float32), zero, np.exp(x)).astype(x.dtype)

    return by_rows(case, target, function)


def of_onnx(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, np.exp(case.inputs["x"]) * (1 + off))


def draws(case: Case, target: str, off: np.float32) -> Outcome:
    found = {}
    for place, call in enumerate(case.subject.args):  # type: ignore[union-attr]
        told = call.kwargs
        rng = np.random.default_rng(told["seed"])
        numbers = rng.normal(told["mean"] + float(off), told["stddev"], tuple(told["shape"].items))
        found[str(place)] = numbers.astype(np.float32)
    return Outcome(target, Status.COMPLETED, found)


def drawn() -> Case:
    cases = (RANDOM_PROPERTIES.equivalence(case) for case in RANDOM_PROPERTIES.own_cases("keras", 1, 0))
    calls = ((case, case.subject.args[0]) for case in cases if case)  # type: ignore[union-attr]
    return next(
        case
        for case, call in calls
        if call.api.endswith(".normal") and call.kwargs.get("dtype", "float32") == "float32"
    )


def operator_case(rows: int = 4, dtype: str = "float32", instance: str | None = None) -> Case:
    x = np.linspace(0.5, 2.0, rows * 3).reshape(rows, 3).astype(dtype)
    return Case(OPERATORS.get("exp").api_call({}), Procedure(goal=Goal.CALL, dtype=instance), {"x": x})


def exact(case: Case, target: str, off: np.float32) -> Outcome:
    """An operator's true value, rounded once."""
    operator = operator_of(case.subject.api)  # type: ignore[union-attr]
    assert operator is not None
    dtype = dtype_named(case.procedure.dtype or dtype_name(case.inputs["x"]))
    arrays = [array.astype(dtype).astype(np.float64) for array in operator.operand_arrays(case.inputs)]
    return gave(target, np.asarray(operator.evaluate({}, arrays).value * (1 + off)).astype(dtype))


def refuses(case: Case, target: str, off: np.float32) -> Outcome:
    return raised(target, "out of luck") if off else exact(case, target, off)


def refuses_a_call(case: Case, target: str, off: np.float32) -> Outcome:
    return raised(target, "out of luck") if off else gave(target, np.tanh(case.inputs["x"]))


def dies(case: Case, target: str, off: np.float32) -> Outcome:
    died = Failure("SIGSEGV", "the worker process ended with SIGSEGV")
    return Outcome(target, Status.CRASHED, failure=died) if off else gave(target, np.tanh(case.inputs["x"]))


PAIR = ("torch:eager", "jax:eager")
RUNTIMES = ("onnxruntime", "openvino", "onnx:reference")
OTHER = Counterpart(ApiCall("keras.ops.other", (ArrayArg("x"),)), rule="other")
EDGE = np.array([[0.0, np.inf, 1.0], [0.5, -1.25, 2.0]], np.float32)
MYSTERIES = [ApiCall(f"{library}.mystery", (ArrayArg("x"),)) for library in ("torch", "jax.numpy")]
REPLAY = Procedure(goal=Goal.REPLAY, nodes=("odd#0",))
FIT = Procedure(goal=Goal.FIT, loss=Recipe("MeanSquaredError"), steps=1)
TANH = Case(ApiCall("keras.ops.tanh", (ArrayArg("x"),)), CALL, {"x": X})
EQUAL = Case(ApiCall("keras.ops.one", (ArrayArg("x"),)), CALL, {"x": X}, counterpart=OTHER)
DIRECT = Case(MYSTERIES[0], ROWS, {"x": EDGE}, counterpart=Counterpart(MYSTERIES[1], rule="direct-counterparts"))

#: By the oracle that is asked.
CASES: dict[str, Planted] = {
    "call": Planted(TANH, tanh),
    "layer": Planted(Case(graph("ReLU"), inputs={"x": X}), layer="n0"),
    "layers": Planted(Case(graph("ReLU", "ELU", "Softmax"), inputs={"x": X}), layer="n2"),
    "refusal": Planted(Case(graph("LeakyReLU", negative_slope=-0.5), inputs={"x": X}), accepts),
    "training": Planted(Case(graph("ReLU"), FIT), fits),
    "replayed": Planted(Case(FILE, REPLAY, {"odd#0/0": X}), in_file),
    "file": Planted(Case(FILE, inputs={"x": X}), reads_no_file),
    "equivalence": Planted(EQUAL, off_on_the_other_side),
    "trained_layer": Planted(step(), steps),
    "training_step": Planted(step(), steps, signs="layer"),
    "muffin": Planted(step(), steps),
    "eagle": Planted(EQUAL, off_on_the_other_side),
    "function": Planted(TANH, tanh),
    "same_call": Planted(
        Case(ApiCall("keras.ops.mystery", (ArrayArg("x"),)), ROWS, {"x": X}), off_in_32, targets=(A, B, C, D)
    ),
    "drawn": Planted(drawn(), draws),
    "direct_counterpart": Planted(DIRECT, counterparts, targets=PAIR, wrong=PAIR[0]),
    "same_operator": Planted(
        Case(ApiCall("onnx.Exp", (ArrayArg("x"),), {"opset": 13}), CALL, {"x": X}),
        of_onnx,
        targets=RUNTIMES,
        wrong=RUNTIMES[0],
    ),
    "invalid_value": Planted(Case(graph("Dense", units=(2, 2)), inputs={"x": X}), accepts_units),
    "failure": Planted(Case(graph("ReLU"), inputs={"x": X}), raises),
    "layer_in_model": Planted(Case(FILE, replace(REPLAY, nodes=("n0#0",)), {"n0#0/0": X}), layers_in_file),
    "parity": Planted(classifier(), layer="logits", change=turned_around, signs="layer"),
    "cradle": Planted(classifier(), targets=(A, B), layer="logits", change=turned_around, suspects=()),
    "audee": Planted(classifier(), targets=(A, B), layer="logits", change=turned_around, suspects=(A, B)),
    "training_drift": Planted(Case(graph("ReLU"), FIT, {"x": X}, {"n0": X}), ends_training),
    "precision": Planted(operator_case(), exact, targets=PAIR, wrong=PAIR[1]),
    "operator_errors": Planted(operator_case(), refuses, targets=PAIR, wrong=PAIR[1], signs="precision"),
    "predoo_input_mode": Planted(
        operator_case(dtype="float64", instance="float64"), refuses, targets=PAIR, wrong=PAIR[1], signs="precision"
    ),
    "predoo_op_mode": Planted(operator_case(dtype="float64"), refuses, targets=PAIR, wrong=PAIR[1], signs="precision"),
    "predoo_default": Planted(
        operator_case(dtype="float64", instance="float64"), refuses, targets=PAIR, wrong=PAIR[1], signs="precision"
    ),
    "declared_valid": Planted(declared(TANH, "the library's own tests"), refuses_a_call),
    "plain_call": Planted(TANH, dies),
    "nonnegative": Planted(Case(graph("ReLU"), inputs={"x": X}), negative),
}
#: They measure, tell what two functions have to do with each other, or look at what was convicted.
CONVICT_NOBODY = frozenset(
    ["outcomes", "elapsed", "population", "audee_measures", "high_precision", "with_itself", "causal"]
    + ["counterpart_trial", "margins"]
)


def example_oracle() -> Any:
    """The oracle of the example package."""
    if str(EXAMPLE) not in sys.path:
        sys.path.append(str(EXAMPLE))
    return resolve("oracle", "nonnegative", "tensorparity_example.oracle:NonNegative")
