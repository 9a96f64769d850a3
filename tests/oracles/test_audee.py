"""Audee to the letter: labels, NaN, endings, and Algorithm 2 with its thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Judged, Setup
from tensorparity.core.place import CLEARS, TriedValue
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.reference.evaluate import draw_weights, evaluate
from tensorparity.oracles.audee import ACCUSED, LABELS, TOP_RATE
from tensorparity.oracles.audee_localization import T1, T2, fix
from tensorparity.oracles.measure.rates import EPSILON
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner

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


def test_t2_decides_what_is_gone(fake_runner: Any) -> None:
    """With the fault in every value nothing clears; a t2 beyond it lets every value clear."""
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"Dense": lambda y: y + np.float32(0.5)}})
    case = classifier()
    strict = judged(runner, case, settings={"t2": 2.0}).suspicions
    loose = judged(runner, case, settings={"t2": 1e12}).suspicions
    said = [str(s.diagnosis.evidence[-1].data["places"]) for found in (strict, loose) for s in found]  # type: ignore[union-attr]
    if said:
        assert "units" not in said[0]
        assert "units" in said[-1]


def test_nan_in_any_layer_is_one_and_labels_are_not_compared_then(fake_runner: Any) -> None:
    runner = fake_runner(targets=PAIR, planted={"fake:b": {"hidden": lambda y: y * np.float32(np.nan)}})
    found = judged(runner, classifier())
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.node) == (Kind.NAN, "hidden#0")
    assert suspicion.diagnosis.suspects == ("fake:b",)


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
