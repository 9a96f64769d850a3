"""Scripts for layers in native torch: their text, and what they do when they are executed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Kind
from tensorparity.operators.reference.evaluate import draw_weights, evaluate
from tensorparity.targets.lowering.pytorch import lower_to_torch
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.reproduce.literals import Unprintable
from tensorparity.triage.reproduce.script import assemble
from tensorparity.triage.reproduce.torch_scripts import torch_graph_parts


def _graph() -> LayerGraph:
    build = GraphBuilder("rows")
    x = build.input("x", (4, 3))
    return build.build(build.add("LSTM", x, name="lstm", units=2, activation="tanh"))


def _case(procedure: Procedure | None = None, **arrays: Any) -> Case:
    graph, rng = _graph(), np.random.default_rng(0)
    x = np.round(rng.normal(0, 1, (2, 4, 3)), 2).astype(np.float32)
    weights = {name: np.round(array, 2) for name, array in draw_weights(graph, rng).items()}
    inputs = {"lstm#0/0": x} if procedure else {"x": x}
    return Case(graph, procedure or Procedure(), inputs, weights=weights, **arrays)


def _script(case: Case, claim: Claim | None, flavour: str = "eager") -> str:
    lowered = lower_to_torch(case)
    assert isinstance(lowered, tuple), lowered
    parts = torch_graph_parts(*lowered, flavour, claim, watched=False)
    return assemble("A title.", Kind.INCONSISTENCY, parts, claim)


def _claim(case: Case, *, off: float) -> Claim:
    truth = evaluate(_graph(), case.inputs, case.weights)["lstm#0"][0].value
    return Claim("outputs", "lstm", truth + off, 1e-5, "the reference", observed=truth)


def _run(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


def test_every_call_is_a_line() -> None:
    text = _script(_case(), _claim(_case(), off=0.0))
    assert "torch.lstm(x0, [t" in text
    assert "x0 = torch.from_numpy(np.array([[[" in text
    assert text.count("torch.from_numpy") == 4  # the input and three weights


def test_a_compiled_program_is_a_function() -> None:
    text = _script(_case(), _claim(_case(), off=0.0), "compile")
    assert "@torch.compile\ndef model(" in text


def test_slices_are_no_script() -> None:
    lowered = lower_to_torch(Case(_graph(), Procedure(batch_size=1), _case().inputs, weights=_case().weights))
    assert isinstance(lowered, tuple)
    with pytest.raises(Unprintable, match="slices"):
        torch_graph_parts(*lowered, "eager", None, watched=False)


@pytest.mark.torch
@pytest.mark.parametrize(("off", "code"), [(0.0, 0), (0.5, 1)])
def test_the_script_ends_as_the_claim_says(off: float, code: int) -> None:
    ended = _run(_script(_case(), _claim(_case(), off=off)))
    assert ended.returncode == code, ended.stderr
    assert "observed" in ended.stdout


@pytest.mark.torch
def test_a_gradient_is_pulled_back() -> None:
    cotangent = np.ones((2, 2), np.float32)
    case = _case(Procedure(goal=Goal.REPLAY, nodes=("lstm#0",)), cotangents={"lstm#0": cotangent})
    weight = "weight:lstm/lstm_cell/bias"
    claim = Claim("gradients", weight, np.zeros(8), 1e-5, "nobody", observed=np.ones(8))
    text = _script(case, claim)
    assert "torch.autograd.grad(" in text
    ended = _run(text)
    assert ended.returncode == 1, ended.stderr
    assert "observed: [" in ended.stdout
