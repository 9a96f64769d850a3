"""Decision 5 on one call, and its reduction to the smallest input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.oracle import Judged
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion, WorstElement
from tensorparity.core.verdict import Kind, Measure, Stage
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.functions.spec import Operator
from tensorparity.operators.reference.numbers import FLOAT, Numbers
from tensorparity.operators.reference.rounding import K
from tensorparity.operators.spec import Evaluation
from tensorparity.oracles.operator_blame import CallBlame, blame_call
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.triage.reduction.passes import PASSES
from tensorparity.triage.reduction.reducer import ReductionBudget, reduce_case

TRAITS = traits_of(TARGETS)

SIGMOID = OPERATORS.get("sigmoid")


def case_of(operator: Operator, *arrays: Array) -> Case:
    inputs = {operand.name: array for operand, array in zip(operator.operands, arrays, strict=True)}
    return Case(operator.api_call({}), Procedure(goal=Goal.CALL), inputs)


def blame(accused: str, **outputs: float) -> CallBlame:
    case = case_of(SIGMOID, np.array([[-20.0]], np.float32))
    named = {name.replace("_", ":"): np.array([[value]], np.float32) for name, value in outputs.items()}
    return blame_call(SIGMOID, case, "float32", named, accused, TRAITS)


RIGHT, WRONG = 2.0611536e-9, 0.0


def test_another_implementation_within_the_bound_convicts() -> None:
    found = blame("onnxruntime", onnxruntime=WRONG, torch_eager=RIGHT, jax_jit=RIGHT)
    assert (found.klass, found.suspects) == (Class.DEFECT, ("onnxruntime",))
    assert found.within == ("torch:eager", "jax:jit")


def test_those_that_share_the_code_are_suspects_together() -> None:
    found = blame("tensorflow:eager", tensorflow_eager=WRONG, keras_tensorflow=WRONG, torch_eager=RIGHT)
    assert found.suspects == ("tensorflow:eager", "keras:tensorflow")


def test_alone_the_stable_formula_convicts() -> None:
    found = blame("onnxruntime", onnxruntime=WRONG)
    assert (found.klass, found.within) == (Class.DEFECT, ())
    assert found.stable < 16


def test_within_the_bound_nobody_is_blamed() -> None:
    assert blame("onnxruntime", onnxruntime=RIGHT, torch_eager=RIGHT).klass is None


def test_what_no_careful_evaluation_can_do_blames_nobody() -> None:
    """A sum that cancels to far below its terms: the bound explains it, and beyond it all are alike."""
    total = OPERATORS.get("sum")
    x = np.array([[1e8, 1.0, -1e8]], np.float32)
    case = case_of(total, x)
    outputs = {"torch:eager": np.array([0.0], np.float32), "jax:jit": np.array([0.0], np.float32)}
    assert blame_call(total, case, "float32", outputs, "torch:eager", TRAITS).klass is None


def judged(name: str, dtype: str, x: list[float], **outputs: list[float]) -> CallBlame:
    """The first of the outputs is accused; numbers are wrapped as one stacked input."""
    operator = OPERATORS.get(name)
    shape = np.shape(operator.evaluate({}, [np.array([x])]).value)
    named = {target.replace("_", ":"): np.array(y, dtype).reshape(shape) for target, y in outputs.items()}
    return blame_call(operator, case_of(operator, np.array([x], dtype)), dtype, named, next(iter(named)), TRAITS)


@pytest.mark.parametrize("name", ["ndtr", "gelu", "log_ndtr", "erfc"])
def test_far_arguments_are_judged_in_fifty_digits(name: str) -> None:
    far = [1e200, -3.0] if name == "erfc" else [-1e200, -3.0]
    right = np.asarray(OPERATORS.get(name).evaluate({}, [np.array([far])]).value)[0].tolist()
    found = judged(name, "float64", far, torch_eager=[right[0], right[1] * 1.5], jax_jit=right)
    assert (found.klass, found.suspects, found.note) == (Class.DEFECT, ("torch:eager",), "")


def test_where_fifty_digits_fail_float64_judges_and_says_so() -> None:
    def fails(m: Numbers, params: object, x: Array) -> Evaluation:
        if m is not FLOAT:
            raise OverflowError("too far")
        return Evaluation(x, 0 * x)

    operator = replace(SIGMOID, reference=fails)
    case = case_of(SIGMOID, np.array([[2.0]]))
    outputs = {"torch:eager": np.array([[3.0]]), "jax:jit": np.array([[2.0]])}
    found = blame_call(operator, case, "float64", outputs, "torch:eager", TRAITS)
    assert (found.klass, found.suspects) == (Class.DEFECT, ("torch:eager",))
    assert "OverflowError: too far" in found.note


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-30), ("float64", 1e-200)])
def test_beyond_everybody_and_beyond_the_formula_is_ill_conditioned(dtype: str, tiny: float) -> None:
    """The squares underflow in the dtype, in our own formula too."""
    found = judged("l2_norm", dtype, [tiny, tiny], torch_eager=[tiny], jax_jit=[2 * tiny])
    assert (found.klass, found.suspects) == (Class.PRECISION, ())
    assert found.stable > K


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-30), ("float64", 1e-200)])
def test_who_does_better_than_the_formula_convicts_the_others(dtype: str, tiny: float) -> None:
    found = judged("l2_norm", dtype, [tiny, tiny], torch_eager=[tiny], jax_jit=[2**0.5 * tiny], onnxruntime=[0.0])
    assert (found.klass, found.within) == (Class.DEFECT, ("jax:jit",))


def reduced(case: Case, fails: Callable[[Case], bool], place: tuple[int, ...] | None = None) -> Case:
    """What the common driver makes of it, where ``fails`` says of each case whether it still shows."""

    def suspicion(candidate: Case) -> Suspicion:
        worst = WorstElement(place) if place is not None and candidate.digest == case.digest else None
        diagnosis = Diagnosis(Class.DEFECT, ("torch:eager",), measure=Measure("error", 99.0))
        return Suspicion(Kind.PRECISION, diagnosis, candidate, ("torch:eager",), stage=Stage.CALL, worst=worst)

    def check(cases: Sequence[Case]) -> list[Judged]:
        return [Judged(suspicions=(suspicion(item),) if fails(item) else ()) for item in cases]

    return reduce_case(case, suspicion(case).key, check, PASSES, ReductionBudget()).case


class TestReduction:
    def test_an_elementwise_function_is_reduced_to_one_short_number(self) -> None:
        row = np.linspace(-30, 5, 7).reshape(1, 7).astype(np.float32) + np.float32(0.01234)
        case = case_of(SIGMOID, row)

        found = reduced(case, lambda item: bool((item.inputs["x"] < -17.5).any()), place=(0, 0))
        assert found.inputs["x"].shape == (1, 1)
        assert found.inputs["x"][0, 0] == np.float32(-30.0)

    def test_what_can_be_zero_becomes_zero(self) -> None:
        total = OPERATORS.get("sum")
        rng = np.random.default_rng(0)
        row = rng.standard_normal((1, 64)).astype(np.float32) + 10
        row[0, 5], row[0, 40] = 200, 300

        def fails(item: Case) -> bool:
            return {200.0, 300.0} <= set(item.inputs["x"].ravel().tolist())

        found = reduced(case_of(total, row), fails).inputs["x"]
        assert found[found != 0].tolist() == [200, 300]
        assert found.shape == (1, 36)

    def test_an_image_is_cut_to_what_a_window_needs(self) -> None:
        pool = OPERATORS.get("pooling")
        image = np.random.default_rng(0).standard_normal((1, 28, 28, 3)).astype(np.float32)
        image[0, 10:12, 6:8, 1] = -np.inf

        def fails(item: Case) -> bool:
            return bool(np.isneginf(pool.evaluate({}, [item.inputs["x"]]).value).any())

        found = reduced(case_of(pool, image), fails).inputs["x"]
        assert found.shape in ((1, 2, 2, 1), (1, 3, 2, 1), (1, 2, 3, 1), (1, 3, 3, 1))
        assert np.isneginf(found).sum() == 4

    def test_an_image_and_its_kernel_still_fit(self) -> None:
        conv = OPERATORS.get("conv2d")
        sizes = conv.sizes({}, (28, 28, 3))
        image, kernel = np.zeros((1, 28, 28, 3), np.float32), np.full(sizes["kernel"], 0.3, np.float32)
        image[0, 5, 5, 2] = 7

        found = reduced(case_of(conv, image, kernel), lambda item: bool((item.inputs["x"] == 7).any()))
        assert found.inputs["x"].shape[-1] == 3
        assert found.inputs["x"].size < 200
        assert (found.inputs["kernel"] == 1).all()
        assert conv.evaluate({}, conv.operand_arrays(found.inputs)).value.size

    def test_it_keeps_what_it_cannot_reduce(self) -> None:
        case = case_of(SIGMOID, np.array([[-18.123457]], np.float32))
        found = reduced(case, lambda item: item.digest == case.digest)
        assert found.digest == case.digest
