"""From a wrong layer to the function below it: what counts as a step down, and what is filed then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.distinct import Distinct
from tensorparity.campaign.filing import make_finding
from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.engine import Ask
from tensorparity.core.errors import OutOfTimeError
from tensorparity.core.finding import Class, Finding
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.oracles.function_alone import truth_of
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.descend import descend
from tensorparity.triage.examine import Examiner
from tensorparity.triage.explanations import Explanations, cluster_of
from tensorparity.triage.known_differences import KnownDifference
from tensorparity.triage.reduction.preparation import Preparation, Prepared, ReducingSettings, reduce_suspicion
from tensorparity.triage.reduction.reducer import ReductionBudget

KERAS, TORCH = "keras.ops.relu", "torch.nn.functional.relu"
WRONG, RIGHT = "keras:torch", "keras:jax"
LAYERS = (WRONG, RIGHT)
EVERYBODY = (*LAYERS, "torch:eager")
X = np.array([[-1.0, 2.0, 3.0]], np.float32)


def relu_layer(op: str = "ReLU") -> Case:
    build = GraphBuilder(op)
    return Case(build.build(build.add(op, build.input("x", (3,)), name="layer")), inputs={"x": X})


class Below:
    """Targets on which the layer calls keras.ops.relu, and that calls torch's.

    Args:
        wrong: public names that add a half on ``WRONG`` (and in torch itself); ``glue`` is the layer's own code.
    """

    def __init__(self, *wrong: str) -> None:
        self.wrong = wrong
        self.targets = EVERYBODY
        self.recorded = 0

    def _function(self, api: str, x: Array, target: str) -> Array:
        off = api in self.wrong or (api == KERAS and TORCH in self.wrong)
        return np.asarray(np.maximum(x, 0) + 0.5 * (off and target != RIGHT), x.dtype)

    def _layer(self, case: Case, target: str) -> Outcome:
        x = case.inputs["x"]
        value = case.answers.get("0/0", case.answers.get("1/0", self._function(KERAS, x, target)))
        outputs = {"layer": np.asarray(value + 0.5 * ("glue" in self.wrong and target == WRONG), x.dtype)}
        if not case.procedure.calls or case.answers:
            return Outcome(target, Status.COMPLETED, outputs)
        self.recorded += 1
        entries = [self._entry(KERAS, None), self._entry(TORCH, 0)]
        nodes = {f"call:{number}/in/a0": x for number in (0, 1)}
        nodes |= {f"call:{n}/out/0": self._function(api, x, target) for n, api in enumerate((KERAS, TORCH))}
        return Outcome(target, Status.COMPLETED, outputs, Trace(nodes=nodes), reply={"calls": entries})

    def _entry(self, api: str, parent: int | None) -> dict[str, Any]:
        call = {"args": [{"$array": "a0"}], "kwargs": {}, "outputs": 1, "raised": False, "problem": ""}
        return {"api": api, "parent": parent, **call}

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        if not isinstance(case.subject, ApiCall):
            return self._layer(case, target)
        (x,) = case.inputs.values()
        return Outcome(target, Status.COMPLETED, {"0": self._function(case.subject.api, x, target)})


def examiner(runner: Below) -> Examiner:
    return Examiner(runner, Setup(targets=LAYERS, traits=traits_of(EVERYBODY)))


def reduced(runner: Below, case: Case | None = None) -> Suspicion:
    (examined,) = examiner(runner).examine([Ask(case or relu_layer(), LAYERS)])
    (suspicion,) = examined.judged.suspicions
    return replace(suspicion, reduced=True)


def below(*wrong: str) -> Suspicion | None:
    runner = Below(*wrong)
    return descend(examiner(runner), reduced(runner))


class TestAStepDown:
    def test_a_function_that_fails_alone_and_whose_right_answer_repairs_the_layer(self) -> None:
        found = below(KERAS)
        assert found is not None
        assert found.diagnosis.api == KERAS
        assert found.diagnosis.suspects == (WRONG,)
        assert found.stage is Stage.CALL
        assert isinstance(found.case.subject, ApiCall)
        assert np.array_equal(found.case.inputs["a0"], X)

    def test_says_whose_code_it_is_and_what_below_it_is_right(self) -> None:
        found = below(KERAS)
        assert found is not None
        (said,) = [text for text in sentences(found.diagnosis) if "in its place" in text]
        assert "keras.layers.ReLU" in said
        assert "the code that is wrong is Keras's" in said
        assert f"{TORCH} below it gave the right answers" in said

    def test_goes_down_to_the_library(self) -> None:
        found = below(TORCH)
        assert found is not None
        assert found.diagnosis.api == TORCH
        assert found.diagnosis.suspects == ("torch:eager",)
        assert any("the code that is wrong is PyTorch's" in text for text in sentences(found.diagnosis))

    def test_the_layers_own_code_is_no_functions(self) -> None:
        assert below("glue") is None

    def test_a_function_whose_right_answer_repairs_nothing_is_another_defect(self) -> None:
        assert below(KERAS, "glue") is None

    @pytest.mark.parametrize("kind", [Kind.CRASH, Kind.HANG, Kind.ACCEPTS_INVALID])
    def test_what_no_recording_tells_is_not_recorded(self, kind: Kind) -> None:
        runner = Below(KERAS)
        suspicion = replace(reduced(runner), kind=kind)
        assert descend(examiner(runner), suspicion) is None
        assert descend(examiner(runner), replace(reduced(runner), stage=Stage.BACKWARD)) is None
        assert runner.recorded == 0


class TestArgumentsThatTheLayerNeeds:
    @pytest.mark.parametrize(("needs", "left"), [((), []), (("max_value",), ["max_value"])])
    def test_reduction_leaves_them(self, needs: tuple[str, ...], left: list[str]) -> None:
        found = below(KERAS)
        assert found is not None
        assert isinstance(found.case.subject, ApiCall)
        call = replace(found.case.subject, kwargs={"max_value": None})
        asked = replace(found, case=replace(found.case, subject=call), needs=needs)
        reduction = reduce_suspicion(examiner(Below(KERAS)), asked, ReductionBudget())
        assert isinstance(reduction.case.subject, ApiCall)
        assert list(reduction.case.subject.kwargs) == left


ACTIVATION = "keras.activations.relu"


class TestAnActivationCalledByItself:
    """It is the function of ``keras.ops`` under another name, and so one defect with it."""

    def lower(self, *wrong: str, **procedure: Any) -> Suspicion | None:
        runner = Below(*wrong)
        call = Case(ApiCall(ACTIVATION, (ArrayArg("x"),)), Procedure(goal=Goal.CALL), {"x": X})
        suspicion = reduced(runner, call)
        changed = replace(call, procedure=replace(call.procedure, **procedure))
        return descend(examiner(runner), replace(suspicion, case=changed))

    def test_is_filed_under_the_function_that_gives_the_same(self) -> None:
        found = self.lower(ACTIVATION, KERAS)
        assert found is not None
        assert found.diagnosis.api == KERAS
        assert found.diagnosis.suspects == (WRONG,)
        assert f"{ACTIVATION} passes its arguments on to {KERAS}, which gives the same wrong answer" in sentences(
            found.diagnosis
        )

    def test_what_the_function_does_not_show_is_its_own(self) -> None:
        assert self.lower(ACTIVATION) is None

    def test_gradients_are_not_told_by_answers(self) -> None:
        assert self.lower(ACTIVATION, KERAS, derivative=1) is None


def test_an_activation_is_known_under_its_name_in_ops() -> None:
    x = np.array([[1.0, 0.5, -3.0]], np.float32)
    case = Case(ApiCall("keras.ops.sparsemax", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), {"x": x})
    assert truth_of(case)["0"].value.tolist() == [[0.75, 0.25, 0.0]]
    default = Case(ApiCall("keras.ops.gelu", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), {"x": x})
    assert truth_of(default) == {}  # which of two formulas it has by default, no declaration says


def prepared(runner: Below, *cases: Case, **settings: Any) -> list[Prepared]:
    examine = examiner(runner)
    found = examine.examine([Ask(case, LAYERS) for case in cases])
    suspicions = [s for item in found for s in item.judged.suspicions if s.diagnosis.klass is Class.DEFECT]
    preparation = Preparation(runner, examine, ReducingSettings(scripts=False, **settings))  # type: ignore[arg-type]
    return preparation.reduce(suspicions)


def filed(item: Prepared) -> Finding:
    return make_finding(item.suspicion, "muffin", {}, "", item.original, traits_of(EVERYBODY), item.above)


class TestWhatIsFiled:
    def test_the_function_with_the_layer_it_is_reached_through(self) -> None:
        (item,) = prepared(Below(KERAS), relu_layer())
        assert item.is_reduced
        finding = filed(item)
        assert finding.diagnosis.api == KERAS
        assert finding.reached_through == ("keras.layers.ReLU",)
        assert finding.reduced is True

    def test_the_finding_is_still_the_one_that_was_found(self) -> None:
        (item,), (layer,) = prepared(Below(KERAS), relu_layer()), prepared(Below("glue"), relu_layer())
        assert layer.above is None
        assert filed(item).id == filed(layer).id

    def test_no_time_for_it_files_the_layer(self) -> None:
        runner = Below(KERAS)
        (item,) = prepared(runner, relu_layer(), descending=0.0)
        assert item.above is None
        assert item.suspicion.diagnosis.api == "keras.layers.ReLU"
        assert runner.recorded == 0

    def test_two_layers_of_one_function_are_one_finding(self) -> None:
        items = prepared(Below(KERAS), relu_layer(), activation("relu"))
        assert [item.suspicion.diagnosis.api for item in items] == [KERAS, KERAS]
        distinct = Distinct()
        kept = distinct.of([(filed(item), item) for item in items])
        assert len(kept) == 1
        signature = items[0].suspicion.signature
        assert distinct.again[signature] == 1
        assert "keras.layers.Activation" in distinct.reached_through[signature]
        assert len({cluster_of(item.suspicion, traits_of(EVERYBODY)) for item in items}) == 1


def activation(name: str) -> Case:
    build = GraphBuilder("network")
    graph = build.build(build.add("Activation", build.input("x", (3,)), name="layer", activation=name))
    return Case(graph, inputs={"x": X})


class TestTheSignatureOfTheLayer:
    def test_what_was_accepted_under_it_stays_accepted(self) -> None:
        (before,) = prepared(Below(KERAS), relu_layer(), descending=0.0)
        (item,) = prepared(Below(KERAS), relu_layer())
        finding, old = filed(item), before.suspicion.signature
        assert finding.signature != old
        assert KnownDifference("rounding", signature=old).matches(finding)
        assert KnownDifference("rounding", pattern="inconsistency/*/ReLU/*").matches(finding)
        assert not KnownDifference("rounding", pattern="inconsistency/*/ELU/*").matches(finding)

    def test_is_kept_in_the_store(self) -> None:
        (item,) = prepared(Below(KERAS), relu_layer())
        finding = filed(item)
        assert finding.aliases
        assert Finding.from_json(finding.to_stored()).aliases == finding.aliases
        assert "aliases" not in finding.to_json()

    def test_of_a_layer_that_was_merged_is_accepted_too(self) -> None:
        items = prepared(Below(KERAS), relu_layer(), activation("relu"))
        distinct = Distinct()
        distinct.of([(filed(item), item) for item in items])
        assert items[1].above is not None
        assert items[1].above.signature in distinct.aliases[items[0].suspicion.signature]

    def test_a_layer_explains_others_as_what_it_was_filed_as(self) -> None:
        runner = Below(KERAS)
        (item,) = prepared(runner, relu_layer())
        assert item.above is not None
        known = Explanations(examiner(runner))
        known.learn([item.above], item.suspicion.signature)
        assert known.filed_as(item.above.signature) == item.suspicion.signature
        assert known.filed_as("another") == "another"


def test_what_is_confirmed_is_prepared_when_no_time_is_left_to_explain_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_time(self: Explanations, suspicions: Sequence[Suspicion]) -> list[tuple[Suspicion, str]]:
        raise OutOfTimeError

    monkeypatch.setattr(Explanations, "of", no_time)
    (item,) = prepared(Below("glue"), relu_layer())
    assert item.suspicion.diagnosis.api == "keras.layers.ReLU"


def test_a_look_below_that_goes_wrong_leaves_the_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Below(KERAS)
    monkeypatch.setattr(runner, "_entry", lambda *_: {"api": KERAS})  # a recording that lacks what it must say
    (item,) = prepared(runner, relu_layer())
    assert item.is_reduced
    assert item.above is None
    assert item.suspicion.diagnosis.api == "keras.layers.ReLU"
