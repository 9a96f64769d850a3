"""A call in two ways: what is a difference, what is rounding, and what blames nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.call import ApiCall, ArrayArg, TupleArg
from tensorparity.core.case import Case, Counterpart
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Answer, Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Judgement
from tensorparity.oracles.call_equivalence import Difference, said_of
from tensorparity.oracles.kinds import make_oracle
from tensorparity.oracles.subjects import call_parameters

T = "torch:eager"
X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
Function = Callable[[Array], Array]


def case(rule: str = "strided", api: str = "torch.mystery", **procedure: object) -> Case:
    plain = Procedure(goal=Goal.CALL, rows=2, **procedure)  # type: ignore[arg-type]
    other = Counterpart(procedure=replace(plain, variant=rule), rule=rule)
    return Case(ApiCall(api, (ArrayArg("x"),)), plain, {"x": X}, counterpart=other)


def answered(given: Case, function: Function, noise: bool = False) -> Outcome:
    """What a library of this function answers to a case, row by row."""
    rows = given.inputs["x"] if given.procedure.rows is not None else given.inputs["x"][None]
    names = [f"{row}/0" if given.procedure.rows is not None else "0" for row in range(len(rows))]
    outputs = {name: np.asarray(function(row)) for name, row in zip(names, rows, strict=True)}
    if noise:
        outputs = {name: array + given.seed for name, array in outputs.items()}
    return Outcome(T, Status.COMPLETED, outputs, reply={"rows": {}})


def judged(
    equivalence: Case, first: Function, second: Function, oracle: str = "equivalence", noise: bool = False
) -> Judged:
    sides = equivalence.sides()
    outcomes = ({T: answered(sides[0], first, noise)}, {T: answered(sides[1], second, noise)})
    seen = Seen(equivalence, outcomes, ({T: sides[0]}, {T: sides[1]}))
    judge = make_oracle(oracle, Setup(targets=(T,)))
    found = judge.judge(seen)
    while found.checks:
        answers = tuple(Answer(check, {T: answered(check.case, first, noise)}) for check in found.checks)
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    return found


def test_two_sides_that_agree_pass() -> None:
    (verdict,) = judged(case(), np.exp, np.exp).verdicts
    assert verdict.judgement is Judgement.PASS


def test_a_last_bit_is_rounding() -> None:
    (verdict,) = judged(case(), np.exp, lambda x: (np.exp(x) * (1 + 3e-7)).astype(np.float32)).verdicts
    assert verdict.judgement is Judgement.PASS


def test_the_side_that_is_off_the_float64_run_is_wrong() -> None:
    found = judged(case(), np.exp, lambda x: (np.exp(x) * 1.01).astype(np.float32))
    (suspicion,) = found.suspicions
    assert found.verdicts[0].judgement is Judgement.FAIL
    assert suspicion.row == 1  # the row in which the difference is largest
    assert suspicion.diagnosis.observations[1].data["wrong"] == 1


def test_where_both_sides_are_off_nobody_is_blamed() -> None:
    def off_by(factor: float) -> Function:
        return lambda x: (np.exp(x) * (factor if x.dtype == np.float32 else 1.0)).astype(x.dtype)

    found = judged(case(), off_by(1.1), off_by(1.2))
    assert (found.verdicts[0].judgement, found.suspicions) == (Judgement.UNDECIDED, ())


def test_a_verdict_does_not_hang_on_the_words_of_it() -> None:
    given = case()
    seen = Seen(given, ({T: answered(given, np.exp)},) * 2, ({T: given},) * 2)
    quoted = Difference(None, "0: its documentation says that both are off", klass=Class.PRECISION)
    assert said_of(seen, T, quoted, 2)[0].judgement is Judgement.PASS
    assert said_of(seen, T, replace(quoted, both_off=True), 2)[0].judgement is Judgement.UNDECIDED


def test_integers_that_become_floats_are_rounded_first() -> None:
    def narrow(x: Array) -> Array:
        return np.sin(x).astype(np.float32 if x.dtype.kind == "i" else np.float64)

    def cast(size: float) -> Case:
        wide = np.full((2, 3), size)
        plain = Procedure(goal=Goal.CALL, rows=2)
        other = Counterpart(inputs={"x": wide.astype(np.int64)}, rule="cast-int64-float64")
        return Case(ApiCall("torch.mystery", (ArrayArg("x"),)), plain, {"x": wide}, counterpart=other)

    def off(x: Array) -> Array:
        return narrow(x) + np.float32(0.5)

    assert judged(cast(3.0), narrow, off).verdicts[0].judgement is Judgement.FAIL
    assert judged(cast(2.0**25), narrow, off).verdicts[0].judgement is Judgement.PASS


def test_of_training_the_optimizer_is_accused() -> None:
    trained = case("optimizer-state", api="torch.nn.Sequential", variant='trained Adagrad{"lr":0.5}')
    (suspicion,) = judged(trained, np.exp, lambda x: x + np.float32(0.5)).suspicions
    assert suspicion.diagnosis.api == "torch.optim.Adagrad"
    (suspicion,) = judged(case(), np.exp, lambda x: x + np.float32(0.5)).suspicions
    assert suspicion.diagnosis.api == "torch.mystery"


def test_a_jump_excuses_both_sides() -> None:
    """Halves may be rounded either way; but not to a third number."""
    halves = replace(case(), inputs={"x": np.asarray([[0.5, 2.5], [1.5, 3.5]], np.float32)})
    assert not judged(halves, np.rint, np.ceil).suspicions
    assert judged(halves, np.rint, lambda x: np.ceil(x) + 1).suspicions


def test_the_weights_of_an_object_are_drawn_alike_on_both_sides() -> None:
    def program(name: str, **more: object) -> Case:
        made = ApiCall(name, (3, 3), more)
        plain = Procedure(goal=Goal.CALL, rows=2)
        first, second = (
            ApiCall("()", (made, given)) for given in (ArrayArg("x"), ApiCall("torch.clone", (ArrayArg("x"),)))
        )
        return Case(first, plain, {"x": X}, counterpart=Counterpart(subject=second, rule="time-major"))

    def off(x: Array) -> Array:
        return x + np.float32(0.5)

    assert judged(program("torch.nn.RNN"), np.exp, off, noise=True).verdicts[0].judgement is Judgement.FAIL
    for way, judgement in (
        ("export", Judgement.FAIL),
        ("turned + jit.trace", Judgement.FAIL),
        ("trained Adagrad, state_dict", Judgement.FAIL),
        ("saved", Judgement.FAIL),
        ("fake", Judgement.PASS),
    ):
        plain = program("torch.nn.RNN")
        given = Counterpart(procedure=replace(plain.procedure, variant=way), rule="module-export")
        traced = replace(plain, counterpart=given)
        assert judged(traced, np.exp, off, noise=True).verdicts[0].judgement is judgement
    for drawing in (program("torch.nn.RNN", dropout=0.5), program("torch.nn.RReLU")):
        assert judged(drawing, np.exp, off, noise=True).verdicts[0].judgement is Judgement.PASS


def _factors(values: float, vectors: float, rows: int | None) -> Outcome:
    """Two results: eigenvalues, eigenvectors."""
    named = {"0": np.full(3, values, np.float32), "1": np.full(3, vectors, np.float32)}
    stacked = {f"{row}/{name}": array for row in range(rows or 0) for name, array in named.items()}
    return Outcome(T, Status.COMPLETED, stacked if rows else named, reply={"rows": {}})


@pytest.mark.parametrize(
    ("api", "values", "judgement"),
    [
        ("torch.linalg.eigh", 1, Judgement.PASS),
        ("torch.linalg.eigh", 2, Judgement.FAIL),
        ("torch.linalg.eig", 2, Judgement.PASS),
    ],
)
def test_of_a_factorization_the_ordered_eigenvalues_are_determined(
    api: str, values: float, judgement: Judgement
) -> None:
    equivalence = case(api=api)
    sides = equivalence.sides()
    outcomes = ({T: _factors(1, 1, 2)}, {T: _factors(values, -1, 2)})
    seen = Seen(equivalence, outcomes, ({T: sides[0]}, {T: sides[1]}))
    judge = make_oracle("equivalence", Setup(targets=(T,)))
    found = judge.judge(seen)
    while found.checks:
        answers = tuple(Answer(check, {T: _factors(1, 1, check.case.procedure.rows)}) for check in found.checks)
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    assert found.verdicts[0].judgement is judgement


def test_what_depends_on_the_seed_is_drawn() -> None:
    found = judged(case(), np.exp, lambda x: np.exp(x) + 1, noise=True)
    assert not found.suspicions


def test_another_dtype_is_a_difference() -> None:
    assert judged(case(), np.exp, lambda x: np.exp(x).astype(np.float64)).suspicions


def test_forms_alone_are_compared_where_a_rule_promises_no_more() -> None:
    assert not judged(case("meta"), np.exp, np.zeros_like).suspicions
    assert judged(case("meta"), np.exp, lambda x: np.zeros(2, np.float32)).suspicions


def test_every_bit_counts_where_nothing_is_computed() -> None:
    zeros = replace(case("pad-unpad"), inputs={"x": np.zeros((2, 3), np.float32)})
    assert judged(zeros, np.abs, np.negative).suspicions
    assert not judged(
        replace(zeros, counterpart=replace(zeros.counterpart, rule="strided")), np.abs, np.negative
    ).suspicions


@pytest.mark.parametrize(("message", "found"), [("index out of bounds", 1), ("not implemented for 'Half'", 0)])
def test_refused_on_one_side_alone_is_a_difference_unless_it_is_a_lack(message: str, found: int) -> None:
    equivalence = case()
    sides = equivalence.sides()
    refused = Outcome(T, Status.RAISED, failure=Failure("RuntimeError", message))
    seen = Seen(equivalence, ({T: answered(sides[0], np.exp)}, {T: refused}))
    assert len(make_oracle("equivalence", Setup(targets=(T,))).judge(seen).suspicions) == found


@pytest.mark.parametrize(
    ("rule", "message", "found"),
    [
        ("of-nothing", "expected non-zero dimensions but got [0, 4]", 0),
        ("of-nothing", "Invalid number of data points (0) specified", 0),
        ("of-nothing", "Inconsistent configuration parameters", 1),
        ("of-nothing", "vector::reserve", 1),
        ("row-by-row", "expected non-zero dimensions but got [0, 4]", 1),
    ],
)
def test_an_axis_that_must_not_be_empty_is_the_librarys_right(rule: str, message: str, found: int) -> None:
    equivalence = case(rule)
    refused = Outcome(T, Status.RAISED, failure=Failure("RuntimeError", message))
    seen = Seen(equivalence, ({T: answered(equivalence.sides()[0], np.exp)}, {T: refused}))
    assert len(make_oracle("equivalence", Setup(targets=(T,))).judge(seen).suspicions) == found


@pytest.mark.parametrize(("rule", "found"), [("forward-mode", 0), ("strided", 1)])
def test_nan_on_one_side_blames_nobody_where_the_sides_compute_in_ways_of_their_own(rule: str, found: int) -> None:
    """In float64 nothing of more digits says which is right."""
    other = replace(case(rule, derivative=1), inputs={"x": X.astype(np.float64)})
    sides = other.sides()

    def pulled(side: Case, value: float) -> Outcome:
        plain = answered(side, np.sin)
        start = [f"{row}/" for row in range(2)] if side.procedure.rows is not None else [""]
        return replace(plain, trace=Trace(gradients={f"{s}input:x": np.full(3, value) for s in start}))

    seen = Seen(other, ({T: pulled(sides[0], 1.0)}, {T: pulled(sides[1], np.nan)}))
    judge = make_oracle("equivalence", Setup(targets=(T,)))
    while (judged_so := judge.judge(seen)).checks:
        answers = tuple(Answer(check, {T: pulled(check.case, 1.0)}) for check in judged_so.checks)
        seen = replace(seen, answers=(*seen.answers, *answers))
    assert len(judged_so.suspicions) == found


@pytest.mark.parametrize(("numbers", "found"), [((1.7e308, 1.7e308, 1.0), 0), ((1.7e308, 1.0, 1.0), 1)])
def test_which_sums_leave_the_range_of_float64_depends_on_their_order(numbers: tuple[float, ...], found: int) -> None:
    wide = replace(case(), inputs={"x": np.array([numbers] * 2)})
    assert len(judged(wide, np.abs, lambda x: x * np.nan).suspicions) == found


def test_refused_on_both_sides_says_nothing() -> None:
    refused = Outcome(T, Status.RAISED, failure=Failure("ValueError", "no"))
    seen = Seen(case(), ({T: refused}, {T: refused}))
    (verdict,) = make_oracle("equivalence", Setup(targets=(T,))).judge(seen).verdicts
    assert verdict.judgement is Judgement.UNDECIDED


def test_gradients_are_compared_as_well() -> None:
    equivalence = case(derivative=1)
    sides = equivalence.sides()

    def with_gradients(side: Case, factor: float) -> Outcome:
        plain = answered(side, np.sin)
        rows = side.inputs["x"] if side.procedure.rows is not None else side.inputs["x"][None]
        start = [f"{row}/" if side.procedure.rows is not None else "" for row in range(len(rows))]
        pulled = {f"{s}input:x": (np.cos(row) * factor).astype(row.dtype) for s, row in zip(start, rows, strict=True)}
        return replace(plain, trace=Trace(gradients=pulled))

    seen = Seen(equivalence, ({T: with_gradients(sides[0], 1.0)}, {T: with_gradients(sides[1], 2.0)}))
    judge = make_oracle("equivalence", Setup(targets=(T,)))
    found = judge.judge(seen)
    while found.checks:
        answers = tuple(Answer(check, {T: with_gradients(check.case, 1.0)}) for check in found.checks)
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    assert found.suspicions[0].stage.value == "backward"


def test_the_papers_threshold_is_an_absolute_one() -> None:
    near = judged(case(), np.exp, lambda x: np.exp(x) + 0.009, "eagle")
    far = judged(case(), np.exp, lambda x: np.exp(x) + 0.011, "eagle")
    assert not near.suspicions
    assert far.suspicions


def test_only_the_function_can_be_accused_of_its_formula() -> None:
    rule = case("documented-formula", "torch.exp2")
    assert not judged(rule, np.exp, lambda x: (np.exp(x) * 1.01).astype(np.float32)).suspicions


def test_fractions_that_whole_numbers_cannot_hold_are_left_out() -> None:
    """A mean of integers may be rounded; one of whole numbers is what it is."""
    whole = replace(case("cast-int64-float64"), inputs={"x": np.asarray([[1.0, 2.0], [2.0, 4.0]])})
    assert not judged(whole, lambda x: x / 2, lambda x: x.astype(np.int64) // 2).suspicions
    assert judged(whole, lambda x: x / 2, lambda x: x.astype(np.int64) // 2 + 1).suspicions


def test_a_function_may_take_one_of_two_types_alone() -> None:
    equivalence = case("cast-float32-float64")
    refused = Outcome(T, Status.RAISED, failure=Failure("RuntimeError", "expected scalar type Float but found Double"))
    seen = Seen(equivalence, ({T: refused}, {T: answered(equivalence.sides()[1], np.exp)}))
    assert not make_oracle("equivalence", Setup(targets=(T,))).judge(seen).suspicions


def test_who_sees_no_numbers_cannot_refuse_them() -> None:
    equivalence = case("meta")
    refused = Outcome(T, Status.RAISED, failure=Failure("RuntimeError", "all elements should be between 0 and 1"))
    seen = Seen(equivalence, ({T: refused}, {T: answered(equivalence.sides()[1], np.exp)}))
    assert not make_oracle("equivalence", Setup(targets=(T,))).judge(seen).suspicions


def test_a_way_that_runs_all_inputs_at_once_fails_with_one_of_them() -> None:
    equivalence = case("dataset")
    some = replace(answered(equivalence.sides()[0], np.exp), reply={"rows": {"1": {"type": "E", "message": "no"}}})
    refused = Outcome(T, Status.RAISED, failure=Failure("E", "no"))
    found = make_oracle("equivalence", Setup(targets=(T,))).judge(Seen(equivalence, ({T: some}, {T: refused})))
    assert found.verdicts[0].judgement is Judgement.UNDECIDED


def test_of_whole_numbers_some_functions_make_float32_which_knows_fewer_digits() -> None:
    def sine(x: Array) -> Array:
        made = x.astype(np.float32 if x.dtype.kind == "i" else x.dtype)
        return np.sin(made.dtype.type(np.pi) * made)

    def wrong(x: Array) -> Array:
        return sine(x) + (x.dtype.kind == "i") * np.float32(1e-4)

    def cast(function: Function) -> Judgement:
        wide = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        other = Counterpart(inputs={"x": wide.astype(np.int64)}, rule="cast-int64-float64")
        given = replace(case("cast-int64-float64"), inputs={"x": wide}, counterpart=other)
        return judged(given, function, function).verdicts[0].judgement

    assert (cast(sine), cast(wrong)) == (Judgement.PASS, Judgement.FAIL)


@pytest.mark.parametrize(("rule", "verdict"), [("promoted-int32-float16", "pass"), ("cast-float16-float32", "fail")])
def test_of_two_types_the_call_with_converted_inputs_is_never_accused(rule: str, verdict: str) -> None:
    """Whoever compares without converting sees more digits than the table of promotion promises."""
    x, y = np.asarray([[1, 2], [4097, 4098]], np.int32), np.ones((2, 1), np.float16)
    other = Counterpart(inputs={"x": x.astype(np.float16), "y": y}, rule=rule)
    given = replace(case(rule), inputs={"x": x, "y": y}, counterpart=other)

    def is_small(row: Array) -> Array:
        return (row < 100) | (row.dtype == np.float16)

    assert judged(given, is_small, is_small).verdicts[0].judgement is Judgement(verdict)


def test_whole_numbers_and_pictures_accuse_who_alone_can_be_wrong() -> None:
    """Nothing is rounded of them, and so no float64 run is needed."""
    whole = replace(case("numpy-twin"), inputs={"x": np.asarray([[1, 2, 3], [4, 5, 6]], np.int32)})
    (suspicion,) = judged(whole, lambda x: x * 0 + 5, np.invert).suspicions
    assert suspicion.diagnosis.observations[1].data["wrong"] == 0
    assert judged(whole, lambda x: x > 2, lambda x: x > 3).suspicions
    picture = replace(case("encode-decode-lossy"), inputs={"x": np.full((2, 3), 7, np.uint8)})
    assert judged(picture, lambda x: x + np.uint8(200), np.positive).suspicions
    assert not judged(picture, lambda x: x + np.uint8(1), np.positive).suspicions


def test_nan_where_the_defining_side_has_numbers_accuses_the_function() -> None:
    wide = replace(case("numpy-twin"), inputs={"x": X.astype(np.float64)})
    assert judged(wide, lambda x: np.where(x > 0, np.nan, x), np.positive).suspicions
    assert not judged(wide, lambda x: x * 1.1, np.positive).suspicions


def _wide(function: Function, factor: float, api: str = "torch.mystery", rule: str = "strided") -> Judged:
    other = replace(case(rule, api), inputs={"x": np.asarray([[0.5, 1.5, 2.5], [1.0, -2.0, 3.0]])})
    return judged(other, function, lambda x: function(x) * factor)


def test_float64_is_held_against_how_far_its_last_digits_take_it() -> None:
    """One side is off by many roundoffs: it differs, and nothing says who is wrong."""
    assert not _wide(np.exp, 1 + 1e-14).suspicions
    (suspicion,) = _wide(np.exp, 1 + 1e-9).suspicions
    assert suspicion.diagnosis.observations[1].data["wrong"] is None

    def cancelling(x: Array) -> Array:
        return (x + np.float64(1e8)) - np.float64(1e8)

    assert not _wide(lambda x: np.sin(1e8 * x), 1 + 1e-10).suspicions  # its inputs' last digits do more
    assert _wide(cancelling, 1 + 1e-5).suspicions


def test_the_catalogue_or_who_defines_a_function_says_who_is_wrong_in_float64() -> None:
    for api in ("jax.numpy.sinh", "torch.sinh"):
        (suspicion,) = _wide(np.sinh, 1 + 1e-9, api).suspicions
        assert suspicion.diagnosis.observations[1].data["wrong"] == 1


def test_tuples_among_arguments_are_lists_in_a_report() -> None:
    call = ApiCall(
        "torch.nn.functional.pad", (ArrayArg("x"),), {"pad": TupleArg((1, TupleArg((2,)))), "mode": "constant"}
    )
    assert call_parameters(Case(call, Procedure(goal=Goal.CALL))) == {"pad": [1, [2]], "mode": "constant"}
