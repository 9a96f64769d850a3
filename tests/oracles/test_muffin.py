"""Section 3.3 of the paper on handmade traces: what counts, and where."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Judgement, Stage
from tensorparity.oracles.muffin import SWEEP, by_threshold, chebyshev, inconsistencies, judge_pair, odd_ones


@pytest.fixture
def graph():
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    a = builder.add("Dense", x, name="a", units=2)
    b = builder.add("ReLU", a, name="b")
    c = builder.add("Softmax", b, name="c")
    return builder.build(c)


def outcome(target="one", **changes):
    """A step in which everything is zero, except what ``changes`` says: ``a``, ``grad_a``, ``loss``, ..."""
    nodes = {f"{name}#0": np.full(2, changes.get(name, 0.0)) for name in "abc"}
    gradients = {f"node:{name}#0": np.full(2, changes.get(f"grad_{name}", 0.0)) for name in "abc"}
    gradients["input:x"] = np.full(2, changes.get("grad_x", 0.0))
    gradients["weight:a/kernel"] = np.full(2, changes.get("grad_kernel", 0.0))
    trace = Trace(nodes, changes.get("loss", 0.0), gradients)
    return Outcome(target, Status.COMPLETED, {"c": nodes["c#0"]}, trace)


def places(graph, one, two, **settings):
    return [(item.stage, item.layer) for item in inconsistencies(graph, "MSE", one, two, **settings)]


def test_equation_2():
    assert chebyshev(np.array([1.0, 2.0]), np.array([1.5, 1.0])) == 1.0
    assert chebyshev(np.array([np.nan]), np.array([np.nan])) == 0.0
    assert chebyshev(np.array([np.nan]), np.array([1.0])) == math.inf
    assert chebyshev(np.zeros(2), np.zeros(3)) == math.inf


def test_forward_counts_where_the_difference_arises(graph):
    assert places(graph, outcome(), outcome("two", b=0.2, c=0.2)) == [(Stage.FORWARD, "ReLU")]


def test_forward_does_not_count_what_was_different_before(graph):
    found = places(graph, outcome(), outcome("two", a=2e-5, b=0.2, c=0.2))
    assert found == []


def test_forward_needs_more_than_the_threshold(graph):
    assert places(graph, outcome(), outcome("two", b=0.15)) == []
    assert places(graph, outcome(), outcome("two", b=0.1, c=0.1), threshold=0.05) == [(Stage.FORWARD, "ReLU")]


def test_loss_fires_on_its_value_or_its_gradient_if_the_outputs_agree(graph):
    assert (Stage.LOSS, "MSE") in places(graph, outcome(), outcome("two", loss=0.2))
    assert (Stage.LOSS, "MSE") in places(graph, outcome(), outcome("two", grad_c=0.2))
    assert (Stage.LOSS, "MSE") not in places(graph, outcome(), outcome("two", c=1e-4, loss=0.2))


def test_backward_counts_the_layer_that_pulled_the_gradient_back(graph):
    assert places(graph, outcome(), outcome("two", grad_a=0.2, grad_x=0.2)) == [(Stage.BACKWARD, "ReLU")]
    assert places(graph, outcome(), outcome("two", grad_b=0.2)) == [(Stage.BACKWARD, "Softmax")]
    assert places(graph, outcome(), outcome("two", grad_x=0.2)) == [(Stage.BACKWARD, "Dense")]
    assert places(graph, outcome(), outcome("two", grad_kernel=0.2)) == [(Stage.BACKWARD, "Dense")]


def test_backward_only_if_the_loss_agrees(graph):
    assert places(graph, outcome(), outcome("two", grad_a=0.2, loss=1e-4)) == []


def test_an_absent_gradient_is_zero(graph):
    two = outcome("two")
    gradients = {name: array for name, array in two.trace.gradients.items() if name != "node:a#0"}
    assert places(graph, outcome(), replace(two, trace=replace(two.trace, gradients=gradients))) == []
    assert places(graph, outcome(grad_a=1.0, grad_x=1.0), replace(two, trace=replace(two.trace, gradients=gradients)))


def test_nan_on_one_side_is_told_apart(graph):
    (found,) = inconsistencies(graph, "MSE", outcome(), outcome("two", b=np.nan))
    assert found.nan
    assert inconsistencies(graph, "MSE", outcome(b=np.nan, c=np.nan), outcome("two", b=np.nan, c=np.nan)) == []


@pytest.mark.parametrize(
    ("changes", "stage"),
    [({"loss": np.nan}, Stage.LOSS), ({"grad_c": np.inf}, Stage.LOSS), ({"grad_x": np.nan}, Stage.BACKWARD)],
    ids=["loss", "its gradient", "a gradient"],
)
def test_nan_of_a_later_stage_is_told_apart_too(graph, changes, stage):
    found = next(i for i in inconsistencies(graph, "MSE", outcome(), outcome("two", **changes)) if i.stage is stage)
    assert (found.nan, found.broken) == (True, "two")


def test_a_failed_target_is_not_compared(graph):
    assert inconsistencies(graph, "MSE", outcome(), Outcome("two", Status.RAISED)) == []


def voted(graph, outcomes):
    found = [item for a, b in combinations(outcomes, 2) for item in inconsistencies(graph, "MSE", a, b)]
    return found, odd_ones(found, {outcome.target: outcome for outcome in outcomes})


def test_the_vote_names_the_odd_one(graph):
    three = [outcome("one"), outcome("two", b=0.5), outcome("three")]
    found, odd = voted(graph, three)
    assert odd == {(Stage.FORWARD, "ReLU", "b#0"): ("two",)}
    assert voted(graph, three[:2])[1] == {}, "of two, nobody is odd"
    assert voted(graph, [*three[:2], Outcome("three", Status.RAISED)])[1] == {}
    assert judge_pair(found, "one", "two").judgement is Judgement.FAIL
    assert judge_pair(found, "one", "three").judgement is Judgement.PASS


@pytest.mark.parametrize(
    ("wrong", "place"),
    [({"loss": 0.5}, (Stage.LOSS, "MSE", "")), ({"grad_a": 0.5, "grad_x": 0.5}, (Stage.BACKWARD, "ReLU", "b#0"))],
)
def test_who_was_run_forward_only_has_no_vote_in_later_stages(graph, wrong, place):
    ran_forward = outcome("forward")
    ran_forward = replace(ran_forward, trace=Trace(ran_forward.trace.nodes))
    three = [outcome("one"), outcome("two", **wrong), outcome("three")]
    assert voted(graph, [*three, ran_forward])[1] == {place: ("two",)}
    assert voted(graph, [*three[:2], ran_forward])[1] == {}, "two that have a loss are no majority"


def test_who_was_run_forward_only_votes_forward(graph):
    ran_forward = replace(outcome("forward"), trace=Trace(outcome().trace.nodes))
    assert voted(graph, [outcome("one"), outcome("two", b=0.5), ran_forward])[1] == {
        (Stage.FORWARD, "ReLU", "b#0"): ("two",)
    }


def test_fewer_for_a_larger_threshold(graph):
    found = inconsistencies(graph, "MSE", outcome(), outcome("two", b=0.05), min(SWEEP))
    counts = {threshold: len(above) for threshold, above in by_threshold(found).items()}
    assert counts == {threshold: int(threshold < 0.05) for threshold in SWEEP}


def test_the_papers_threshold_and_epsilon(graph):
    """Section 4.4: t = 0.15 and epsilon = 1e-5, both strict."""
    assert places(graph, outcome(), outcome("two", b=0.1501, c=0.1501)) == [(Stage.FORWARD, "ReLU")]
    assert places(graph, outcome(), outcome("two", b=0.1499, c=0.1499)) == []
    assert places(graph, outcome(), outcome("two", a=0.99e-5, b=0.2, c=0.2)) == [(Stage.FORWARD, "ReLU")]
    assert places(graph, outcome(), outcome("two", a=1.01e-5, b=0.2, c=0.2)) == []


@pytest.mark.parametrize("wrong", [("keras:torch", "torch:eager"), ("keras:torch",)], ids=["kernel", "front end"])
def test_targets_of_one_library_have_one_vote(graph, wrong):
    traits = Traits(
        {
            name: TargetTraits(name, library=library)
            for name, library in [("keras:torch", "torch"), ("torch:eager", "torch"), ("a", "a"), ("b", "b")]
        }
    )
    outcomes = [outcome(name, b=0.5 if name in wrong else 0.0) for name in traits]
    found = [item for a, b in combinations(outcomes, 2) for item in inconsistencies(graph, "MSE", a, b)]
    named = {one.target: one for one in outcomes}
    assert odd_ones(found, named, traits) == {(Stage.FORWARD, "ReLU", "b#0"): wrong}


def test_two_of_one_library_are_no_majority(graph):
    traits = Traits({name: TargetTraits(name, library="torch") for name in ("one", "two")})
    outcomes = [outcome("one"), outcome("two"), outcome("three", b=0.5)]
    found = [item for a, b in combinations(outcomes, 2) for item in inconsistencies(graph, "MSE", a, b)]
    assert odd_ones(found, {one.target: one for one in outcomes}, traits) == {}
