"""Which suspicions are another sighting of a reduced defect: the trigger, the two checks, and what they prevent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder, Node
from tensorparity.core.oracle import Judged
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Judgement, Kind, Stage, Verdict
from tensorparity.operators.losses.alone import loss_alone
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.explained_by import (
    Trigger,
    explain,
    may_explain,
    trigger_alone,
    trigger_of,
    without_trigger,
)
from tensorparity.triage.explanations import Explanations, cluster_of, first_apart
from tensorparity.triage.known_differences import KnownDifference

from ..examining import examiner_for

TARGETS = ("keras:jax", "keras:tensorflow", "keras:torch")
TORCH = TARGETS[-1]
When = Callable[[Node], bool]


def one_layer(op: str, shape: tuple[int, ...], special: float | None = None, **params: Any) -> Case:
    build = GraphBuilder(op)
    graph = build.build(build.add(op, build.input("x", shape), name="layer", **params))
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, *shape)).astype(np.float32)
    if special is not None:
        x.reshape(-1)[5] = special
    return Case(graph, inputs={"x": x}, weights=draw_weights(graph, rng))


@pytest.fixture
def faulty(fake_runner: Any) -> Callable[..., Any]:
    """A runner in which torch adds a tenth to what ``when`` says."""

    class Faulty(fake_runner):  # type: ignore[misc]
        when: When

        def _nodes(self, case: Case, target: str, healthy: bool) -> Any:
            found = super()._nodes(case, target, healthy)
            wrong = [node for node in case.subject.nodes if target == TORCH and self.when(node, case)]  # type: ignore[union-attr]
            return {key: value + 0.1 * any(node.key == key for node in wrong) for key, value in found.items()}

    def make(when: Callable[[Node, Case], bool]) -> Any:
        runner = Faulty(targets=TARGETS)
        runner.when = when
        return runner

    return make


def convicted(runner: Any, case: Case) -> Suspicion:
    from tensorparity.core.engine import Ask

    (examined,) = examiner_for(runner, TARGETS).examine([Ask(case, TARGETS)])
    (suspicion,) = [s for s in examined.judged.suspicions if s.diagnosis.klass is Class.DEFECT]
    return suspicion


def has_elu(node: Node, case: Case) -> bool:
    return node.params.get("activation") == "elu"


def explained(runner: Any, suspicion: Suspicion, *reduced: Suspicion) -> Suspicion | None:
    return explain(examiner_for(runner, TARGETS), [suspicion], [reduced]).get(0)


DENSE = {"units": 3, "activation": "elu"}
CONV = {"filters": 2, "kernel_size": [2, 2], "padding": "same", "activation": "elu"}


def test_the_trigger_is_what_reduction_left(faulty: Any) -> None:
    trigger = trigger_of(convicted(faulty(has_elu), one_layer("Dense", (4,), **DENSE)))
    assert trigger == Trigger({"activation": "elu"}, ())


def test_words_without_a_default_set_off_and_numbers_do_not(faulty: Any) -> None:
    case = one_layer("Activation", (4,), activation="elu")
    trigger = trigger_of(convicted(faulty(has_elu), case))
    assert trigger is not None
    assert trigger.parameters == {"activation": "elu"}


def test_one_activation_inside_two_layers_is_one_defect(faulty: Any) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    assert conv.key != dense.key
    assert explained(runner, conv, dense) is dense


def test_what_fails_without_the_trigger_as_well_is_another_defect(faulty: Any) -> None:
    runner = faulty(lambda node, case: has_elu(node, case) or node.params.get("padding") == "same")
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    assert may_explain(dense, conv)
    assert explained(runner, conv, dense) is None


def test_what_needs_more_than_the_trigger_is_another_defect(faulty: Any) -> None:
    runner = faulty(lambda node, case: has_elu(node, case) and (node.op == "Dense" or "padding" in node.params))
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    assert explained(runner, conv, dense) is None


def test_an_edge_value_explains_only_what_holds_it(faulty: Any) -> None:
    runner = faulty(lambda node, case: bool(np.isinf(case.inputs["x"]).any()))
    one = convicted(runner, one_layer("MaxPooling1D", (6, 2), np.inf))
    other = convicted(runner, one_layer("MaxPooling2D", (6, 4, 2), np.inf))
    assert trigger_of(one) == Trigger({}, ("infinity",))
    assert explained(runner, other, one) is one
    plain = convicted(faulty(lambda node, case: True), one_layer("MaxPooling2D", (6, 4, 2)))
    assert not may_explain(one, plain)


def test_two_functions_that_share_an_edge_value_or_a_mode_are_two_defects(faulty: Any) -> None:
    runner = faulty(lambda node, case: bool(np.isinf(case.inputs["x"]).any()) or node.params.get("padding") == "same")
    relu, elu = (convicted(runner, one_layer(op, (6,), np.inf)) for op in ("ReLU", "ELU"))
    assert not may_explain(relu, elu)
    pool = convicted(runner, one_layer("AveragePooling2D", (5, 5, 3), pool_size=[2, 2], padding="same"))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), filters=2, kernel_size=[2, 2], padding="same"))
    assert not may_explain(pool, conv)
    raised = [replace(s, exception="ValueError", message="no") for s in (pool, conv)]
    assert may_explain(*raised)


def test_code_that_layers_share_is_one_defect_as_far_as_it_goes(faulty: Any) -> None:
    runner = faulty(lambda node, case: bool(node.params.get("go_backwards") or node.params.get("use_bias") is False))
    backwards, unbiased = {"go_backwards": True}, {"use_bias": False}
    lstm, gru, without = (
        convicted(runner, one_layer(op, (4, 3), units=2, **params))
        for op, params in (("LSTM", backwards), ("GRU", {**backwards, "return_sequences": True}), ("GRU", unbiased))
    )
    assert explained(runner, gru, lstm) is lstm
    assert not may_explain(convicted(runner, one_layer("LSTM", (4, 3), units=2, **unbiased)), without)


def test_code_that_layers_share_explains_no_edge_values(faulty: Any) -> None:
    runner = faulty(lambda node, case: True)
    lstm, gru = (convicted(runner, one_layer(op, (4, 3), np.inf, units=2, go_backwards=True)) for op in ("LSTM", "GRU"))
    assert not may_explain(lstm, gru)


@pytest.mark.parametrize("change", [{"kind": Kind.CRASH}, {"exception": "ValueError"}, {"message": "no"}])
def test_only_what_ends_alike_is_explained(faulty: Any, change: dict[str, Any]) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    assert may_explain(dense, conv)
    assert not may_explain(replace(dense, **change), conv)


def test_what_ends_a_process_is_not_explained(faulty: Any) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    assert not may_explain(replace(dense, kind=Kind.CRASH), replace(conv, kind=Kind.CRASH))


def test_answers_by_chance_explain_nothing(faulty: Any) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    wavering = replace(conv, diagnosis=replace(conv.diagnosis, wavering=(TORCH,)))
    assert not may_explain(dense, wavering)


def test_the_checks_change_nothing_else() -> None:
    case = one_layer("Conv2D", (5, 5, 3), np.nan, **CONV)
    trigger = Trigger({"activation": "elu"}, ("NaN",))
    necessary, sufficient = without_trigger(case, trigger), trigger_alone(case, trigger)
    assert necessary is not None
    assert sufficient is not None
    assert dict(necessary.subject.nodes[0].params) == {k: v for k, v in CONV.items() if k != "activation"}  # type: ignore[union-attr]
    assert np.isfinite(necessary.inputs["x"]).all()
    assert (necessary.inputs["x"] == case.inputs["x"]).sum() == case.inputs["x"].size - 1
    assert set(sufficient.subject.nodes[0].params) == {"filters", "kernel_size", "activation"}  # type: ignore[union-attr]
    assert np.isnan(sufficient.inputs["x"]).any()


def test_those_that_may_explain_each_other_are_not_reduced_together(faulty: Any) -> None:
    runner = faulty(lambda node, case: True)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    plain = convicted(runner, one_layer("ReLU", (6,)))
    assert first_apart([dense, conv, plain]) == [dense, plain]


def test_a_share_of_the_explained_is_reduced_all_the_same(faulty: Any) -> None:
    runner = faulty(has_elu)
    explanations = Explanations(examiner_for(runner, TARGETS))
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    explanations.learn([dense])
    sizes = range(3, 63)
    seen = [convicted(runner, one_layer("Conv2D", (size, 3, 3), **CONV)) for size in sizes]
    told = explanations.of(seen)
    assert explanations.explained == len(seen)
    assert {signature for _, signature in told} == {dense.signature}
    left = [s for s in seen if s not in [one for one, _ in told]]
    assert 0 < len(left) < len(seen) / 5
    assert explanations.of(left) == []  # they are reduced now
    assert explanations.audit(left[0], dense) == dense.signature
    strange = replace(dense, case=one_layer("Dense", (4,), units=3))
    assert explanations.audit(left[0], strange) == ""
    assert (explanations.audited, explanations.refuted) == (2, 1)


def test_two_triggers_are_alike_whatever_their_figures_are() -> None:
    six, four, half = (Trigger({"max_value": value}, ("tie",)) for value in (6.0, 4.0, 3.5))
    assert six.is_like(four)
    assert not six.is_like(half)
    assert not six.is_like(Trigger({"max_value": 6.0}, ()))
    assert not Trigger({}, ("tie",)).is_like(six)


def loss(name: str, optimizer: Recipe | None = None, **params: Any) -> Suspicion:
    numbers = {"y0": np.array([[0.25, 0.75]], np.float32)}
    case = loss_alone(Recipe(name, params), numbers, numbers, dtype=None, seed=0)
    if optimizer is not None:
        case = replace(case, procedure=replace(case.procedure, goal=Goal.UPDATE, optimizer=optimizer))
    api = f"keras.optimizers.{optimizer.name}" if optimizer else f"keras.losses.{name}"
    parameters = dict(optimizer.params if optimizer else params)
    diagnosis = Diagnosis(Class.DEFECT, (TORCH,), api=api, parameters=parameters)
    return Suspicion(Kind.INCONSISTENCY, diagnosis, case, TARGETS, stage=Stage.LOSS, reduced=True)


class TestRecipes:
    """A loss and an optimizer are set off by their own parameters, not by those of the layer they are run with."""

    def test_the_trigger_is_the_recipes(self) -> None:
        assert trigger_of(loss("Huber", delta=2.0)) == Trigger({"delta": 2.0}, (), "loss")
        adam = loss("Huber", Recipe("Adam", {"amsgrad": True}), delta=2.0)
        assert trigger_of(adam) == Trigger({"amsgrad": True}, (), "optimizer")

    def test_two_losses_share_nothing_by_being_run_alone(self) -> None:
        one, other = (loss(name) for name in ("Huber", "LogCosh"))
        assert not may_explain(one, other)
        assert not may_explain(loss("Huber", delta=2.0), loss("LogCosh", reduction="sum"))

    def test_two_parameters_of_one_loss_are_two_clusters(self) -> None:
        names = [{}, {"delta": 2.0}, {"delta": 4.0}, {"reduction": "sum"}]
        clusters = [cluster_of(loss("Huber", **params), traits_of(TARGETS)) for params in names]
        assert clusters[1] == clusters[2]
        assert len(set(clusters)) == 3

    def test_the_checks_edit_the_recipe(self) -> None:
        suspicion, trigger = loss("Huber", delta=2.0, reduction="sum"), Trigger({"delta": 2.0}, (), "loss")
        assert may_explain(loss("Huber", delta=4.0), suspicion)
        necessary, sufficient = (check(suspicion.case, trigger) for check in (without_trigger, trigger_alone))
        assert necessary is not None
        assert sufficient is not None
        assert necessary.procedure.loss == Recipe("Huber", {"reduction": "sum"})
        assert sufficient.procedure.loss == Recipe("Huber", {"delta": 2.0})
        for case in (necessary, sufficient):
            assert np.array_equal(case.inputs["p0"], suspicion.case.inputs["p0"])


def test_nothing_is_held_twice_against_the_same_defect(faulty: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, held = faulty(has_elu), []
    monkeypatch.setattr("tensorparity.triage.explanations.explain", lambda examiner, s, tried: held.append(tried) or {})
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    other = convicted(runner, one_layer("Dense", (4,), **{**DENSE, "use_bias": False}))
    explanations = Explanations(examiner_for(runner, TARGETS))
    explanations.learn([dense])
    explanations.of([conv])
    explanations.learn([other])
    explanations.of([conv])
    assert held == [[[dense]], [[other]]]


def test_an_accepted_difference_explains_its_own_key_alone(faulty: Any) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    wide = convicted(runner, one_layer("Dense", (7,), **{**DENSE, "use_bias": False}))
    accepted = KnownDifference("as we like it", signature=dense.signature)
    explanations = Explanations(examiner_for(runner, TARGETS), [accepted])
    explanations.learn([dense])
    assert [one for one, _ in explanations.of([conv, wide])] == [wide]


def test_merging_does_not_depend_on_what_was_reduced_first(faulty: Any) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **{**CONV, "padding": "valid"}))
    found = []
    for order in ([dense, conv], [conv, dense]):
        explanations = Explanations(examiner_for(runner, TARGETS))
        explanations.learn(order)
        found.append(explanations.merged())
    first, last = sorted([dense.signature, conv.signature])
    assert found == [{last: first}] * 2


def test_what_there_was_no_time_to_reduce_is_merged_as_well(faulty: Any) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **CONV))
    plain = convicted(faulty(lambda node, case: True), one_layer("MaxPooling2D", (6, 4, 2)))
    explanations = Explanations(examiner_for(runner, TARGETS))
    explanations.learn([dense])
    assert explanations.merged([plain, conv]) == {conv.signature: dense.signature}
    assert list(explanations._defects) == [dense.signature]


def test_a_cluster_is_known_by_its_trigger(faulty: Any) -> None:
    runner = faulty(has_elu)
    traits = traits_of(TARGETS)
    few, many = (
        replace(convicted(runner, one_layer("Dense", (4,), **{**DENSE, "units": units})), reduced=True)
        for units in (1, 4)
    )
    assert few.signature != many.signature
    assert cluster_of(few, traits) == cluster_of(many, traits)
    assert cluster_of(replace(many, reduced=False), traits) == many.signature
    renamed = replace(many, diagnosis=replace(many.diagnosis, api="keras.layers.EinsumDense"))
    assert cluster_of(renamed, traits) != cluster_of(many, traits)


def test_an_accepted_difference_is_the_root_of_no_other_key(faulty: Any) -> None:
    runner = faulty(has_elu)
    dense = convicted(runner, one_layer("Dense", (4,), **DENSE))
    conv = convicted(runner, one_layer("Conv2D", (5, 5, 3), **{**CONV, "padding": "valid"}))
    first, last = sorted([dense, conv], key=lambda one: one.signature)
    explanations = Explanations(examiner_for(runner, TARGETS), [KnownDifference("so be it", signature=first.signature)])
    explanations.learn([dense, conv])
    assert explanations.merged() == {first.signature: last.signature}


def call(**kwargs: Any) -> Case:
    x = np.linspace(0.1, 0.9, 6, dtype=np.float32).reshape(2, 3)
    return Case(ApiCall("op.cumsum", (ArrayArg("x"),), kwargs), Procedure(goal=Goal.CALL), {"x": x})


def test_the_trigger_of_a_call_alone() -> None:
    case = call(axis=1, reverse=True, exclusive=True)
    alone = trigger_alone(case, Trigger({"reverse": True}, ()), required=("axis",))
    assert alone is not None
    assert dict(alone.subject.kwargs) == {"axis": 1, "reverse": True}  # type: ignore[union-attr]
    assert alone.inputs["x"].ravel().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    special = trigger_alone(case, Trigger({"reverse": True}, ("NaN",)))
    assert special is not None
    assert np.array_equal(special.inputs["x"], case.inputs["x"]), "what is special about them has to stay"


def test_arrays_of_a_call_stay_whatever_they_are_called() -> None:
    case = replace(call(), subject=ApiCall("op.cumsum", (), {"x": ArrayArg("x"), "reverse": True}))
    alone = trigger_alone(case, Trigger({}, ("NaN",)))
    assert alone is not None
    assert set(alone.subject.kwargs) == {"x"}  # type: ignore[union-attr]


@pytest.mark.parametrize(("wrong", "same"), [(("reverse",), True), (("reverse", "exclusive"), False)])
def test_a_call_that_needs_more_than_the_trigger_is_another_defect(wrong: tuple[str, ...], same: bool) -> None:
    def suspected(case: Case) -> Suspicion:
        params = dict(case.subject.kwargs)  # type: ignore[union-attr]
        diagnosis = Diagnosis(Class.DEFECT, (TORCH,), api="torch.cumsum", parameters=params)
        return Suspicion(Kind.PRECISION, diagnosis, case, TARGETS, stage=Stage.CALL)

    class Judge:
        def examine(self, asks: Any) -> list[Any]:
            return [SimpleNamespace(judged=self.judged(ask.case)) for ask in asks]

        def judged(self, case: Case) -> Judged:
            if not set(wrong) <= set(case.subject.kwargs):  # type: ignore[union-attr]
                return Judged((Verdict(Judgement.PASS, TARGETS, ""),))
            return Judged((Verdict(Judgement.FAIL, TARGETS, ""),), (suspected(case),))

    reduced, suspicion = suspected(call(reverse=True)), suspected(call(reverse=True, exclusive=True))
    found = explain(Judge(), [suspicion], [[reduced]])  # type: ignore[arg-type]
    assert (found == {0: reduced}) is same
