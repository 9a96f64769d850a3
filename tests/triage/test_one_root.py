"""One function of a library that is always wrong, met through one layer with all sorts of parameters: one defect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.distinct import Distinct
from tensorparity.campaign.filing import make_finding
from tensorparity.core.arrays import Array
from tensorparity.core.call import TupleArg
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.operators.functions.recognised import odd_arguments, recognised
from tensorparity.operators.reference.evaluate import evaluate
from tensorparity.oracles.function_alone import FUNCTION
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner
from tensorparity.triage.explained_by import Trigger, trigger_of
from tensorparity.triage.explanations import cluster_of
from tensorparity.triage.reduction.preparation import Preparation, Prepared, ReducingSettings, reduce_suspicion
from tensorparity.triage.reduction.reducer import ReductionBudget

API = "torch.nn.functional.max_pool2d"
LAYERS = ("keras:torch", "keras:jax")
WRONG, RIGHT, NATIVE = *LAYERS, "torch:eager"
When = Callable[[int, int], bool]


def always(size: int, stride: int) -> bool:
    return True


class Pooling:
    """Targets on which the layer calls torch's function, which is off by a tenth.

    Args:
        when: for which sizes of the window and strides it is.
    """

    targets = (*LAYERS, NATIVE)

    def __init__(self, when: When = always) -> None:
        self.when = when
        self.layers = 0

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        if not isinstance(case.subject, LayerGraph):
            found = recognised(case)
            if found is None:
                return Outcome(target, Status.UNSUPPORTED)
            return Outcome(target, Status.COMPLETED, {"0": self._pooled(found.evaluate().value, odd_arguments(case))})
        self.layers += target == WRONG
        return self._layer(case, target)

    def _pooled(self, right: Array, params: dict[str, Any]) -> Array:
        off = self.when(params.get("size", 2), params.get("strides", 2))
        return (right + 0.1 * off).astype(np.float32)

    def _layer(self, case: Case, target: str) -> Outcome:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        (node,) = graph.nodes
        (right,) = (values[0].value for values in evaluate(graph, case.inputs, {}).values())
        if target == RIGHT:
            return Outcome(target, Status.COMPLETED, {node.name: right.astype(np.float32)})
        window = window_of(node.params)
        params = {"size": window[0][0], "strides": window[1][0]}
        answer = case.answers.get("0/0", self._pooled(right, params).transpose(0, 3, 1, 2))
        outputs = {node.name: np.ascontiguousarray(answer.transpose(0, 2, 3, 1)).astype(np.float32)}
        if not case.procedure.calls or case.answers:
            return Outcome(target, Status.COMPLETED, outputs)
        return Outcome(target, Status.COMPLETED, outputs, *self._recorded(case, window, answer, node.params))

    def _recorded(self, case: Case, window: Any, answer: Array, params: Any) -> tuple[Trace]:
        (x,) = case.inputs.values()
        trace = Trace(nodes={"call:0/in/a0": x.transpose(0, 3, 1, 2), "call:0/out/0": answer})
        return (trace,)


def window_of(params: Any) -> tuple[list[int], list[int]]:
    size = params.get("pool_size", 2)
    size = [size] * 2 if isinstance(size, int) else list(size)
    stride = params.get("strides") or size
    return size, [stride] * 2 if isinstance(stride, int) else list(stride)


class Recording(Pooling):
    """Says what it called, but for a padded window: that it calls on what it has padded itself."""

    def _layer(self, case: Case, target: str) -> Outcome:
        found = super()._layer(case, target)
        if target == RIGHT or not case.procedure.calls or case.answers:
            return found
        (node,) = case.subject.nodes  # type: ignore[union-attr]
        size, stride = ({"$tuple": numbers} for numbers in window_of(node.params))
        problem = "of a kind" if node.params.get("padding") == "same" else ""
        call = {"args": [{"$array": "a0"}, size], "kwargs": {"stride": stride}, "problem": problem}
        entry = {"api": API, "parent": None, "outputs": 1, "raised": False, **call}
        return replace(found, reply={"calls": [entry]})


def pooling(shape: tuple[int, ...] = (5, 5, 2), **params: Any) -> Case:
    build = GraphBuilder("pooling")
    graph = build.build(build.add("MaxPooling2D", build.input("x", shape), name="layer", **params))
    x = np.random.default_rng(5).standard_normal((2, *shape)).astype(np.float32)
    return Case(graph, inputs={"x": x})


ALL_SORTS = (
    pooling(),
    pooling(pool_size=3, padding="same"),
    pooling((1, 1, 1), padding="same"),
    pooling(strides=1),
    pooling((1, 1, 1), pool_size=[1, 1]),
    pooling((1, 3, 2), strides=[1, 2], padding="same"),
    pooling((1, 1, 1), pool_size=[1, 1], strides=2),
    pooling(strides=3, padding="same"),
)


def examiner(runner: Pooling) -> Examiner:
    return Examiner(runner, Setup(targets=LAYERS, traits=traits_of(runner.targets)))


def suspected(runner: Pooling, cases: Sequence[Case]) -> list[Suspicion]:
    found = examiner(runner).examine([Ask(case, LAYERS) for case in cases])
    return [s for item in found for s in item.judged.suspicions if s.diagnosis.klass is Class.DEFECT]


def prepared(runner: Pooling, cases: Sequence[Case]) -> tuple[list[Prepared], Preparation]:
    preparation = Preparation(runner, examiner(runner), ReducingSettings(scripts=False))  # type: ignore[arg-type]
    return preparation.reduce(suspected(runner, cases)), preparation


def filed(items: Sequence[Prepared], preparation: Preparation) -> set[str]:
    """The clusters of what is filed, as a run has them in the end."""
    traits, distinct = traits_of((*LAYERS, NATIVE)), Distinct()
    found = [(make_finding(i.suspicion, "muffin", {}, "", i.original, traits, i.above), i) for i in items]
    roots = preparation.explanations.merged()
    return {roots.get(finding.signature, finding.cluster or "") for finding, _ in distinct.of(found)}


def test_a_function_that_is_always_wrong_is_one_defect() -> None:
    items, preparation = prepared(Recording(), ALL_SORTS)
    assert len(items) == len(ALL_SORTS)
    assert len(filed(items, preparation)) == 1
    assert items[0].suspicion.diagnosis.api == API
    told = {item.explained_by or item.suspicion.signature for item in items}
    assert told == {items[0].suspicion.signature}


@pytest.mark.parametrize("order", [ALL_SORTS, ALL_SORTS[::-1]])
def test_it_takes_one_reduction(order: Sequence[Case]) -> None:
    items, preparation = prepared(Recording(), order)
    reduced = [item for item in items if not item.explained_by]
    assert len(reduced) <= 2  # the first, and one that is audited
    assert preparation.explanations.explained >= len(ALL_SORTS) - 2
    assert preparation.explanations.refuted == 0


def test_what_there_was_no_time_to_reduce_is_merged_in_the_end() -> None:
    runner = Recording()
    (first,), preparation = prepared(runner, ALL_SORTS[:1])
    late = [replace(suspicion, reduced=False) for suspicion in suspected(runner, ALL_SORTS[1:])]
    merged = preparation.explanations.merged(late)
    assert merged == dict.fromkeys([suspicion.signature for suspicion in late], first.suspicion.signature)


def test_two_roots_with_two_triggers_stay_two() -> None:
    cases = [pooling(pool_size=3, strides=2), pooling(strides=1), pooling((7, 7, 1), pool_size=3, strides=2)]
    items, preparation = prepared(Recording(lambda size, stride: size == 3 or (size == 2 and stride == 1)), cases)
    assert len(filed(items, preparation)) == 2
    assert {item.suspicion.diagnosis.api for item in items if not item.explained_by} == {API}
    assert items[2].explained_by == items[0].suspicion.signature != items[1].suspicion.signature


def test_a_known_function_is_not_reduced_again_for_another_layer() -> None:
    class Shortcut(Recording):
        """The layer calls the function for two windows alone, so that its own parameters stay."""

        def _layer(self, case: Case, target: str) -> Outcome:
            (node,) = case.subject.nodes  # type: ignore[union-attr]
            calls = window_of(node.params) in (([2, 2], [1, 1]), ([3, 3], [3, 3]))
            return super()._layer(case, target if calls else RIGHT)

    items, preparation = prepared(Shortcut(), [pooling((5, 5, 1), strides=1), pooling(pool_size=3)])
    assert items[1].above is not None
    assert items[1].above.signature != items[0].above.signature  # type: ignore[union-attr]
    assert items[1].suspicion.case is items[0].suspicion.case
    assert len(filed(items, preparation)) == 1


def test_what_fails_on_other_than_plain_numbers_alone_explains_nothing_else() -> None:
    class Picky(Pooling):
        """Wrong about numbers in the hundreds, and wherever the window moves by one."""

        def _layer(self, case: Case, target: str) -> Outcome:
            (node,) = case.subject.nodes  # type: ignore[union-attr]
            large = max(abs(array).max() for array in case.inputs.values()) > 100
            return super()._layer(case, target if large or node.params.get("strides") == 1 else RIGHT)

    large = pooling()
    large = replace(large, inputs={"x": large.inputs["x"] * 1000})
    items, preparation = prepared(Picky(), [large, pooling(strides=1)])
    assert not any(item.explained_by for item in items)
    assert len(filed(items, preparation)) == 2


class TestNativeCalls:
    """Arguments that repeat a default set nothing off; those that can go back to their default do."""

    def call(self, size: int, stride: int) -> Case:
        x = np.random.default_rng(2).standard_normal((1, 1, 6, 6)).astype(np.float32)
        call = ApiCall(API, (ArrayArg("a0"), TupleArg((size, size))), {"stride": TupleArg((stride, stride))})
        return Case(call, Procedure(goal=Goal.CALL), {"a0": x})

    def reduced(self, case: Case, when: When = always, needs: tuple[str, ...] = ()) -> Suspicion:
        examine = examiner(Pooling(when))
        (examined,) = examine.examine([Ask(case, (NATIVE,), (FUNCTION,))])
        (suspicion,) = examined.judged.suspicions
        found = reduce_suspicion(examine, replace(suspicion, oracle=FUNCTION, needs=needs), ReductionBudget()).suspicion
        assert found is not None
        return replace(found, reduced=True)

    @pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 1), (3, 3), (1, 2)])
    def test_go_to_their_default(self, size: int, stride: int) -> None:
        found = self.reduced(self.call(size, stride))
        call = found.case.subject
        assert isinstance(call, ApiCall)
        assert call.args[1] == TupleArg((2, 2))
        assert dict(call.kwargs) == {"stride": TupleArg((2, 2))}
        assert trigger_of(found) == Trigger({}, ())

    def test_stay_where_the_layer_above_needs_them(self) -> None:
        found = self.reduced(self.call(3, 1), needs=("stride",))
        assert isinstance(found.case.subject, ApiCall)
        assert dict(found.case.subject.kwargs) == {"stride": TupleArg((1, 1))}
        assert trigger_of(found) == Trigger({"strides": 1}, ())

    def test_stay_where_they_set_it_off(self) -> None:
        narrow = self.reduced(self.call(3, 1), lambda size, stride: stride == 1)
        wide = self.reduced(self.call(3, 1), lambda size, stride: size == 3)
        assert trigger_of(narrow) == Trigger({"strides": 1}, ())
        assert trigger_of(wide) == Trigger({"size": 3}, ())
        traits = traits_of((NATIVE,))
        assert cluster_of(narrow, traits) != cluster_of(wide, traits)
