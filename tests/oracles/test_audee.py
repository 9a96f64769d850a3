"""Audee to the letter: labels, NaN, endings, and Algorithm 2 with its thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.engine import Ask
from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Judged, Setup
from tensorparity.core.place import CLEARS, TriedValue
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.reference.evaluate import declare_weights, draw_weights, evaluate
from tensorparity.oracles.audee_localization import T1, T2, fix
from tensorparity.oracles.audee_looking import ACCUSED, LABELS, NAN_LAYERS, TOP_RATE
from tensorparity.oracles.measure.rates import EPSILON
from tensorparity.reporting.words import sentence
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner

from ..conftest import NodeError

PAIR = ("fake:a", "fake:b")


def classifier() -> Case:
    build = GraphBuilder("small")
    x = build.add("Conv2D", build.input("x", (4, 4, 1)), name="conv", filters=2, kernel_size=3, padding="same")
    x = build.add("Dense", build.add("Flatten", x, name="flat"), name="hidden", units=3, activation="tanh")
    graph = build.build(build.add("Softmax", build.add("Dense", x, name="logits", units=2), name="classes"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((6, 4, 4, 1)).astype(np.float32)}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, rng))


def shifted(y: Array) -> Array:
    """Turned around and moved: another label, whatever the shape."""
    return np.asarray(np.float32(1.0) - np.float32(5.0) * y)


def judged(runner: Any, case: Case, oracle: str = "audee", settings: Mapping[str, object] | None = None) -> Judged:
    setup = Setup(0, PAIR, traits_of(PAIR))
    examiner = Examiner(runner, setup, settings={oracle: settings or {}})
    (found,) = examiner.examine([Ask(case, PAIR, (oracle,))])
    return found.judged


def test_the_constants_are_the_papers() -> None:
    assert (T1, T2, EPSILON) == (1000.0, 2.0, 1e-7)


def test_equal_labels_pass(fake_runner: Any) -> None:
    found = judged(fake_runner(targets=PAIR), classifier())
    assert not found.suspicions
    assert [verdict.judgement for verdict in found.verdicts] == [Judgement.PASS]


def test_another_label_is_an_inconsistency_and_algorithm_2_names_the_layer(fake_runner: Any) -> None:
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"logits": shifted}})
    found = judged(runner, classifier())
    (suspicion,) = found.suspicions
    assert suspicion.kind is Kind.INCONSISTENCY
    assert suspicion.diagnosis.suspects == PAIR
    assert suspicion.diagnosis.node == "logits#0"
    assert suspicion.diagnosis.klass is Class.DEFECT
    assert len(suspicion.case.inputs["x"]) == 1, "different inputs on one network are one inconsistency"


def test_below_t1_it_is_precision(fake_runner: Any) -> None:
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"logits": shifted}})
    found = judged(runner, classifier(), settings={"t1": 1e12})
    (suspicion,) = found.suspicions
    assert suspicion.diagnosis.klass is Class.PRECISION
    assert suspicion.diagnosis.node is None


@pytest.mark.parametrize(("t2", "guilty"), [(2.0, ["hidden#0"]), (1e12, ["hidden#0 (units)", "hidden#0 (use_bias)"])])
def test_t2_decides_what_is_gone(fake_runner: Any, t2: float, guilty: list[str]) -> None:
    """Nothing clears a fault of every value; a t2 beyond what tanh gives lets all clear that leave tanh there."""
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"hidden": shifted}})
    (suspicion,) = judged(runner, classifier(), settings={"t2": t2}).suspicions
    places = suspicion.diagnosis.evidence[-1].data["places"]
    assert isinstance(places, list)
    assert places == guilty


def test_nan_in_any_layer_is_one_and_labels_are_not_compared_then(fake_runner: Any) -> None:
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"hidden": lambda y: y * np.float32(np.nan)}})
    found = judged(runner, classifier())
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.node) == (Kind.NAN, "hidden#0")
    assert suspicion.diagnosis.suspects == ("fake:b",)


@pytest.mark.parametrize("row", [0, 3, 5])
def test_nan_of_any_input_is_seen_and_that_input_is_kept(fake_runner: Any, row: int) -> None:
    case = classifier()
    marked = case.inputs["x"][row]

    class OneRow(type(fake_runner())):  # type: ignore[misc]
        def _layer(self, node: Any, given: Any, case: Any, target: str, *rest: Any) -> Array:
            output = super()._layer(node, given, case, target, *rest)
            rows = np.array([np.array_equal(one, marked) for one in case.inputs.get("x", ())], bool)
            return np.where(rows[:, None], np.nan, output) if target == "fake:b" and node.name == "logits" else output

    found = judged(OneRow(targets=PAIR), case)
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.node) == (Kind.NAN, "logits#0")
    assert np.array_equal(suspicion.case.inputs["x"], case.inputs["x"][row : row + 1])
    assert found.measures[NAN_LAYERS] == {"fake:b": [1.0]}
    assert LABELS not in found.measures, "labels are compared only where nothing gave NaN"


def test_nan_of_a_hidden_layer_is_seen_on_inputs_that_show_it_alone(fake_runner: Any) -> None:
    """It does not reach the output."""
    case = classifier()
    marked = case.inputs["x"][4]

    class Hidden(type(fake_runner())):  # type: ignore[misc]
        def _layer(self, node: Any, given: Any, case: Any, target: str, *rest: Any) -> Array:
            output = super()._layer(node, [np.nan_to_num(array) for array in given], case, target, *rest)
            rows = np.array([np.array_equal(one, marked) for one in case.inputs.get("x", ())], bool)
            return np.where(rows[:, None], np.nan, output) if target == "fake:b" and node.name == "hidden" else output

    (suspicion,) = judged(Hidden(targets=PAIR), case).suspicions
    assert (suspicion.kind, suspicion.diagnosis.node) == (Kind.NAN, "hidden#0")
    assert np.array_equal(suspicion.case.inputs["x"], case.inputs["x"][4:5])


def test_nan_of_a_file_is_seen_in_its_outputs(fake_runner: Any) -> None:
    case = classifier()
    files = {"0" * 64: (case.subject, case.weights)}
    planted = {"fake:b": {"classes": lambda y: y * np.float32(np.nan)}}
    file = Case(ModelFile("m.onnx", "0" * 64, "onnx"), inputs=case.inputs)
    (suspicion,) = judged(fake_runner(targets=PAIR, planted=planted, files=files), file).suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects, suspicion.diagnosis.node) == (Kind.NAN, ("fake:b",), None)


@pytest.mark.parametrize("kind", [Kind.NAN, Kind.ERROR])
def test_a_parameter_whose_replacement_ends_a_failure_is_guilty(fake_runner: Any, kind: Kind) -> None:
    class WithTanh(type(fake_runner())):  # type: ignore[misc]
        def _layer(self, node: Any, given: Any, case: Any, target: str, *rest: Any) -> Array:
            fails = target == "fake:b" and node.params.get("activation") == "tanh"
            if fails and kind is Kind.ERROR:
                raise NodeError(node.key)
            output = super()._layer(node, given, case, target, *rest)
            return output * np.float32(np.nan) if fails else output

    (suspicion,) = judged(WithTanh(targets=PAIR), classifier()).suspicions
    assert (suspicion.kind, suspicion.diagnosis.node) == (kind, "hidden#0")
    data = suspicion.diagnosis.evidence[-1].data
    assert data["places"] == ["hidden#0 (activation)"]
    assert {one["outcome"] for one in data["tried"]["hidden#0"] if one["parameter"] == "units"} == {"persists"}  # type: ignore[index,call-overload]
    assert sentence(suspicion.diagnosis.evidence[-1]).startswith("another value of a parameter ends it")


@pytest.mark.parametrize("values", [1, 3])
def test_so_many_values_of_a_parameter_are_tried(fake_runner: Any, values: int) -> None:
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"hidden": shifted}})
    (suspicion,) = judged(runner, classifier(), settings={"values": values}).suspicions
    tried: Any = suspicion.diagnosis.evidence[-1].data["tried"]
    activations = [one["value"] for one in tried["hidden#0"] if one["parameter"] == "activation"]
    assert len(activations) == values + 1, "beside the default"


def test_what_takes_more_than_the_layer_accuses_no_parameter(fake_runner: Any) -> None:
    """Alone the layer gives numbers, so that every value would seem to end it."""

    class Deep(type(fake_runner())):  # type: ignore[misc]
        def _layer(self, node: Any, given: Any, case: Any, target: str, *rest: Any) -> Array:
            output = super()._layer(node, given, case, target, *rest)
            fails = target == "fake:b" and node.name == "hidden" and len(case.subject.nodes) > 1
            return output * np.float32(np.nan) if fails else output

    (suspicion,) = judged(Deep(targets=PAIR), classifier()).suspicions
    assert suspicion.diagnosis.evidence[-1].data["places"] == ["hidden#0"]


def test_what_ends_badly_where_another_completes_is_what_the_paper_calls_a_crash(fake_runner: Any) -> None:
    found = judged(fake_runner(targets=PAIR, raising={"fake:b": ["conv"]}), classifier())
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.ERROR, ("fake:b",))


def test_what_only_measures_convicts_nobody(fake_runner: Any) -> None:
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"logits": shifted}})
    found = judged(runner, classifier(), "audee_measures")
    assert not found.suspicions
    assert found.measures[LABELS]["fake:a|fake:b"][0] > 0
    assert found.measures[TOP_RATE]["fake:a|fake:b"][0] > T1
    assert found.measures[ACCUSED]["fake:a|fake:b"][0] >= 1
    assert found.told["top_layer"] == {"fake:a|fake:b": "logits#0"}


def test_a_layer_behind_one_that_another_kernel_clears_is_named_too(fake_runner: Any) -> None:
    """The weights of the cleared layer have another shape, and are drawn anew; one logit alone cannot be turned."""

    class OfKernelThree(type(fake_runner())):  # type: ignore[misc]
        def _layer(self, node: Any, given: Any, case: Any, target: str, *rest: Any) -> Array:
            output: Array = super()._layer(node, given, case, target, *rest)
            if target != "fake:b":
                return output
            larger = output * np.float32(1.5) if node.params.get("kernel_size") == 3 else output
            return larger[:, ::-1] if node.name == "logits" else larger

    (suspicion,) = judged(OfKernelThree(targets=PAIR), classifier(), settings={"t2": 20.0}).suspicions
    assert suspicion.diagnosis.evidence[-1].data["places"] == ["conv#0 (kernel_size)", "logits#0 (units)"]
    assert not suspicion.diagnosis.evidence[-1].data["unfixed"]


def test_a_layer_that_cannot_be_fixed_is_said() -> None:
    said = observed("paper-places", places=["conv#0"], tried={}, unfixed="conv#0", kind="inconsistency")
    assert sentence(said).endswith("behind conv#0 nobody looked, for it cannot be fixed")


class TestFixing:
    @pytest.fixture
    def case(self) -> Case:
        whole = classifier()
        return Case(whole.subject, inputs={"x": whole.inputs["x"][:1]}, weights=whole.weights)

    def nodes(self, case: Case) -> dict[str, Array]:
        assert isinstance(case.subject, LayerGraph)
        found = evaluate(case.subject, case.inputs, case.weights)
        return {key: outputs[0].value.astype(np.float32) for key, outputs in found.items()}

    def test_a_clearing_value_that_keeps_the_shape_is_set(self, case: Case) -> None:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        tried = (TriedValue("activation", "relu", CLEARS),)
        fixed = fix(case, graph.node("hidden"), self.nodes(case), tried)
        assert fixed is not None
        assert isinstance(fixed.subject, LayerGraph)
        assert fixed.subject.node("hidden").params["activation"] == "relu"

    @pytest.mark.parametrize(("parameter", "value"), [("kernel_size", 5), ("use_bias", False)])
    def test_weights_that_no_longer_fit_are_drawn_anew(self, case: Case, parameter: str, value: object) -> None:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        fixed = fix(case, graph.node("conv"), self.nodes(case), (TriedValue(parameter, value, CLEARS),))
        assert fixed is not None
        assert isinstance(fixed.subject, LayerGraph)
        declared = {name: own.shape for name, own in declare_weights(fixed.subject).items()}
        assert {name: array.shape for name, array in fixed.weights.items()} == declared
        assert fixed.weights["hidden/kernel"] is case.weights["hidden/kernel"]

    def test_without_a_reference_both_get_what_one_target_gave(self, case: Case) -> None:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        nodes = self.nodes(case)
        unknown = Case(graph, inputs={}, weights=case.weights)
        fixed = fix(unknown, graph.node("conv"), nodes, ())
        assert fixed is not None
        assert np.array_equal(fixed.inputs["conv"], nodes["conv#0"])

    def test_else_both_get_the_references_output(self, case: Case) -> None:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        for tried in ((TriedValue("units", 1, CLEARS),), ()):
            fixed = fix(case, graph.node("hidden"), self.nodes(case), tried)
            assert fixed is not None
            assert isinstance(fixed.subject, LayerGraph)
            assert [item.name for item in fixed.subject.inputs] == ["hidden"]
            assert np.allclose(self.nodes(fixed)["classes#0"], self.nodes(case)["classes#0"], atol=1e-6)

    def test_nothing_stands_behind_the_last_layer(self, case: Case) -> None:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        assert fix(case, graph.node("classes"), self.nodes(case), ()) is None
