"""Who is blamed for what, from errors planted in fake targets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.verdict import Kind
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.diagnose import Accusation, accuse, doubts
from tensorparity.oracles.measure.node_errors import VOTE_MARGIN, NodeErrors
from tensorparity.reporting.words import sentences

Measure = Callable[..., dict[str, NodeErrors]]
TARGETS = ("fake:a", "fake:b", "fake:c")
KERAS = dict.fromkeys(TARGETS, "keras")


def bump(by: float = 0.01) -> Callable[[Array], Array]:
    return lambda array: array + np.float32(by)


def accused(measured: dict[str, NodeErrors], families: dict[str, str] | None = None) -> list[Accusation]:
    return accuse(list(measured.values()), KERAS if families is None else families)


def test_nobody_is_blamed_where_nothing_is_wrong(measure: Measure, fake_runner: Any) -> None:
    assert accused(measure(fake_runner())) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layer", ["conv1", "norm", "conv2", "dense"])
def test_right_suspect_and_right_node(measure: Measure, fake_runner: Any, target: str, layer: str) -> None:
    (accusation,) = accused(measure(fake_runner(planted={target: {layer: bump()}})))
    diagnosis = accusation.diagnosis
    assert (diagnosis.klass, diagnosis.suspects, diagnosis.node) == (Class.DEFECT, (target,), f"{layer}#0")
    assert accusation.kind is Kind.INCONSISTENCY
    assert diagnosis.threshold == K
    assert diagnosis.measure is not None
    assert diagnosis.measure.value > K
    assert sentences(diagnosis)[0].startswith(f"{target} is off by 0.01 in {layer} (")
    assert "agree with the float64 reference" in sentences(diagnosis)[1]


def spoilt(value: float) -> Callable[[Array], Array]:
    def spoil(array: Array) -> Array:
        changed = array.copy()
        changed.flat[0] = value
        return changed

    return spoil


def test_a_nan_is_said_to_be_one_and_where_it_is(measure: Measure, fake_runner: Any) -> None:
    (accusation,) = accused(measure(fake_runner(planted={"fake:b": {"conv1": spoilt(float("nan"))}})))
    assert accusation.kind is Kind.NAN
    said = sentences(accusation.diagnosis)
    assert said[0].startswith("fake:b gives NaN where the reference gives ")
    assert said[0].endswith(", at [0, 0, 0, 0], in conv1 (Conv2D) run alone on identical inputs")
    assert "off by" not in " ".join(said)


def test_the_number_that_is_furthest_off_is_named(measure: Measure, fake_runner: Any) -> None:
    (accusation,) = accused(measure(fake_runner(planted={"fake:b": {"conv1": spoilt(1000.0)}})))
    first, second = accusation.diagnosis.observations
    assert (first.code, first.data["index"], first.data["observed"]) == ("off", [0, 0, 0, 0], 1000.0)
    assert accusation.diagnosis.relative is not None
    assert accusation.diagnosis.relative > 100
    assert second.code == "agree"
    assert 0 <= second.data["ratio"] < 1


def test_another_shape_is_said_to_be_one(measure: Measure, fake_runner: Any) -> None:
    (accusation,) = accused(measure(fake_runner(planted={"fake:b": {"dense": lambda array: array[..., :1]}})))
    assert accusation.kind is Kind.SHAPE
    assert accusation.diagnosis.observations[0].code == "other-shape"


def test_api_and_the_parameters_that_matter(measure: Measure, fake_runner: Any) -> None:
    (accusation,) = accused(measure(fake_runner(planted={"fake:b": {"conv1": bump()}})))
    assert accusation.diagnosis.api == "keras.layers.Conv2D"
    assert accusation.diagnosis.parameters["padding"] == "same"
    assert "strides" not in accusation.diagnosis.parameters


def convolutions(*params: dict[str, Any]) -> Model:
    """A chain of convolutions of one channel, with these parameters."""
    build = GraphBuilder()
    x = build.input("x", (6, 6, 2))
    for index, given in enumerate(params):
        x = build.add("Conv2D", x, name=f"conv{index}", padding="same", **{"filters": 2, "kernel_size": 3, **given})
    graph = build.build(x)
    return Model("convolutions", graph, draw_weights(graph, np.random.default_rng(0)))


def test_layers_of_one_type_are_one_defect(measure: Measure, fake_runner: Any) -> None:
    model = convolutions({}, {"filters": 4}, {"kernel_size": 5})
    (accusation,) = accused(measure(fake_runner(planted={"fake:b": {"Conv2D": bump()}}), model))
    assert [errors.node.layer for errors in accusation.nodes] == ["conv0", "conv1", "conv2"]
    assert accusation.diagnosis.node == "conv0#0"
    assert "3 layers of type Conv2D are affected; conv0 is the first" in sentences(accusation.diagnosis)


def test_other_parameters_may_be_another_defect(measure: Measure, fake_runner: Any) -> None:
    model = convolutions({}, {"strides": 2}, {})
    found = accused(measure(fake_runner(planted={"fake:b": {"Conv2D": bump()}}), model))
    assert [[errors.node.layer for errors in accusation.nodes] for accusation in found] == [
        ["conv0", "conv2"],
        ["conv1"],
    ]
    assert [accusation.diagnosis.parameters.get("strides") for accusation in found] == [None, 2]


def test_another_way_to_fail_is_another_defect_and_a_few_are_enough(measure: Measure, fake_runner: Any) -> None:
    activations = ["relu", "tanh", "sigmoid", "softplus", "elu"]
    model = convolutions(*({"activation": name} for name in activations), {"activation": "relu"})
    planted = {f"conv{index}": bump() for index in range(5)} | {"conv5": lambda y: y * np.float32(np.nan)}
    found = accused(measure(fake_runner(planted={"fake:b": planted}), model))
    assert [(a.diagnosis.node, a.kind) for a in found] == [
        ("conv0#0", Kind.INCONSISTENCY),
        ("conv1#0", Kind.INCONSISTENCY),
        ("conv5#0", Kind.NAN),
    ]
    assert [errors.node.layer for errors in found[0].nodes] == ["conv0", "conv2", "conv3", "conv4"]
    assert "4 layers of type Conv2D are affected; conv0 is the first" in sentences(found[0].diagnosis)


def test_other_types_and_other_suspects_are_other_defects(measure: Measure, fake_runner: Any) -> None:
    planted = {"fake:b": {"conv1": bump(), "norm": bump()}, "fake:c": {"conv2": bump()}}
    found = accused(measure(fake_runner(planted=planted)))
    blamed = [(a.diagnosis.node, a.diagnosis.suspects) for a in found]
    assert blamed == [("conv1#0", ("fake:b",)), ("norm#0", ("fake:b",)), ("conv2#0", ("fake:c",))]


def test_several_targets_may_be_wrong(measure: Measure, fake_runner: Any) -> None:
    planted = {target: {"conv1": bump()} for target in ("fake:a", "fake:c")}
    (accusation,) = accused(measure(fake_runner(planted=planted)))
    assert accusation.diagnosis.suspects == ("fake:a", "fake:c")


def test_all_alike_against_the_reference_blames_the_code_they_share(measure: Measure, fake_runner: Any) -> None:
    planted = {target: {"conv1": bump()} for target in TARGETS}
    (accusation,) = accused(measure(fake_runner(planted=planted)))
    assert (accusation.diagnosis.klass, accusation.diagnosis.suspects) == (Class.DEFECT, ("keras",))
    assert "all of them agree with each other" in sentences(accusation.diagnosis)[-1]


def test_all_alike_without_shared_code_points_at_our_reference(measure: Measure, fake_runner: Any) -> None:
    planted = {target: {"conv1": bump()} for target in TARGETS}
    assert accused(measure(fake_runner(planted=planted)), families={}) == []


def test_what_all_agree_on_against_the_reference_is_not_lost(measure: Measure, fake_runner: Any) -> None:
    planted = {target: {"conv1": bump()} for target in TARGETS}
    measured = list(measure(fake_runner(planted=planted)).values())
    (sentence,) = doubts(measured, {"fake:a": "keras", "fake:b": "keras", "fake:c": "onnx"})
    assert "conv1 (Conv2D) fake:a, fake:b and fake:c agree with each other and not with" in sentence
    assert doubts(measured, KERAS) == []  # the code they share is accused


def test_a_target_alone_against_the_reference_is_not_lost(measure: Measure, fake_runner: Any) -> None:
    runner = fake_runner(planted={"fake:a": {"conv1": bump()}}, raising=dict.fromkeys(TARGETS[1:], ["conv1"]))
    (sentence,) = doubts(list(measure(runner).values()), KERAS)
    assert "conv1 (Conv2D) fake:a is alone and does not agree" in sentence


def test_there_is_no_doubt_where_somebody_is_right_or_all_are_scattered(measure: Measure, fake_runner: Any) -> None:
    assert doubts(list(measure(fake_runner()).values()), {}) == []
    assert doubts(list(measure(fake_runner(planted={"fake:b": {"conv1": bump()}})).values()), {}) == []
    planted = {target: {"conv1": bump(0.01 * (index + 1))} for index, target in enumerate(TARGETS)}
    assert doubts(list(measure(fake_runner(planted=planted)).values()), {}) == []


def test_all_scattered_is_ill_conditioned_and_blames_nobody(measure: Measure, fake_runner: Any) -> None:
    planted = {target: {"conv1": bump(0.01 * (index + 1))} for index, target in enumerate(TARGETS)}
    (accusation,) = accused(measure(fake_runner(planted=planted)))
    assert (accusation.diagnosis.klass, accusation.diagnosis.suspects) == (Class.PRECISION, ())
    assert len(sentences(accusation.diagnosis)) == 3


@pytest.mark.parametrize(
    ("change", "kind"),
    [(lambda y: y * np.float32(np.nan), Kind.NAN), (lambda y: y[:1], Kind.SHAPE)],
    ids=["nan", "shape"],
)
def test_kind_says_what_is_wrong(
    measure: Measure, fake_runner: Any, change: Callable[[Array], Array], kind: Kind
) -> None:
    (accusation,) = accused(measure(fake_runner(planted={"fake:b": {"dense": change}})))
    assert accusation.kind is kind
    assert accusation.diagnosis.suspects == ("fake:b",)


def test_a_target_that_raises_alone_does_not_change_who_is_wrong(measure: Measure, fake_runner: Any) -> None:
    runner = fake_runner(planted={"fake:b": {"conv1": bump()}}, raising={"fake:c": ["conv1"]})
    (accusation,) = accused(measure(runner))
    assert accusation.diagnosis.suspects == ("fake:b",)
    assert "fake:c raised: NodeError: no conv1#0 here" in sentences(accusation.diagnosis)


class TestVote:
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls) -> Model:
        build = GraphBuilder("mystery")
        return Model("mystery", build.build(build.add("Mystery", build.input("x", (6, 6, 2)), name="mystery")))

    def test_the_odd_one_out_is_wrong(self, measure: Measure, fake_runner: Any, model: Model) -> None:
        runner = fake_runner(custom={"Mystery": np.abs}, planted={"fake:c": {"mystery": bump()}})
        (accusation,) = accused(measure(runner, model))
        diagnosis = accusation.diagnosis
        assert (diagnosis.klass, diagnosis.suspects) == (Class.DEFECT, ("fake:c",))
        assert diagnosis.threshold == K * VOTE_MARGIN
        assert "what most targets give" in sentences(diagnosis)[1]

    def test_all_scattered_has_no_winner_to_blame_everybody(
        self, measure: Measure, fake_runner: Any, model: Model
    ) -> None:
        planted = {"fake:a": {"mystery": bump(-1)}, "fake:c": {"mystery": bump(1)}}
        found = accused(measure(fake_runner(custom={"Mystery": np.abs}, planted=planted), model))
        assert all(set(a.diagnosis.suspects) < set(TARGETS) for a in found)

    def test_two_alone_blame_nobody(self, measure: Measure, fake_runner: Any, model: Model) -> None:
        runner = fake_runner(targets=TARGETS[:2], custom={"Mystery": np.abs}, planted={"fake:b": {"mystery": bump()}})
        assert accused(measure(runner, model)) == []


@pytest.mark.parametrize(("errors", "quoted"), [((K / 2, K / 3), 2), ((9 * K, 5 * K), 0)])
def test_who_agrees_is_never_worse_than_the_accused(errors: tuple[float, float], quoted: int) -> None:
    """One gives NaN, and is accused; who is off as well is not, and does not testify either."""
    builder = GraphBuilder()
    node = builder.build(builder.add("ReLU", builder.input("x", (2,)))).nodes[0]
    found = NodeErrors(node, {TARGETS[0]: float("inf"), **dict(zip(TARGETS[1:], errors, strict=True))}, mutual=1e9)
    (accusation,) = accuse([found], KERAS)
    assert accusation.diagnosis.suspects == TARGETS[:1]
    said = [item.data["targets"] for item in accusation.diagnosis.observations if item.code == "agree"]
    assert sum(map(len, said)) == quoted


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ({"fake:a": 1.0, "fake:b": 1.0, "fake:c": math.inf}, Kind.DTYPE),
        ({"fake:a": 1e5, "fake:b": 1e5, "fake:c": 1e5}, Kind.INCONSISTENCY),
        ({"fake:a": math.inf, "fake:b": 1.0, "fake:c": 1.0}, Kind.NAN),
    ],
)
def test_another_dtype_of_one_target_says_nothing_of_the_numbers_of_others(
    errors: dict[str, float], kind: Kind
) -> None:
    build = GraphBuilder("one")
    (node,) = build.build(build.add("ReLU", build.input("x", (3,)), name="relu")).nodes
    (found,) = accuse([NodeErrors(node, errors, dtypes={"fake:c": "float64"})], KERAS)
    assert found.kind is kind
