"""What a replayed case says: a suspicion, nothing, or why nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case, ModelFile
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Kind, Stage
from tensorparity.reporting.words import sentences

from ..judging import judge

JAX, TF, TORCH = "keras:jax", "keras:tensorflow", "keras:torch"
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
SOFTMAX = Case(ApiCall("keras.ops.softmax", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), inputs={"x": X})
RIGHT = (np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)).astype(np.float32)
FILE = Case(ModelFile("m.keras", "0" * 64), Procedure(goal=Goal.REPLAY, nodes=("odd#0",)), inputs={"odd#0/0": X})


def completed(**outputs: Array) -> dict[str, Outcome]:
    """Outcomes of an API call by target, given as ``jax=..., tensorflow=...``."""
    return {f"keras:{name}": Outcome(f"keras:{name}", Status.COMPLETED, {"0": y}) for name, y in outputs.items()}


def ended(target: str, status: Status) -> dict[str, Outcome]:
    return {target: Outcome(target, status, failure=Failure("SomeError", "it said"))}


class TestCalls:
    def test_right_answers(self) -> None:
        assert judge(SOFTMAX, completed(jax=RIGHT, torch=RIGHT)) == (None, "")

    def test_a_wrong_answer(self) -> None:
        suspicion, _ = judge(SOFTMAX, completed(jax=RIGHT, torch=RIGHT + np.float32(0.01)))
        assert suspicion is not None
        diagnosis = suspicion.diagnosis
        assert (diagnosis.klass, diagnosis.suspects, diagnosis.api) == (Class.DEFECT, (TORCH,), "keras.ops.softmax")
        assert (
            sentences(diagnosis)[-1]
            == "keras:jax agrees with the float64 reference to 4e-08, 0.03 of what rounding explains"
        )

    def test_one_target_is_judged_by_the_reference(self) -> None:
        assert judge(SOFTMAX, completed(jax=RIGHT)) == (None, "")
        suspicion, _ = judge(SOFTMAX, completed(jax=RIGHT * 2))
        assert suspicion is not None

    def test_all_wrong_in_shared_code(self) -> None:
        suspicion, _ = judge(SOFTMAX, completed(jax=RIGHT * 2, torch=RIGHT * 2))
        assert suspicion is not None
        assert suspicion.diagnosis.suspects == ("keras",)

    @pytest.mark.parametrize("wrong", [RIGHT[:, :3], RIGHT * np.float32(np.nan)], ids=["shape", "nan"])
    def test_another_shape_or_nan_is_wrong(self, wrong: Array) -> None:
        suspicion, _ = judge(SOFTMAX, completed(jax=RIGHT, torch=wrong))
        assert suspicion is not None
        assert suspicion.diagnosis.suspects == (TORCH,)

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(Status.RAISED, Kind.ERROR), (Status.TIMED_OUT, Kind.HANG), (Status.CRASHED, Kind.CRASH)],
    )
    def test_a_bad_end_on_a_call_that_has_an_answer(self, status: Status, kind: Kind) -> None:
        suspicion, _ = judge(SOFTMAX, {**completed(jax=RIGHT), **ended(TORCH, status)})
        assert suspicion is not None
        assert (suspicion.kind, suspicion.exception) == (kind, "SomeError")
        assert suspicion.diagnosis.suspects == (TORCH,)

    def test_unsupported_everywhere_says_so(self) -> None:
        suspicion, undecided = judge(SOFTMAX, ended(JAX, Status.UNSUPPORTED))
        assert (suspicion, undecided) == (None, "no target completed the case")


class TestPairs:
    """Cases without a reference: layers that nobody knows, or a layer inside of a file."""

    def two_layers(self) -> Case:
        build = GraphBuilder()
        graph = build.build(build.add("ReLU", build.add("Mystery", build.input("x", (4,))), name="out"))
        return Case(graph, inputs={"x": X})

    def outcomes(self, *outputs: dict[str, Array]) -> dict[str, Outcome]:
        names = (JAX, TF, TORCH)[: len(outputs)]
        return {n: Outcome(n, Status.COMPLETED, y) for n, y in zip(names, outputs, strict=True)}

    def test_agreement(self) -> None:
        assert judge(self.two_layers(), self.outcomes({"out": X}, {"out": X})) == (None, "")

    @pytest.mark.parametrize(
        ("other", "reason"),
        [
            ({"out": X + 1}, "units of roundoff"),
            ({"out": X[:2]}, "shapes differ"),
            ({"else": X}, "has no output"),
            ({"out": X.astype(np.float64)}, "dtypes differ"),
            ({"out": X * np.float32(np.nan)}, "NaN or infinity on one side only"),
        ],
    )
    def test_a_difference_is_never_lost(self, other: dict[str, Array], reason: str) -> None:
        suspicion, undecided = judge(self.two_layers(), self.outcomes({"out": X}, other))
        assert suspicion is None
        assert undecided.startswith("keras:jax and keras:tensorflow: ")
        assert reason in undecided

    def test_alone_nobody_can_tell(self) -> None:
        _, undecided = judge(self.two_layers(), self.outcomes({"out": X}))
        assert undecided == "one target alone cannot be judged without a reference"

    def test_a_layer_inside_of_a_file_answers_in_its_trace(self) -> None:
        def traced(*values: Any) -> dict[str, Outcome]:
            names = (JAX, TF, TORCH)
            return {
                name: Outcome(name, Status.COMPLETED, trace=Trace(nodes={"odd#0": value}))
                for name, value in zip(names, values, strict=True)
            }

        assert judge(FILE, traced(X, X, X)) == (None, "")
        suspicion, undecided = judge(FILE, traced(X, X, X + 1))
        assert suspicion is not None
        assert (suspicion.diagnosis.suspects, suspicion.diagnosis.api, undecided) == ((TORCH,), None, "")
        suspicion, undecided = judge(FILE, traced(X, X + 2, X + 1))
        assert suspicion is None
        assert undecided == "the targets do not agree on odd#0, and no two against the others"
        two = {name: outcome for name, outcome in traced(X, X + 1, X).items() if name != TORCH}
        assert judge(FILE, two)[1].startswith("keras:jax and keras:tensorflow: outputs differ")


class TestExporters:
    """What runtimes make of an exported file, beside the original."""

    BY = {"onnxruntime": "some.exporter", "openvino": "some.exporter"}

    def outcomes(self, *values: Any, layer: bool) -> dict[str, Outcome]:
        return {
            name: Outcome(
                name,
                Status.COMPLETED,
                {} if layer else {"out": value},
                trace=Trace(nodes={"odd#0": value} if layer else {}),
            )
            for name, value in zip((JAX, *self.BY), values, strict=True)
        }

    @pytest.mark.parametrize("layer", [True, False])
    def test_two_runtimes_against_the_original(self, layer: bool) -> None:
        case = FILE if layer else Case(FILE.subject, inputs={"x": X})
        suspicion, undecided = judge(case, self.outcomes(X, X + 1, X + 1, layer=layer), self.BY)
        assert suspicion is not None
        assert (suspicion.diagnosis.suspects, undecided) == ((JAX, "exporter:some.exporter"), "")
        assert judge(case, self.outcomes(X, X, X, layer=layer), self.BY) == (None, "")

    def test_a_runtime_alone_is_not_the_exporter(self) -> None:
        suspicion, _ = judge(FILE, self.outcomes(X, X + 1, X, layer=True), self.BY)
        assert suspicion is not None
        assert suspicion.diagnosis.suspects == ("onnxruntime",)

    def test_a_file_that_neither_completes(self) -> None:
        outcomes = self.outcomes(X, X, X, layer=True)
        for name in self.BY:
            outcomes |= ended(name, Status.RAISED)
        suspicion, _ = judge(FILE, outcomes, self.BY)
        assert suspicion is not None
        assert suspicion.diagnosis.suspects == ("exporter:some.exporter",)


class TestTraining:
    """Step by step: the loss, then the weights after it."""

    FIT = Procedure(goal=Goal.FIT, steps=2, training=True)

    def outcomes(self, odd: Trace) -> dict[str, Outcome]:
        right = Trace(losses=(1.0, 0.5), weights={"0:d/kernel": X, "1:d/kernel": X})
        traces = {JAX: right, TF: right, TORCH: odd}
        return {target: Outcome(target, Status.COMPLETED, trace=trace) for target, trace in traces.items()}

    @pytest.mark.parametrize(
        ("odd", "stage"),
        [
            (Trace(losses=(2.0, 0.5), weights={"0:d/kernel": X, "1:d/kernel": X}), Stage.LOSS),
            (Trace(losses=(1.0, 0.7), weights={"0:d/kernel": X + 1, "1:d/kernel": X + 1}), Stage.UPDATE),
        ],
        ids=["loss", "update"],
    )
    def test_the_first_that_differs(self, odd: Trace, stage: Stage) -> None:
        build = GraphBuilder()
        graph = build.build(build.add("Dense", build.input("x", (4,)), name="d", units=4))
        suspicion, _ = judge(Case(graph, self.FIT, inputs={"x": X}), self.outcomes(odd))
        assert suspicion is not None
        assert (suspicion.stage, suspicion.diagnosis.suspects) == (stage, (TORCH,))
        assert suspicion.diagnosis.api == "keras.layers.Dense"
