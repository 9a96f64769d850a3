"""Arbiters: asked only about layers that the targets dispute, part of the vote, never of the pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.commands.whole_models import ExaminedModel as Examined
from tensorparity.commands.whole_models import ModelExaminer
from tensorparity.core.arrays import Array
from tensorparity.core.case import ModelFile
from tensorparity.core.errors import UsageError
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.procedure import Goal
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Judgement
from tensorparity.targets.environments import Inventory
from tensorparity.targets.selection import arbiters_for, choose_for_model

A, B, ARBITER = "fake:a", "fake:b", "fake:slow"
FILE = ModelFile("mystery.bin", "0" * 64, "fake")


def mystery() -> Model:
    build = GraphBuilder("mystery")
    build.add("Mystery", build.input("x", (6,)), name="first")
    graph = build.build(build.add("Mystery", build.add("Mystery", build.input("z", (6,)), name="second"), name="third"))
    return Model("mystery", graph, file=FILE, files=dict.fromkeys([A, B, ARBITER], FILE))


@pytest.fixture
def examine(fake_runner: Any) -> Any:
    """Examine the mystery on two targets with an arbiter; what goes wrong is planted per target and layer."""
    model = mystery()

    def run(planted: dict[str, Any], arbiters: tuple[str, ...] = (ARBITER,)) -> tuple[Examined, Any]:
        inside = {FILE.sha256: (model.graph, {})}
        runner = fake_runner(targets=(A, B), custom={"Mystery": lambda x: x * 2}, planted=planted, files=inside)
        rng = np.random.default_rng(0)
        inputs = {name: rng.standard_normal((4, 6)).astype(np.float32) for name in "xz"}
        traits = Traits({target: TargetTraits(target, reads=("fake",)) for target in (A, B)})
        examiner = ModelExaminer(runner, model, (A, B), traits, settings={"arbiters": arbiters})
        return examiner.examine(inputs, {}), runner

    return run


def off(by: float) -> Any:
    def change(array: Array) -> Array:
        return array + np.float32(by)

    return change


def asked(runner: Any) -> list[tuple[str, ...]]:
    return [ran.case.procedure.nodes for ran in runner.ran if ran.target == ARBITER]


def test_it_settles_a_dispute(examine: Any) -> None:
    examined, runner = examine({B: {"second": off(0.1)}})
    (suspicion,) = examined.suspicions
    assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.DEFECT, (B,))
    assert suspicion.diagnosis.node == "second#0"
    assert suspicion.targets == (A, B, ARBITER)
    assert [(c.a, c.b, c.verdict.judgement) for c in examined.comparisons] == [(A, B, Judgement.FAIL)]
    assert examined.notes == [f"{ARBITER} was asked about 1 layer that the targets dispute"]
    assert set(asked(runner)) == {("second#0",)}
    own = [ran for ran in runner.ran if ran.target == ARBITER]
    assert all(ran.case.procedure.goal is Goal.REPLAY for ran in own)
    assert own[0].deadline_factor < 1.0


def test_without_it_nobody_is_blamed(examine: Any) -> None:
    examined, _ = examine({B: {"second": off(0.1)}}, arbiters=())
    assert examined.suspicions == []
    (comparison,) = examined.comparisons
    assert comparison.verdict.judgement is Judgement.UNDECIDED
    assert comparison.verdict.reason == "outputs differ, and nothing can judge Mystery: give three targets or more"


def test_it_is_not_asked_where_all_agree(examine: Any) -> None:
    examined, runner = examine({})
    assert (examined.suspicions, asked(runner)) == ([], [])


def test_three_opinions_blame_nobody(examine: Any) -> None:
    examined, _ = examine({B: {"second": off(0.1)}, ARBITER: {"second": off(0.2)}})
    assert examined.suspicions == []
    assert examined.comparisons[0].verdict.reason.endswith("the targets vote, but do not agree")


def test_an_arbiter_that_is_wrong_blames_nobody_else(examine: Any) -> None:
    examined, _ = examine({B: {"second": off(0.1)}, ARBITER: {"second": lambda y: y[:, :-1]}})
    assert all(set(suspicion.diagnosis.suspects) <= {A, B} for suspicion in examined.suspicions)
    assert examined.suspicions == []


class TestSelection:
    @pytest.fixture(autouse=True)
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What is installed, by what targets need; tests change it."""
        there = ["keras", "jax", "tensorflow", "onnx", "onnxruntime", "openvino"]
        monkeypatch.setattr(Inventory, "missing", lambda _, spec: [d for d in spec.distributions if d not in there])
        return there

    def test_onnx_files_get_the_runtimes(self) -> None:
        found = choose_for_model("model.onnx", None)
        assert found.targets == ["onnxruntime", "openvino"]
        assert found.notes == ("left out, for they run no ONNX files: keras:jax, keras:tensorflow",)

    def test_one_runtime_is_compared_with_the_reference(self, installed: list[str]) -> None:
        installed.remove("openvino")
        assert set(choose_for_model("model.onnx", None).targets) == {"onnxruntime", "onnx:reference"}

    def test_one_alone_is_too_few(self, installed: list[str]) -> None:
        installed.remove("openvino")
        installed.remove("onnx")
        with pytest.raises(UsageError, match="only onnxruntime is here"):
            choose_for_model("model.onnx", None)

    def test_arbiters(self) -> None:
        assert arbiters_for(["onnxruntime", "openvino"]) == ["onnx:reference"]
        assert arbiters_for(["onnxruntime", "onnx:reference"]) == []
        assert arbiters_for(["keras:jax", "keras:tensorflow"]) == ["keras:numpy"]
        assert arbiters_for(["torch:eager"]) == []
