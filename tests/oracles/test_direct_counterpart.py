"""A function and its counterpart in another library: whether they mean the same, and who is wrong where they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case, Counterpart
from tensorparity.core.oracle import Answer, Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.rule import with_counterpart
from tensorparity.core.verdict import Judgement
from tensorparity.generators.api_inputs import ApiListing
from tensorparity.generators.equivalences.direct_counterparts import carried_over, counterparts_of, plain_name
from tensorparity.oracles.kinds import make_oracle
from tensorparity.targets.catalogue import traits_of

NAMES = ("torch:eager", "jax:eager")
ORDINARY = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -3.0], [3.0, 1.0, -0.5]], np.float32)
EDGE = np.array([[0.0, np.inf, 1.0]], np.float32)
Function = Callable[[Array], Array]


def case(x: Array, api: str = "mystery") -> Case:
    calls = [ApiCall(f"{library}.{api}", (ArrayArg("x"),)) for library in ("torch", "jax.numpy")]
    other = Counterpart(calls[1], rule="direct-counterparts")
    return Case(calls[0], Procedure(goal=Goal.CALL, rows=len(x)), {"x": x}, counterpart=other)


def answered(target: str, side: Case, function: Function) -> Outcome:
    if side.subject.api.partition(".")[0] != target.partition(":")[0]:  # type: ignore[union-attr]
        return Outcome(target, Status.UNSUPPORTED, failure=Failure("Unsupported", "another library's"))
    outputs = {}
    with np.errstate(all="ignore"):
        for row, array in enumerate(side.inputs["x"]):
            outputs[f"{row}/0"] = np.asarray(function(array))
    return Outcome(target, Status.COMPLETED, outputs, reply={"rows": {}})


def judged(oracle: str, x: Array, first: Function, second: Function, api: str = "mystery") -> Judged:
    functions = dict(zip(NAMES, (first, second), strict=True))
    both = case(x, api)
    outcomes = tuple({t: answered(t, side, f) for t, f in functions.items()} for side in both.sides())
    seen = Seen(both, outcomes, traits=traits_of(NAMES))
    judge = make_oracle(oracle, Setup(targets=NAMES))
    found = judge.judge(seen)
    while found.checks:
        answers = [Answer(c, {t: answered(t, c.case, functions[t]) for t in c.targets}) for c in found.checks]
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    return found


def wrong_in_32(x: Array) -> Array:
    return np.where((x == 0) & (x.dtype == np.float32), np.float32(7), np.exp(x)).astype(x.dtype)


def other_at_zero(x: Array) -> Array:
    return np.where(x == 0, 7, np.exp(x)).astype(x.dtype)


class TestTrial:
    def told(self, x: Array, first: Function, second: Function) -> dict[str, int]:
        return dict(judged("counterpart_trial", x, first, second).told)

    def test_what_agrees_on_ordinary_numbers_means_the_same(self) -> None:
        assert self.told(ORDINARY, np.exp, np.exp) == {"alike": 3, "apart": 0}

    def test_other_numbers_say_nothing_of_the_meaning(self) -> None:
        assert self.told(EDGE, np.exp, other_at_zero) == {"alike": 0, "apart": 0}

    def test_other_values_and_shapes_and_dtypes_are_another_meaning(self) -> None:
        assert self.told(ORDINARY, np.exp, np.exp2)["apart"] == 3
        assert self.told(ORDINARY, np.exp, lambda x: np.exp(x)[:1])["apart"] == 3
        assert self.told(ORDINARY, np.exp, lambda x: np.exp(x).astype(np.float64))["apart"] == 3

    def test_nobody_is_convicted_in_a_trial(self) -> None:
        assert not judged("counterpart_trial", ORDINARY, np.exp, np.exp2).suspicions


class TestJudging:
    def test_both_that_agree_pass(self) -> None:
        assert judged("direct_counterpart", EDGE, np.exp, np.exp).verdicts[0].judgement is Judgement.PASS

    def test_who_lies_outside_of_both_float64_runs_is_wrong(self) -> None:
        (found,) = judged("direct_counterpart", EDGE, np.exp, wrong_in_32).suspicions
        assert found.diagnosis.suspects == ("jax:eager",)
        assert found.diagnosis.api == "jax.numpy.mystery"
        (found,) = judged("direct_counterpart", EDGE, wrong_in_32, np.exp).suspicions
        assert found.diagnosis.suspects == ("torch:eager",)

    def test_two_that_differ_in_float64_as_well_blame_nobody(self) -> None:
        found = judged("direct_counterpart", EDGE, np.exp, other_at_zero)
        assert not found.suspicions
        assert found.verdicts[0].judgement is Judgement.UNDECIDED

    def test_numpy_decides_by_name_where_it_is_the_same_elsewhere(self) -> None:
        x = np.concatenate([ORDINARY, EDGE])
        (found,) = judged("direct_counterpart", x, np.exp, other_at_zero, api="exp").suspicions
        assert found.diagnosis.suspects == ("jax:eager",)
        assert not judged("direct_counterpart", x, np.exp, other_at_zero, api="exp2").suspicions


def listing(library: str, *apis: tuple[str, list[str]]) -> ApiListing:
    entries = [
        {"name": name, "kind": "function", "aliases": [], "doc": "", "parameters": [_parameter(p) for p in parameters]}
        for name, parameters in apis
    ]
    return ApiListing.from_json({"library": library, "apis": entries, "excluded": {}})


def _parameter(text: str) -> dict[str, object]:
    name, equals, _ = text.partition("=")
    return {"name": name, "default": None} if equals else {"name": name}


TORCH = listing("torch", ("torch.logsumexp", ["input", "dim", "keepdim="]), ("torch.special.i0", ["input"]))
JAX = listing(
    "jax",
    ("jax.scipy.special.logsumexp", ["a", "axis=", "b=", "keepdims="]),
    ("jax.numpy.i0", ["x"]),
    ("jax.lax.i0", ["x", "y"]),
)


class TestPairs:
    def test_names_are_compared_by_letters_and_digits(self) -> None:
        assert plain_name("tensorflow.math.reduce_logsumexp") == plain_name("torch.logsumexp") == "logsumexp"
        known = {"torch": TORCH, "jax": JAX}
        found = counterparts_of(TORCH.apis["torch.special.i0"], known)
        assert [api.name for api in found] == ["jax.lax.i0", "jax.numpy.i0"]
        assert not list(counterparts_of(JAX.apis["jax.numpy.i0"], known))

    def test_arguments_are_carried_over_by_name_and_tensors_by_place(self) -> None:
        call = ApiCall("torch.logsumexp", (ArrayArg("x"), 1), {"keepdim": True})
        plain = Case(call, Procedure(goal=Goal.CALL), {"x": ORDINARY})
        both = carried_over(plain, TORCH.apis[call.api], JAX.apis["jax.scipy.special.logsumexp"])
        assert both is not None
        assert both.counterpart is not None
        expected = ApiCall("jax.scipy.special.logsumexp", (ArrayArg("x"),), {"axis": 1, "keepdims": True})
        assert both.counterpart.subject == expected

    def test_what_has_no_place_there_is_no_pair(self) -> None:
        call = ApiCall("torch.special.i0", (ArrayArg("x"),), {"odd": 1})
        plain = Case(call, Procedure(goal=Goal.CALL), {"x": ORDINARY})
        i0 = TORCH.apis["torch.special.i0"]
        assert carried_over(plain, i0, JAX.apis["jax.numpy.i0"]) is None
        fine = replace(plain, subject=replace(call, kwargs={}))
        assert carried_over(fine, i0, JAX.apis["jax.numpy.i0"]) is not None
        assert carried_over(fine, i0, JAX.apis["jax.lax.i0"]) is None  # y is missing

    def test_a_reduced_case_keeps_its_other_side(self) -> None:
        both = case(ORDINARY)
        again = with_counterpart(replace(both, inputs={"x": EDGE}))
        assert again is not None
        assert again.counterpart == both.counterpart
        given = replace(both, subject=replace(both.subject, kwargs={"dim": 1}))  # type: ignore[type-var]
        other = replace(both.counterpart, subject=ApiCall("jax.numpy.mystery", (ArrayArg("x"),), {"axis": 1}))  # type: ignore[type-var]
        without = with_counterpart(replace(both, counterpart=other))
        assert without is not None
        assert not without.counterpart.subject.kwargs  # type: ignore[union-attr]
        kept = with_counterpart(replace(given, counterpart=other))
        assert kept is not None
        assert kept.counterpart.subject.kwargs == {"axis": 1}  # type: ignore[union-attr]
