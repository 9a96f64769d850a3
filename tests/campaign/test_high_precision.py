"""Every target beside a run in float64: by our reference, by a library, or not at all, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.comparison import Comparison
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.oracle import Answer
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.precision import HighPrecision
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.operators.reference.evaluate import count_products
from tensorparity.oracles import high_precision
from tensorparity.oracles.high_precision import MOST_INPUTS, worst_of
from tensorparity.oracles.high_precision import against_high_precision as asking
from tensorparity.targets.catalogue import traits_of

A, B, C = "fake:a", "fake:b", "keras:tensorflow"


@pytest.fixture
def inputs() -> dict[str, Array]:
    return {"x": np.random.default_rng(5).standard_normal((20, 6, 6, 2)).astype(np.float32)}


def pair(worst: int | None, difference: float) -> Comparison:
    verdict = Verdict(Judgement.UNDECIDED, (A, B), "x")
    return Comparison(A, B, "classes", verdict, 20, max_rel=difference, worst_input=worst)


def against_high_precision(
    runner: Any, model: Model, outcomes: Any, inputs: Mapping[str, Array], pairs: Any
) -> HighPrecision:
    """What is said once everything that it asks for was run."""
    done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    steps = asking(model, done, inputs, pairs, traits_of(runner.targets))
    try:
        checks = next(steps)
        while True:
            answers = []
            for check in checks:
                outcomes = runner.run_pairs([(check.case, target) for target in check.targets])
                answers.append(Answer(check, dict(zip(check.targets, outcomes, strict=True))))
            checks = steps.send(answers)
    except StopIteration as ended:
        return ended.value


def measure(runner: Any, model: Model, inputs: Mapping[str, Array], *pairs: Comparison) -> HighPrecision:
    cases = [(model.case(target, high_precision.Procedure(), inputs), target) for target in runner.targets]
    outcomes = dict(zip(runner.targets, runner.run_pairs(cases), strict=True))
    runner.ran.clear()
    return against_high_precision(runner, model, outcomes, inputs, pairs or (pair(3, 0.1),))


def test_a_target_that_is_off_is_further_from_the_truth(fake_runner: Any, classifier: Model, inputs: Any) -> None:
    runner = fake_runner(targets=(A, B), whole={B: lambda y: np.roll(y, 1, axis=1)})
    run = measure(runner, classifier, inputs, pair(3, 0.1), pair(11, 0.2))
    assert (run.by, run.inputs[:2], run.left_out) == ("our reference of every layer", (11, 3), "")
    assert len(run.inputs) == MOST_INPUTS
    good, bad = run.deviations
    assert (good.target, good.labels_changed) == (A, 0)
    assert good.max_rel < 1e-6 < 1e-2 < bad.max_rel
    assert bad.labels_changed == MOST_INPUTS
    assert runner.ran == [], "the reference is ours; no target is asked for it"


def test_a_target_that_did_not_complete_has_no_deviation(fake_runner: Any, classifier: Model, inputs: Any) -> None:
    run = measure(fake_runner(targets=(A, B), ends={B: Status.CRASHED}), classifier, inputs)
    assert [item.target for item in run.deviations] == [A]


def test_an_output_called_otherwise_in_a_file(fake_runner: Any, classifier: Model, inputs: Any) -> None:
    runner = fake_runner(targets=(A,))
    outcome = runner.run_pairs([(classifier.case(A, high_precision.Procedure(), inputs), A)])[0]
    renamed = Outcome(A, Status.COMPLETED, {"dense_1": next(iter(outcome.outputs.values()))})
    run = against_high_precision(runner, classifier, {A: renamed}, inputs, ())
    assert [(item.output, item.max_rel < 1e-6) for item in run.deviations] == [("dense_1", True)]


class TestCost:
    def test_fewer_inputs_where_each_costs_more(
        self, fake_runner: Any, classifier: Model, inputs: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert classifier.graph is not None
        monkeypatch.setattr(high_precision, "MOST_PRODUCTS", 2 * count_products(classifier.graph))
        pairs = [pair(index, 1.0 / index) for index in range(1, 6)]
        assert measure(fake_runner(targets=(A, B)), classifier, inputs, *pairs).inputs == (1, 2)

    def test_too_large_is_left_out_with_the_reason(
        self, fake_runner: Any, classifier: Model, inputs: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(high_precision, "MOST_PRODUCTS", 10)
        run = measure(fake_runner(targets=(A, B)), classifier, inputs)
        assert run.deviations == ()
        assert "products for one input, and no target here has float64" in run.left_out

    def test_a_library_in_float64_takes_over(
        self, fake_runner: Any, classifier: Model, inputs: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(high_precision, "MOST_PRODUCTS", 10)
        runner = fake_runner(targets=(A, C))
        run = measure(runner, classifier, inputs)
        assert run.by == "keras:tensorflow in float64"
        assert [item.target for item in run.deviations] == [A, C]
        ((ran,),) = ([*runner.ran],)
        assert (ran.target, ran.case.procedure.dtype) == (C, "float64")

    def test_but_not_with_too_many_weights(
        self, fake_runner: Any, classifier: Model, inputs: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(high_precision, "MOST_PRODUCTS", 10)
        monkeypatch.setattr(high_precision, "_MOST_WEIGHTS", 10)
        assert "too many" in measure(fake_runner(targets=(A, C)), classifier, inputs).left_out


class TestLeftOut:
    def test_a_layer_without_a_reference(self, fake_runner: Any, inputs: Any) -> None:
        build = GraphBuilder("mystery")
        model = Model("mystery", build.build(build.add("Mystery", build.input("x", (6, 6, 2)), name="mystery")))
        run = measure(fake_runner(targets=(A, B), custom={"Mystery": np.abs}), model, inputs)
        assert run.left_out == "Mystery has no float64 reference, and no target here has float64"

    def test_layers_that_are_not_known(self, fake_runner: Any, classifier: Model, inputs: Any) -> None:
        runner = fake_runner(targets=(A, B))
        run = against_high_precision(runner, replace(classifier, graph=None), {}, inputs, ())
        assert "not known" in run.left_out

    def test_a_library_that_fails_in_float64_says_why(
        self, fake_runner: Any, classifier: Model, inputs: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(high_precision, "MOST_PRODUCTS", 10)
        runner = fake_runner(
            targets=(A, C), ends={C: Status.RAISED}, fails_on=lambda case: case.procedure.dtype == "float64"
        )
        assert "does not feel like it" in measure(runner, classifier, inputs).left_out


def test_the_worst_inputs_are_few_and_distinct() -> None:
    values = np.ones((20, 1), np.float32)
    other = values + np.float32([[0.001 * index] for index in range(20)])
    outcomes = {
        A: Outcome(A, Status.COMPLETED, {"classes": values}),
        B: Outcome(B, Status.COMPLETED, {"classes": other}),
    }
    worst = worst_of([pair(3, 0.1), pair(None, 9.0), pair(3, 0.5), pair(7, 0.2)], outcomes)
    assert worst == [3, 7, 19, 18, 17, 16, 15, 14]
    assert len(worst_of([pair(index, 1.0) for index in range(20)], outcomes)) == MOST_INPUTS
    assert worst_of([], {}) == [0]


def test_products_of_known_layers() -> None:
    build = GraphBuilder("counted")
    x = build.add("Conv2D", build.input("x", (8, 8, 3)), filters=4, kernel_size=3, padding="same")
    x = build.add("Dense", build.add("Flatten", x), units=10)
    assert count_products(build.build(x)) == 8 * 8 * (3 * 3 * 3 * 4) + 8 * 8 * 4 * 10
    build = GraphBuilder("recurrent")
    graph = build.build(build.add("SimpleRNN", build.input("x", (7, 3)), units=5))
    assert count_products(graph) == 7 * (3 * 5 + 5 * 5)
