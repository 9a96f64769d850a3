"""Reproducers on real libraries: they show the fault, and are clean without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_named
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.catalogue import KERAS_TORCH, traits_of
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.reduction.preparation import Prepared, prepare_one
from tensorparity.triage.reduction.reducer import ReductionBudget
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.reproduce.scripts import execute, render, reproduce, verify

from ..examining import examine_case, examiner_for

WRONG_FMOD = """
import torch
right = torch.fmod
torch.fmod = lambda a, b: torch.where(a < 0, right(a, b) + 1, right(a, b))
"""
RAISING_FMOD = """
import torch
def fmod(a, b):
    raise RuntimeError("no fmod today")
torch.fmod = fmod
"""
DYING_FMOD = """
import os, signal, torch
torch.fmod = lambda a, b: os.kill(os.getpid(), signal.SIGSEGV)
"""
WRONG_ELU = """
import onnx, onnxruntime
right = onnxruntime.InferenceSession
def wrong(model, *args, **kwargs):
    proto = onnx.load_from_string(bytes(model))
    for node in proto.graph.node:
        if node.op_type == "Elu":
            del node.attribute[:]
            node.attribute.append(onnx.helper.make_attribute("alpha", 0.5))
    return right(proto.SerializeToString(), *args, **kwargs)
onnxruntime.InferenceSession = wrong
"""


def opened(source: str, *targets: str) -> LocalRunner:
    return open_runner(targets, RunnerSettings(faults={targets[0]: Fault("fault.py", source)} if source else {}))


def prepared(runner: LocalRunner, case: Case) -> Prepared:
    (suspicion,) = examine_case(runner, case, runner.targets)[0].suspicions
    return prepare_one(runner, examiner_for(runner, runner.targets), suspicion, ReductionBudget())


def fmod() -> Case:
    a = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    b = np.full((3, 4), 0.3, np.float32)
    return Case(ApiCall("torch.fmod", (ArrayArg("a"), ArrayArg("b"))), Procedure(goal=Goal.CALL), {"a": a, "b": b})


@pytest.mark.torch
class TestTorch:
    @pytest.mark.parametrize(
        ("source", "kind"),
        [
            pytest.param(WRONG_FMOD, Kind.INCONSISTENCY, id="wrong"),
            pytest.param(RAISING_FMOD, Kind.ERROR, id="raising", marks=pytest.mark.slow),
            pytest.param(DYING_FMOD, Kind.CRASH, id="dying", marks=pytest.mark.slow),
        ],
    )
    def test_a_call(self, source: str, kind: Kind) -> None:
        with opened(source, "torch:eager") as runner:
            item = prepared(runner, fmod())
        assert item.suspicion.kind is kind
        assert item.reproducer is not None
        assert item.reproducer.verified, item.reproducer.remark
        assert {array.size for array in item.suspicion.case.inputs.values()} == {1}
        assert item.draft is not None
        assert "Do not send this" in item.draft


@pytest.mark.onnxruntime
def test_a_script_that_shows_nothing_is_not_believed() -> None:
    with opened("harmless = True", "onnxruntime") as runner:
        silent = verify("import sys\nsys.exit(0)\n", runner.desk("onnxruntime"))
        stubborn = verify("import sys\nprint('observed: so')\nsys.exit(1)\n", runner.desk("onnxruntime"))
        broken = verify("raise ValueError('mine')\n", runner.desk("onnxruntime"))
    assert not any((silent.verified, stubborn.verified, broken.verified))
    assert silent.remark.startswith("it ended with 0 instead of 1")
    assert stubborn.remark == "without the planted fault it ended with 1 instead of 0: observed: so"
    assert broken.remark.startswith("it ended with an exception of its own instead of 1")


@pytest.mark.onnxruntime
def test_onnxruntime_by_its_own_means() -> None:
    build = GraphBuilder()
    x = build.add("Dense", build.input("x", (4,)), units=3)
    graph = build.build(build.add("ELU", x, name="elu"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((2, 4)).astype(np.float32)}
    case = Case(graph, inputs=inputs, weights=draw_weights(graph, rng))
    with opened(WRONG_ELU, "onnxruntime", "onnx:reference") as runner:
        item = prepared(runner, case)
        assert item.reproducer is not None
        assert item.reproducer.verified, item.reproducer.remark
        assert 'helper.make_node("Elu"' in item.reproducer.text
        assert "tensorparity" not in item.reproducer.text
        assert execute(item.reproducer.text, runner.desk("onnxruntime"), planted=True)[0] == 1


def test_scripts_see_nothing_of_ours() -> None:
    text = "import sys\nprint(sorted(m for m in sys.modules if 'tensorparity' in m))"
    with opened("", "torch:eager") as runner:
        assert execute(text, runner.desk("torch:eager"), planted=False) == (0, "[]")


def test_a_case_that_lacks_an_array_has_no_script() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (2,)), name="d", units=2))
    procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))
    case = Case(graph, procedure, {"x": np.ones((1, 2), np.float32)})
    diagnosis = Diagnosis(Class.DEFECT, ("keras:torch",), "d#0", "keras.layers.Dense", {"units": 2}, ())
    suspicion = Suspicion(Kind.ERROR, diagnosis, case, ("keras:torch",))
    outcomes = {"keras:torch": Outcome("keras:torch", Status.RAISED)}
    runner = SimpleNamespace(desk=lambda target: SimpleNamespace(spec=KERAS_TORCH))
    found = reproduce(cast("LocalRunner", runner), suspicion, outcomes, traits_of(outcomes))
    assert (found.script.text, found.script.remark) == ("", "no script: the case has no 'd/kernel'")


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
        pytest.param("jax", marks=pytest.mark.jax),
        pytest.param("torch", marks=pytest.mark.torch),
    ],
)
@pytest.mark.parametrize(("slope", "code"), [(2.0, 0), (3.0, 1)], ids=["fixed", "shown"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"], ids=["given bfloat16", "given float32"])
def test_a_gradient_in_mixed_precision(backend: str, slope: float, code: int, dtype: str) -> None:
    build = GraphBuilder()
    graph = build.build(build.add("LeakyReLU", build.input("x", (2,)), name="r", negative_slope=2.0))
    given = np.array([[-1.0, 0.1]]).astype(dtype_named(dtype))
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("r#0",), dtype="mixed_bfloat16"),
        inputs={"r#0/0": given},
        cotangents={"r#0": np.ones_like(given)},
    )
    target = f"keras:{backend}"
    expected = np.array([[slope, 1.0]]).astype(given.dtype)
    claim = Claim("gradients", "input:r#0/0", expected, 0.01, "us", observed=given)
    diagnosis = Diagnosis(Class.DEFECT, (target,), "r#0", "keras.layers.LeakyReLU")
    suspicion = Suspicion(Kind.INCONSISTENCY, diagnosis, case, (target,), stage=Stage.BACKWARD)
    text = render(suspicion, target, claim, traits_of([target]))
    with opened("", target) as runner:
        assert execute(text, runner.desk(target), planted=False) == (code, "observed: [[2.0, 1.0]]")
