"""Exports that fail or answer otherwise: one finding for each operation that stops them, whatever they say."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, Counterpart
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Procedure
from tensorparity.core.severity import Severity, severity_of
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.oracles.kinds import make_oracle, oracle_of
from tensorparity.oracles.measure.export_failures import failed_operation
from tensorparity.reporting.words import sentence
from tensorparity.targets.selection import traits_of
from tensorparity.triage.reproduce.export_scripts import export_script

TARGET = "keras:tensorflow"
X = np.array([[-1.0, 0.5, 2.0]], np.float32)
RIGHT = np.maximum(X, 0)


def case(op: str = "ReLU", form: str = "onnx", reload: bool = True, **params: object) -> Case:
    builder = GraphBuilder()
    graph = builder.build(builder.add(op, builder.input("x", (3,)), name="y", **params))
    other = Procedure(reload=reload, variant=f"export {form}" if reload else "")
    return Case(graph, inputs={"x": X}, counterpart=Counterpart(procedure=other, rule=f"export-{form}"))


def judged(of: Case, other: Array | Failure) -> Judged:
    first = Outcome(TARGET, Status.COMPLETED, {"y": RIGHT})
    failed = isinstance(other, Failure)
    second = (
        Outcome(TARGET, Status.RAISED, failure=other) if failed else Outcome(TARGET, Status.COMPLETED, {"y": other})
    )
    ran = tuple({TARGET: side} for side in of.sides())
    seen = Seen(of, ({TARGET: first}, {TARGET: second}), ran, traits_of([TARGET]))
    return make_oracle(oracle_of(of), Setup(targets=(TARGET,), traits=seen.traits)).judge(seen)


ERFC = 'INVALID_GRAPH : In Node, ("functional/y/Gelu/Erfc", Erfc, "", -1) is not a registered function/op'


def test_an_export_that_fails_is_a_refusal_of_what_is_valid() -> None:
    (found,) = judged(case(), Failure("InvalidGraph", ERFC)).suspicions
    assert (found.kind, found.stage, found.diagnosis.klass) == (Kind.ERROR, Stage.SAVE_LOAD, Class.DEFECT)
    assert severity_of(found.kind, found.diagnosis) is Severity.REFUSES_VALID
    assert found.diagnosis.parameters == {"format": "onnx"}


def test_layers_that_one_operation_stops_are_one_finding_in_each_format() -> None:
    def signature(op: str, form: str, message: str) -> str:
        return judged(case(op, form), Failure("InvalidGraph", message)).suspicions[0].signature

    assert signature("ReLU", "onnx", ERFC) == signature("Softmax", "onnx", ERFC)
    assert signature("ReLU", "onnx", ERFC) != signature("ReLU", "openvino", ERFC)
    assert signature("ReLU", "onnx", ERFC) != signature("ReLU", "onnx", ERFC.replace("Erfc", "Bucketize"))
    constant = "Unsupported prim::Constant kind: 'ival'. [Caused by the value '{} defined in (%{} : Generator)']"
    assert signature("ReLU", "onnx", constant.format(5, 6)) == signature("Softmax", "onnx", constant.format(7, 8))
    assert signature("ReLU", "onnx", constant) != signature("ReLU", "onnx", "something else")
    wrapped = "Failed to export. Original error: {}"
    assert signature("ReLU", "torch", wrapped.format("a")) != signature("ReLU", "torch", wrapped.format("b"))


def test_that_something_is_not_supported_is_no_excuse_for_an_export_alone() -> None:
    words = Failure("NotImplementedError", "this layer is not supported")
    assert judged(case(), words).suspicions[0].diagnosis.klass is Class.DEFECT
    assert judged(case(reload=False), words).suspicions[0].diagnosis.klass is Class.UNSUPPORTED


def test_a_package_that_is_not_installed_is_nobodys_defect() -> None:
    said = "This requires the jax2onnx module. You can install it via `pip install jax2onnx`"
    (found,) = judged(case(), Failure("ImportError", said)).suspicions
    assert found.diagnosis.klass is Class.UNSUPPORTED
    assert sentence(found.diagnosis.evidence[-1]) == (
        "keras:tensorflow says that it needs a package which is not installed here"
    )


def test_another_answer_is_the_layers_in_that_format() -> None:
    assert not judged(case(), RIGHT).suspicions
    (found,) = judged(case(), RIGHT + 1).suspicions
    assert (found.kind, found.stage, found.diagnosis.api) == (Kind.EQUIVALENCE, Stage.SAVE_LOAD, "keras.layers.ReLU")
    assert found.diagnosis.parameters["format"] == "onnx"


def test_layers_that_draw_in_training_are_one_finding() -> None:
    def found(op: str, **params: object) -> Suspicion:
        return judged(case(op, "tf_saved_model", **params), RIGHT + 1).suspicions[0]

    one, other = found("RandomBrightness", factor=0.2), found("RandomContrast", factor=0.2)
    assert one.signature == other.signature != found("ReLU").signature
    assert one.diagnosis.parameters == {"format": "tf_saved_model", "layer": "random"}


@pytest.mark.parametrize(
    ("message", "operation"),
    [
        (ERFC, "Erfc"),
        ("Exporting the operator 'aten::fft_rfft' to ONNX opset version 18 is not supported.", "fft_rfft"),
        ("Unsupported: ONNX export of operator adaptive_max_pool1d, output size that", "adaptive_max_pool1d"),
        ("-- No conversion rule found for operations: StatelessRandomUniformV2, Bucketize", "StatelessRandomUniformV2"),
        ("tensorflow/lite/kernels/rfft2d.cc:117 IsPowerOfTwo was not true", "rfft2d"),
        ("Load model failed:Node (a/b) Op (ConvTranspose) [ShapeInferenceError]", "ConvTranspose"),
        ("something else", ""),
    ],
)
def test_the_operation_is_read_from_what_exporters_and_runtimes_say(message: str, operation: str) -> None:
    assert failed_operation(Failure("RuntimeError", message)) == operation


@pytest.mark.parametrize("form", ["onnx", "tf_saved_model", "openvino", "litert", "torch"])
def test_a_script_exports_the_model_and_reads_the_file(form: str) -> None:
    (wrong,) = judged(case(form=form), RIGHT + 1).suspicions
    text = export_script("it is wrong", wrong, "tensorflow")
    compile(text, "script.py", "exec")
    assert f'format="{form}"' in text
    assert "expected = model.predict(x" in text
    (failed,) = judged(case(form=form), Failure("InvalidGraph", ERFC)).suspicions
    assert "except Exception" in export_script("it fails", failed, "tensorflow")
