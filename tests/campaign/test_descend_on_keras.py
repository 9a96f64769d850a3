"""Faults below layers of real libraries: filed under the function in which they were planted, with a script of it."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Setup
from tensorparity.core.procedure import Procedure
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import Fault, load_fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner
from tensorparity.triage.recorded_calls import record, run_with_answers
from tensorparity.triage.reduction.preparation import Preparation, Prepared, ReducingSettings

TORCH, NUMPY, NATIVE = "keras:torch", "keras:numpy", "torch:eager"
#: A quarter too much, in torch itself.
WRONG_GELU = """
import torch
right = torch.nn.functional.gelu

def gelu(input, *, approximate="none"):
    return right(input, approximate=approximate) + 0.25

torch.nn.functional.gelu = gelu
"""

pytestmark = [pytest.mark.torch, pytest.mark.jax]


def one_layer(op: str, shape: tuple[int, ...], **params: Json) -> Case:
    build = GraphBuilder(op)
    graph = build.build(build.add(op, build.input("x", shape), name="layer", **params))
    return Case(graph, Procedure(), {"x": np.random.default_rng(4).standard_normal((2, *shape)).astype(np.float32)})


def opened(fault: Fault | None, *planted: str) -> LocalRunner:
    faults = dict.fromkeys(planted, fault) if fault is not None else {}
    return open_runner([TORCH, NUMPY, NATIVE], RunnerSettings(faults=faults, cache=None))


def prepared(runner: LocalRunner, case: Case) -> Prepared:
    examiner = Examiner(runner, Setup(targets=(TORCH, NUMPY), traits=traits_of(runner.targets)))
    (examined,) = examiner.examine([Ask(case, (TORCH, NUMPY))])
    (suspicion,) = [s for s in examined.judged.suspicions if s.diagnosis.klass is Class.DEFECT]
    (item,) = Preparation(runner, examiner, ReducingSettings()).reduce([suspicion])
    return item


def test_a_fault_in_the_front_end_is_its_functions() -> None:
    with opened(load_fault("maxpool-same-shifted"), TORCH) as runner:
        item = prepared(runner, one_layer("MaxPooling2D", (5, 5, 1), pool_size=2, padding="same"))
    diagnosis = item.suspicion.diagnosis
    assert diagnosis.api == "keras.ops.max_pool"
    assert diagnosis.suspects == (TORCH,)
    assert diagnosis.parameters["padding"] == "same"
    assert item.above is not None
    assert item.above.diagnosis.api == "keras.layers.MaxPooling2D"
    assert any("the code that is wrong is Keras's" in text for text in sentences(diagnosis))
    assert item.reproducer is not None
    assert item.reproducer.verified, item.reproducer.remark
    assert "keras.ops.max_pool(" in item.reproducer.text


def test_a_fault_in_the_library_is_the_librarys() -> None:
    with opened(Fault("gelu.py", WRONG_GELU), TORCH, NATIVE) as runner:
        item = prepared(runner, one_layer("Activation", (3,), activation="gelu"))
    diagnosis = item.suspicion.diagnosis
    assert diagnosis.api == "torch.nn.functional.gelu"
    assert diagnosis.suspects == (NATIVE,)
    assert isinstance(item.suspicion.case.subject, ApiCall)
    assert any("the code that is wrong is PyTorch's" in text for text in sentences(diagnosis))
    assert item.reproducer is not None
    assert item.reproducer.verified, item.reproducer.remark
    assert "import keras" not in item.reproducer.text


def test_calls_are_recorded_with_arguments_and_can_be_answered_otherwise() -> None:
    case = one_layer("Activation", (3,), activation="gelu")
    with opened(None) as runner:
        recording = record(runner, case, TORCH)
        assert recording is not None
        answered = run_with_answers(runner, case, TORCH, {2: [np.full((2, 3), 7.0, np.float32)]})
        plain, _ = runner.run_pairs([(case, TORCH), (case, NUMPY)])
    assert [call.api for call in recording.calls] == [
        "keras.activations.gelu",
        "keras.ops.gelu",
        "torch.nn.functional.gelu",
    ]
    assert [call.parents for call in recording.calls] == [(), (0,), (1, 0)]
    first, *_ = recording.calls
    assert first.case is not None
    assert np.array_equal(first.case.inputs["a0"], case.inputs["x"])
    assert np.array_equal(first.outputs[0], plain.outputs["layer"])
    assert (answered.outputs["layer"] == 7.0).all()
    assert np.array_equal(recording.outcome.outputs["layer"], plain.outputs["layer"])
