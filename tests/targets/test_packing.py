"""Packs of calls: one unit of a compiler, halved where one of them fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.call import ArrayArg
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.outcome import Failure, Outcome, Record, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.targets.pack_memory import PackMemory, is_sampled
from tensorparity.targets.packing import packs_of, run_packs
from tensorparity.targets.requests import End, Reply, Request
from tensorparity.targets.runner import open_runner

TARGET = "jax:jit"


class Compiler:
    """A pool whose worker returns each case's seed; a pack with a bad seed fails as a whole."""

    def __init__(self, bad: Sequence[int] = (), abilities: Sequence[str] = ("pack",)) -> None:
        self._bad = set(bad)
        self.abilities = {TARGET: frozenset(abilities)}
        self.packs: list[int] = []

    def ask(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        for index, request in reversed(list(enumerate(requests))):
            seeds = [case["seed"] for case in request.header["cases"]]
            self.packs.append(len(seeds))
            header: dict[str, Any] = {"status": "completed", "seconds": 4.0, "cpu_seconds": 2.0}
            header["record"] = Record().to_json()
            arrays = {f"{place}/outputs:0": np.array([seed]) for place, seed in enumerate(seeds)}
            if self._bad & set(seeds):
                header, arrays = {**header, "status": "raised", "failure": {"type": "E"}}, {}
            yield index, Reply(End.ANSWERED, header, arrays)


def case(seed: int) -> Case:
    return Case(OPERATORS.get("tanh").api_call({}), Procedure(goal=Goal.CALL), {"x": np.ones((1, 2))}, seed=seed)


def run(pool: Compiler, seeds: Sequence[int], lacking: Sequence[int] = ()) -> list[Any]:
    def prepare(case: Case, target: str) -> Request | Outcome:
        if case.seed in lacking:
            return Outcome(target, Status.UNSUPPORTED, failure=Failure("Unsupported", "none"))
        return Request(target, {"do": "run", "case": {"seed": case.seed}}, {"inputs:x": case.inputs["x"]}, 1.0)

    def single(pairs: Sequence[tuple[Case, str]]) -> list[Outcome]:
        return [Outcome(target, Status.RAISED, failure=Failure("E", str(case.seed))) for case, target in pairs]

    (found,) = run_packs([([case(seed) for seed in seeds], TARGET)], prepare, pool, single)  # type: ignore[arg-type]
    return [int(o.outputs["0"][0]) if o.completed else o.status for o in found]


def test_a_pack_is_one_request_and_every_case_gets_its_own_answer() -> None:
    pool = Compiler()
    assert run(pool, [5, 6, 7]) == [5, 6, 7]
    assert pool.packs == [3]


def test_one_failure_is_found_by_halving() -> None:
    pool = Compiler(bad=[6])
    assert run(pool, list(range(8))) == [0, 1, 2, 3, 4, 5, Status.RAISED, 7][:6] + [Status.RAISED, Status.RAISED]
    assert pool.packs == [8, 4, 4, 2, 2]


def test_what_the_library_lacks_never_travels() -> None:
    pool = Compiler()
    assert run(pool, [1, 2, 3], lacking=[2]) == [1, Status.UNSUPPORTED, 3]
    assert pool.packs == [2]


def test_targets_that_take_no_packs_get_single_cases() -> None:
    pool = Compiler(abilities=())
    assert run(pool, [1, 2]) == [Status.RAISED, Status.RAISED]
    assert pool.packs == []


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("jax:jit", marks=pytest.mark.jax),
        pytest.param("tensorflow:xla", marks=[pytest.mark.tensorflow, pytest.mark.slow]),
        pytest.param("torch:compile", marks=[pytest.mark.torch, pytest.mark.slow]),
    ],
)
def test_a_pack_answers_as_its_calls_do(target: str) -> None:
    x = np.linspace(0.5, 2, 24, dtype=np.float32).reshape(2, 12)
    cases = [
        Case(OPERATORS.get(name).api_call({}), Procedure(goal=Goal.CALL), {"x": x}) for name in ("tanh", "log", "sum")
    ]
    with open_runner([target]) as runner:
        (packed,) = runner.run_packs([(cases, target)])
        alone = runner.run_pairs([(case, target) for case in cases])
    for together, single in zip(packed, alone, strict=True):
        assert together.completed, together.failure
        np.testing.assert_allclose(together.outputs["0"], single.outputs["0"], rtol=3e-6)


