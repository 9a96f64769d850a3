"""One call on several targets: float64 runs that agree say who is wrong; a vote alone blames nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.oracle import Answer, Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Judgement, Kind, Stage
from tensorparity.oracles.kinds import make_oracle

NAMES = ("keras:numpy", "keras:torch", "keras:tensorflow", "keras:jax")
X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
Function = Callable[[Array], Array]


def refuses(x: Array) -> Array:
    raise ValueError("the axis is out of bounds")


def dies(x: Array) -> Array:
    raise MemoryError


def answered(target: str, given: Case, function: Function, announced: Function = np.exp) -> Outcome:
    outputs, failures = {}, {}
    if given.procedure.variant == "symbolic":
        try:
            return Outcome(target, Status.COMPLETED, {"0": np.zeros_like(announced(given.inputs["x"]))})
        except ValueError as error:
            return Outcome(target, Status.RAISED, failure=Failure("ValueError", str(error)))
    if function is dies:
        return Outcome(target, Status.CRASHED, failure=Failure("SIGSEGV", ""))
    for row, array in enumerate(given.inputs["x"]):
        try:
            outputs[f"{row}/0"] = np.asarray(function(array))
        except ValueError as error:
            failures[str(row)] = {"type": "ValueError", "message": str(error)}
    if len(failures) == len(given.inputs["x"]):
        return Outcome(target, Status.RAISED, failure=Failure(**failures["0"]))
    return Outcome(target, Status.COMPLETED, outputs, reply={"rows": failures})


def judged(
    functions: Mapping[str, Function], x: Array = X, api: str = "keras.ops.mystery", announced: Function = np.exp
) -> Judged:
    case = Case(ApiCall(api, (ArrayArg("x"),)), Procedure(goal=Goal.CALL, rows=len(x)), {"x": x})
    seen = Seen(case, ({t: answered(t, case, f) for t, f in functions.items()},), (dict.fromkeys(functions, case),))
    judge = make_oracle("same_call", Setup(targets=tuple(functions)))
    found = judge.judge(seen)
    while found.checks:
        answers = (
            Answer(c, {t: answered(t, c.case, functions[t], announced) for t in c.targets}) for c in found.checks
        )
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    return found


def all_but(*others: Function) -> dict[str, Function]:
    given = [*others, *[np.exp] * (len(NAMES) - len(others))]
    return dict(zip(reversed(NAMES), given, strict=True))


def wrong_in_32(x: Array) -> Array:
    return np.asarray(np.exp(x) * (1.01 if x.dtype == np.float32 else 1.0)).astype(x.dtype)


def test_all_that_agree_pass() -> None:
    found = judged(all_but())
    assert [verdict.judgement for verdict in found.verdicts] == [Judgement.PASS]
    assert not found.suspicions


def test_the_one_outside_of_two_float64_runs_is_accused() -> None:
    (suspicion,) = judged(all_but(wrong_in_32)).suspicions
    assert suspicion.diagnosis.suspects == ("keras:jax",)
    assert (suspicion.oracle, suspicion.kind) == ("same_call", Kind.INCONSISTENCY)


def test_most_may_be_wrong() -> None:
    (suspicion,) = judged(all_but(wrong_in_32, wrong_in_32, wrong_in_32)).suspicions
    assert set(suspicion.diagnosis.suspects) == set(NAMES[1:])


def test_where_no_two_float64_runs_agree_nobody_is_blamed() -> None:
    others = [lambda x, by=by: (np.exp(x) * by).astype(x.dtype) for by in (1.1, 1.2, 1.3)]
    assert not judged(all_but(*others)).suspicions


def test_one_that_refuses_what_all_others_take_is_accused() -> None:
    (suspicion,) = judged(all_but(refuses)).suspicions
    assert (suspicion.diagnosis.suspects, suspicion.kind) == (("keras:jax",), Kind.ERROR)
    assert not judged(all_but(refuses, refuses)).suspicions


def test_one_that_refuses_some_of_the_inputs_is_accused_as_well() -> None:
    def sometimes(x: Array) -> Array:
        return refuses(x) if x[0] > 0 else np.exp(x)

    (suspicion,) = judged(all_but(sometimes)).suspicions
    assert (suspicion.diagnosis.suspects, suspicion.row) == (("keras:jax",), 1)


def test_nobody_is_accused_of_refusing_what_the_library_announces_no_result_of() -> None:
    assert not judged(all_but(refuses), announced=refuses).suspicions


def test_one_that_dies_is_accused() -> None:
    (suspicion,) = judged(all_but(dies)).suspicions
    assert (suspicion.diagnosis.suspects, suspicion.kind) == (("keras:jax",), Kind.CRASH)


def test_whole_numbers_are_held_against_numpys_function_of_that_name() -> None:
    whole = np.asarray([[-3, 2, 3], [4, -1, 6], [7, 8, -9]], np.int32)
    (suspicion,) = judged(all_but(np.positive, *[np.absolute] * 3), whole[::-1], "keras.ops.absolute").suspicions
    assert suspicion.diagnosis.suspects == ("keras:jax",)
    most = all_but(np.positive, np.positive, np.absolute, np.absolute)
    assert judged(most, whole, "keras.ops.absolute").suspicions[0].diagnosis.suspects == (
        "keras:jax",
        "keras:tensorflow",
    )
    assert not judged(all_but(np.positive, *[np.absolute] * 3), whole, "keras.ops.mystery").suspicions
    assert not judged(all_but(np.positive, *[np.absolute] * 3), whole, "keras.ops.square").suspicions


def test_truths_of_numbers_are_held_against_runs_in_float64() -> None:
    def isfinite(x: Array) -> Array:
        return np.isfinite(x)

    wrong = all_but(lambda x: np.isfinite(x) | np.isinf(x), isfinite, isfinite, isfinite)
    x = np.asarray([[1.0, np.inf, 2.0]], np.float32)
    assert judged(wrong, x).suspicions[0].diagnosis.suspects == ("keras:jax",)


def test_another_shape_or_dtype_than_is_announced_accuses_whoever_gives_it() -> None:
    flat = judged(all_but(lambda x: np.exp(x).reshape(1, 3)))
    assert [(s.diagnosis.suspects, s.kind) for s in flat.suspicions] == [(("keras:jax",), Kind.SHAPE)]
    narrow = judged(all_but(lambda x: np.exp(x).astype(np.float16)))
    assert [(s.diagnosis.suspects, s.kind) for s in narrow.suspicions] == [(("keras:jax",), Kind.DTYPE)]
    wide = judged(all_but(lambda x: np.exp(x).astype(np.float64)))
    assert [(s.diagnosis.suspects, s.kind) for s in wide.suspicions] == [(("keras:jax",), Kind.DTYPE)]
    announced = all_but(*[lambda x: np.exp(x).astype(np.float64)] * 2)
    assert not judged(announced, announced=lambda x: np.exp(x).astype(np.float64)).suspicions  # narrowed by the others
    assert not judged(all_but(lambda x: np.exp(x).reshape(1, 3)), announced=refuses).suspicions
    other = all_but(*[lambda x: np.exp(x).astype(np.float16)] * 3)
    assert not judged(other).suspicions  # one alone gives what is announced


def test_sorted_numbers_are_determined_in_spite_of_ties() -> None:
    x = np.asarray([[3.0, 1.0, 1.0]], np.float32)
    wrong = all_but(lambda x: np.sort(x) + np.float32(x.dtype == np.float32), np.sort, np.sort, np.sort)
    assert judged(wrong, x, "keras.ops.sort").suspicions[0].diagnosis.suspects == ("keras:jax",)
    wrong = all_but(lambda x: np.sort(x) + np.float32(x.dtype == np.float32), np.sort, np.sort, np.sort)
    assert not judged(wrong, x, "keras.ops.mode").suspicions


def test_what_one_lacks_is_no_refusal() -> None:
    def lacks(x: Array) -> Array:
        raise ValueError("it is not differentiable")

    assert not judged(all_but(lacks)).suspicions


def test_numbers_that_some_narrow_or_take_for_zero_are_left_out() -> None:
    assert not judged(all_but(wrong_in_32), np.full((1, 3), 1e-44, np.float32)).suspicions
    assert not judged(all_but(lambda x: 2 * np.exp(x)), X.astype(np.float64)).suspicions


def test_outcomes_that_are_missing_are_no_votes() -> None:
    functions = dict.fromkeys(NAMES[:2], np.exp)
    (verdict,) = judged(functions).verdicts
    assert verdict.judgement is Judgement.UNDECIDED


def test_a_few_roundoffs_of_the_largest_number_are_nobodys() -> None:
    def short(x: Array) -> Array:
        return np.asarray(np.exp(x) + (5e-7 if x.dtype == np.float32 else 0.0)).astype(x.dtype)

    large = np.asarray([[-9.0, 1.0]], np.float32)
    assert not judged(all_but(short), large).suspicions
    assert judged(
        all_but(lambda x: (short(x) + (1e-4 if x.dtype == np.float32 else 0)).astype(x.dtype)), large
    ).suspicions


def pulled(target: str, given: Case, slope: Function) -> Outcome:
    """What a library of |x| with this gradient answers."""
    if target == "keras:numpy":
        return Outcome(target, Status.UNSUPPORTED, failure=Failure("Unsupported", "no gradients"))
    rows = given.inputs["x"] if given.procedure.rows is not None else given.inputs["x"][None]
    start = [f"{row}/" if given.procedure.rows is not None else "" for row in range(len(rows))]
    chosen = np.sign if given.procedure.variant == "slopes" else slope
    gradients = {f"{s}input:x": np.asarray(chosen(row)).astype(row.dtype) for s, row in zip(start, rows, strict=True)}
    outputs = {f"{s}0": np.abs(row) for s, row in zip(start, rows, strict=True)}
    return Outcome(target, Status.COMPLETED, outputs, Trace(gradients=gradients), reply={"rows": {}})


def judged_gradients(*slopes: Function, x: float = 0.0) -> Judged:
    functions = dict(zip(NAMES, (np.sign, *slopes), strict=True))
    given = np.asarray([[x, 1.0, -2.0]], np.float32)
    procedure = Procedure(goal=Goal.CALL, rows=1, derivative=1)
    case = Case(ApiCall("keras.ops.mystery", (ArrayArg("x"),)), procedure, {"x": given})
    seen = Seen(case, ({t: pulled(t, case, f) for t, f in functions.items()},), (dict.fromkeys(functions, case),))
    judge = make_oracle("same_call", Setup(targets=tuple(functions)))
    found = judge.judge(seen)
    while found.checks:
        answers = (Answer(c, {t: pulled(t, c.case, functions[t]) for t in c.targets}) for c in found.checks)
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    return found


def at_kink(value: float) -> Function:
    return lambda x: np.where(np.abs(x) < 1e-30, value, np.sign(x))


def test_gradients_at_kinks_may_be_any_between_both_slopes() -> None:
    assert not judged_gradients(np.sign, np.sign, at_kink(1.0)).suspicions
    (suspicion,) = judged_gradients(np.sign, np.sign, at_kink(7.0)).suspicions
    assert (suspicion.diagnosis.suspects, suspicion.stage) == (("keras:jax",), Stage.BACKWARD)
    assert judged_gradients(np.sign, np.sign, at_kink(np.nan)).suspicions


def test_gradients_count_element_by_element() -> None:
    """Beside a kink as well as at it."""
    wrong = [lambda x, at=at: np.where(x == at, 7.0, np.sign(x)) for at in (0.0, 1.0)]
    assert judged_gradients(np.sign, np.sign, wrong[0]).suspicions
    assert judged_gradients(np.sign, np.sign, wrong[1]).suspicions


def test_a_gradient_that_is_no_slope_convicts_nobody() -> None:
    """Two share a mistake, and the one that they would accuse is right."""
    twice = lambda x: 2 * np.sign(x)  # noqa: E731
    assert not judged_gradients(twice, twice, np.sign, x=3.0).suspicions


def test_nan_may_spread_but_not_get_lost() -> None:
    x = np.asarray([[1.0, np.nan, 2.0]], np.float32)
    assert not judged(all_but(lambda x: x * np.nan, *[lambda x: x] * 3), x).suspicions
    assert judged(all_but(lambda x: np.nan_to_num(x), *[lambda x: x] * 3), x).suspicions
    ignoring = all_but(lambda x: x * np.nan, *[np.nan_to_num] * 3)
    assert judged(ignoring, x, "keras.ops.nanmystery").suspicions


def test_of_infinities_only_what_is_finite_all_the_same_is_judged() -> None:
    x = np.asarray([[1.0, np.inf, 2.0]], np.float32)

    def at_infinity(value: float) -> Function:
        return lambda x: np.where(np.isinf(x), value, x).astype(x.dtype)

    assert not judged(all_but(at_infinity(np.nan), *[at_infinity(np.inf)] * 3), x).suspicions
    assert judged(all_but(at_infinity(np.nan), *[at_infinity(0.0)] * 3), x).suspicions


def test_where_float64_runs_agree_on_two_answers_nobody_is_blamed() -> None:
    split = all_but(lambda x: 2 * x, lambda x: 2 * x, lambda x: x, lambda x: x)
    assert not judged(split).suspicions


def test_elimination_with_numbers_far_apart_blames_nobody() -> None:
    large = np.asarray([[1e20, 1.0, 2.0]], np.float32)
    assert judged(all_but(wrong_in_32, *[np.sinh] * 3), X).suspicions
    wrong = all_but(lambda x: x * np.float32(1.5) if x.dtype == np.float32 else x, *[lambda x: x] * 3)
    assert judged(wrong, large).suspicions
    assert not judged(wrong, large, "keras.ops.det").suspicions
