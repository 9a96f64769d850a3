"""A value that should be refused: who says why, who stumbles, who computes on, and who is to blame for it."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.refused import refused_value
from tensorparity.oracles.invalid_value import InvalidValueOracle, is_clear_refusal
from tensorparity.targets.catalogue import traits_of

#: What Keras puts around any exception of a layer.
AROUND = (
    "Exception encountered when calling Dense.call().\n\n\x1b[1m",
    "\x1b[0m\n\nArguments received by Dense.call():",
)
LOADING = "Error when deserializing class 'Dense' using config={'units': 2.5}.\n\nException encountered: "
TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")


def case(units: Json = (2, 2)) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (3,)), name="d", units=units))
    return Case(graph, inputs={"x": np.ones((1, 3), np.float32)})


def raised(target: str, kind: str, message: str) -> Outcome:
    return Outcome(target, Status.RAISED, failure=Failure(kind, message))


def completed(target: str) -> Outcome:
    return Outcome(target, Status.COMPLETED)


def crashed(target: str) -> Outcome:
    return Outcome(target, Status.CRASHED, failure=Failure("SIGFPE", "signal 8"))


def hung(target: str) -> Outcome:
    return Outcome(target, Status.TIMED_OUT, failure=Failure("deadline", "30 s of CPU time"))


def clear(target: str) -> Outcome:
    return raised(target, "ValueError", "units must be a positive integer. Received: units=(2, 2)")


def raw(target: str) -> Outcome:
    return raised(target, "AttributeError", "'NoneType' object has no attribute 'lower'")


def judged(*outcomes: Outcome, units: Json = (2, 2)) -> Judged:
    seen = Seen(case(units), ({outcome.target: outcome for outcome in outcomes},), traits=traits_of(TARGETS))
    return InvalidValueOracle(Setup(targets=TARGETS, traits=traits_of(TARGETS))).judge(seen)


def test_the_declaration_says_which_value_it_is() -> None:
    graph = case().subject
    refused = refused_value(graph)  # type: ignore[arg-type]
    assert refused is not None
    assert (refused.node.key, refused.parameter, refused.value, refused.declared) == ("d#0", "units", (2, 2), False)
    declared = refused_value(case(0).subject)  # type: ignore[arg-type]
    assert declared is not None
    assert declared.declared


def test_all_refuse_and_say_why() -> None:
    found = judged(*map(clear, TARGETS))
    assert not found.suspicions
    assert found.verdicts[0].judgement is Judgement.PASS
    assert set(found.measures["refuses"]) == set(TARGETS)


def test_raw_errors_of_all_are_counted_and_blame_nobody() -> None:
    found = judged(*map(raw, TARGETS))
    assert not found.suspicions
    assert set(found.measures["raises-raw"]) == set(TARGETS)


def test_a_raw_error_is_one_where_another_target_accepts() -> None:
    found = judged(completed("keras:tensorflow"), completed("keras:jax"), raw("keras:torch"))
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.ERROR, ("keras:torch",))
    assert suspicion.diagnosis.parameters == {"units": (2, 2)}


def test_a_value_that_one_target_alone_takes_makes_no_error_of_the_others() -> None:
    assert not judged(completed("keras:tensorflow"), raw("keras:jax"), raw("keras:torch")).suspicions


def test_who_computes_what_the_others_refuse_accepts_it() -> None:
    found = judged(clear("keras:tensorflow"), clear("keras:jax"), completed("keras:torch"))
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.ACCEPTS_INVALID, ("keras:torch",))
    assert suspicion.diagnosis.api == "keras.layers.Dense"


def test_who_stumbles_over_a_value_has_not_refused_it() -> None:
    """Nobody names the parameter: what it should be is nowhere said."""
    stumbling = [raised(t, "ValueError", "Invalid dtype: object") for t in ("keras:tensorflow", "keras:jax")]
    found = judged(*stumbling, completed("keras:torch"))
    assert not found.suspicions
    assert found.verdicts[0].judgement is Judgement.UNDECIDED


def test_one_clear_refusal_against_many_convicts_nobody() -> None:
    found = judged(clear("keras:tensorflow"), completed("keras:jax"), completed("keras:torch"))
    assert not found.suspicions
    assert found.verdicts[0].judgement is Judgement.UNDECIDED


def test_what_all_accept_is_no_finding_unless_documentation_rules_it_out() -> None:
    assert not judged(*map(completed, TARGETS)).suspicions
    (suspicion,) = judged(*map(completed, TARGETS), units=0).suspicions
    assert suspicion.kind is Kind.ACCEPTS_INVALID


def test_dying_of_it_is_a_crash() -> None:
    found = judged(clear("keras:tensorflow"), clear("keras:jax"), crashed("keras:torch"))
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.CRASH, ("keras:torch",))


@pytest.mark.parametrize("units", [(2, 2), 0])
def test_never_coming_back_from_it_is_a_hang(units: Json) -> None:
    """Also of what documentation rules out."""
    found = judged(clear("keras:tensorflow"), clear("keras:jax"), hung("keras:torch"), units=units)
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.HANG, ("keras:torch",))
    assert found.measures["hangs"] == {"keras:torch": [1.0]}


def test_where_all_hang_nobody_says_anything() -> None:
    found = judged(*map(hung, TARGETS))
    assert not found.suspicions
    assert found.verdicts[0].judgement is Judgement.UNDECIDED


@pytest.mark.parametrize(
    ("kind", "message", "is_clear"),
    [
        ("ValueError", "The argument `kernel_size` cannot contain 0(s).", True),
        ("InvalidArgumentError", "Sliding window strides field must be positive", True),
        ("TypeError", "conv2d(): argument 'dilation' must be tuple of ints", True),
        ("RuntimeError", "weird things about units", True),
        ("TypeError", "unsupported operand type(s) for +: 'NoneType' and 'int'", False),
        ("TypeError", "'<' not supported between instances of 'str' and 'int'", False),
        ("TypeError", f"{AROUND[0]}object of type 'int' has no len(){AROUND[1]}", False),
        ("ValueError", f"{AROUND[0]}units must be an integer{AROUND[1]}", True),
        ("TypeError", f"{LOADING}float() argument is a list", False),
        ("TypeError", f"{LOADING}units must be an integer", True),
        ("AssertionError", "units must be positive", False),
        ("ZeroDivisionError", "integer division or modulo by zero", False),
        ("RuntimeError", "x.size() == 3 INTERNAL ASSERT FAILED, expected something", False),
        ("KeyError", "'units'", False),
        ("ValueError", "not enough values to unpack (expected 2, got 1)", False),
        ("ValueError", "too many values to unpack (expected 2)", False),
        ("TypeError", "cannot unpack non-iterable int object", False),
        ("TypeError", "__init__() missing 1 required positional argument: 'x'", False),
        ("TypeError", "f() takes 2 positional arguments but 3 were given", False),
        ("TypeError", "f() got an unexpected keyword argument 'dims'", False),
        ("TypeError", "sequence item 0: expected str instance, int found", False),
        ("TypeError", "can't multiply sequence by non-int of type 'float'", False),
        ("TypeError", "'NoneType' object is not iterable", False),
        ("TypeError", "'float' object cannot be interpreted as an integer", False),
        ("TypeError", 'can only concatenate tuple (not "int") to tuple', False),
        ("TypeError", "must be real number, not str", False),
        ("TypeError", "list indices must be integers or slices, not float", False),
        ("ValueError", "invalid literal for int() with base 10: 'two'", False),
        ("ValueError", "cannot convert float NaN to integer", False),
        ("TypeError", "only integer scalar arrays can be converted to a scalar index", False),
        ("ValueError", "units must be real, not str", True),
        ("ValueError", "Cannot convert '[2]' to a shape.", True),
        ("RuntimeError", "Trying to create tensor with negative dimension -1: [-1, 3]", True),
    ],
)
def test_what_is_clear(kind: str, message: str, is_clear: bool) -> None:
    assert is_clear_refusal(Failure(kind, message), "units") is is_clear