def test_only_calls_of_one_dtype_on_one_compiler_go_together() -> None:
    def call(name: str, dtype: str) -> Case:
        return Case(OPERATORS.get(name).api_call({}), inputs={"x": np.ones((2, 3), dtype)})

    cases = [call(name, dtype) for name in ("tanh", "exp") for dtype in ("float32", "float16")]
    pairs = [(case, target) for target in ("a", "b") for case in cases]
    pairs += [(call("sum", "float64"), "a"), (Case(ApiCall("torch.sin", ()), inputs={}), "a")]
    assert packs_of(pairs, lambda target: target == "a") == [[0, 2], [1, 3]]
    assert [len(pack) for pack in packs_of([(call("tanh", "float32"), "a")] * 17, lambda target: True)] == [16]


def variant(api: str, way: str = "aot_eager", seed: int = 0, **how: Any) -> Case:
    procedure = Procedure(goal=Goal.CALL, variant=way, **how)
    return Case(ApiCall(api, (ArrayArg("x"),)), procedure, {"x": np.ones((2, 3), np.float32)}, seed=seed)


def test_calls_that_are_compiled_in_one_way_go_together() -> None:
    cases = [
        variant("torch.sin"),
        variant("torch.cos"),
        variant("torch.cos", derivative=1),
        variant("torch.tan", rows=2),
    ]
    cases += [variant("torch.tan", "inductor"), variant("torch.tan", "strided"), variant("torch.exp", "strided")]
    cases += [variant("torch.exp", "inductor")]
    assert packs_of([(case, "a") for case in cases], lambda target: False) == [[0, 1], [4, 7]]


def test_a_member_that_fails_alone_is_not_packed_again() -> None:
    memory, pool = PackMemory(), Compiler(bad=[2])
    cases = [variant(name, seed=seed) for seed, name in enumerate(["torch.a", "torch.b", "torch.c", "torch.d"])]

    def prepare(case: Case, target: str) -> Request | Outcome:
        return Request(target, {"do": "run", "case": {"seed": case.seed}}, {}, 1.0)

    def single(pairs: Sequence[tuple[Case, str]]) -> list[Outcome]:
        bad = [case.seed == 2 for case, _ in pairs]
        return [Outcome(TARGET, Status.RAISED if fails else Status.COMPLETED) for fails in bad]

    run_packs([(cases, TARGET)], prepare, pool, single, memory)  # type: ignore[arg-type]
    assert [memory.fails_alone(case, TARGET) for case in cases] == [False, False, True, False]
    assert packs_of([(case, TARGET) for case in cases], lambda target: False, memory) == [[0, 1, 3]]
    assert [case.seed for case in memory.companions(cases[0], TARGET)] == [0, 1]
    assert memory.companions(cases[2], TARGET) == ()


def test_one_in_twenty_is_run_alone_as_well_and_both_are_counted() -> None:
    cases = [variant("torch.sin", seed=seed) for seed in range(400)]
    sampled = [case for case in cases if is_sampled(case)]
    assert 5 <= len(sampled) <= 40
    memory = PackMemory()
    one = Outcome(TARGET, Status.COMPLETED, outputs={"0": np.array([1.0, np.nan])})
    near = Outcome(TARGET, Status.COMPLETED, outputs={"0": np.array([1.0 + 1e-6, np.nan])})
    far = Outcome(TARGET, Status.COMPLETED, outputs={"0": np.array([2.0, np.nan])})
    for alone in (one, near, far, Outcome(TARGET, Status.RAISED)):
        memory.compare(sampled[0], one, alone)
    own = memory.to_json()["ways"]["aot_eager"]
    assert (own["same"], own["close"], own["different"]) == (1, 1, 2)
    assert own["alone"] == {"completed": 3, "raised": 1}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("derivative", [0, 1])
def test_functions_compiled_as_one_unit_answer_as_each_does_alone(derivative: int) -> None:
    names = ["torch.sin", "torch.exp", "torch.frexp", "torch.sum"]
    cases = [
        variant(name, rows=2, derivative=derivative) for name in names if not (derivative and name == "torch.frexp")
    ]
    with open_runner(["torch:eager"]) as runner:
        (packed,) = runner.run_packs([(cases, "torch:eager")])
        assert runner.packing.to_json()["calls"] == len(cases)
        alone = [runner.run_packs([([case], "torch:eager")])[0][0] for case in cases]
    for together, single in zip(packed, alone, strict=True):
        assert together.completed, together.failure
        assert together.reply == single.reply
        assert sorted(together.trace.gradients) == sorted(single.trace.gradients)
        assert sorted(together.outputs) == sorted(single.outputs)
        for name, array in single.outputs.items():
            np.testing.assert_allclose(together.outputs[name], array, rtol=3e-6)
