"""Initializers and variables: all of them in all ways, by an oracle that misses none of what can be wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array, dtype_named
from tensorparity.core.call import CALLED, SEVERAL, ApiCall, TupleArg
from tensorparity.core.case import Case
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.policies import POLICIES
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.generators.single_cases.initializers import initializer_cases
from tensorparity.generators.single_cases.streams import SingleCases
from tensorparity.operators.functions.drawn_calls import ADD_WEIGHT, LAYER, DrawnCall, drawn_call
from tensorparity.operators.functions.initializers import INITIALIZERS, PREFIX, fans, initialized
from tensorparity.oracles.drawn import Drawn
from tensorparity.reporting.words import sentence

MANY = 24 * 2 * len(INITIALIZERS)


def understood(case: Case) -> list[DrawnCall]:
    return [drawn_call(call, case.inputs) for call in case.subject.args]  # type: ignore[union-attr]


def judged(case: Case, outputs: Sequence[Array]) -> Judged:
    named = {str(place): output for place, output in enumerate(outputs)}
    return Drawn(Setup()).judge(Seen(case, ({"t": Outcome("t", Status.COMPLETED, named)},)))


def initializer(name: str, *, shape: tuple[int, ...] = (64, 96), dtype: str = "float32", **given: Any) -> Case:
    seeds = (3, 3, 4) if "seed" in given else (None,)
    calls = []
    for seed in seeds:
        own = {**given, "seed": seed} if seed is not None else given
        kwargs = {"shape": TupleArg(shape), "dtype": dtype}
        calls.append(ApiCall(CALLED, (ApiCall(PREFIX + name, (), own),), kwargs))
    return Case(ApiCall(SEVERAL, tuple(calls)), Procedure(goal=Goal.CALL))


def draw(case: Case, how: Callable[[np.random.Generator], Array]) -> list[Array]:
    """Right numbers, from the seeds of the case."""
    return [how(np.random.default_rng(call.seed)).astype(dtype_named(call.dtype)) for call in understood(case)]


def said(found: Judged) -> str:
    (suspicion,) = found.suspicions
    return sentence(suspicion.diagnosis.observations[0])


def test_every_initializer_is_drawn_under_every_policy_and_in_every_way() -> None:
    apis, policies, dtypes = set(), set(), set()
    for case in islice(initializer_cases(0), MANY):
        for call in understood(case):
            apis.add(call.api)
            dtypes.add(call.dtype)
            policies.add(call.given.get("policy"))
    assert apis >= {PREFIX + name for name in INITIALIZERS}
    assert apis >= {"keras.Variable", "keras.Variable.assign", "keras.Variable.assign_add", f"{LAYER}.add_weight"}
    assert policies >= set(POLICIES)
    assert dtypes >= {"float32", "float16", "bfloat16", "float64"}


def test_every_initializer_is_met_early() -> None:
    first = [understood(case)[0] for case in islice(initializer_cases(0), 2 * len(INITIALIZERS))]
    named = {str(call.given.get("initializer", call.api)) for call in first if "Variable" not in call.api}
    assert len(named) > 8


def test_a_round_names_the_oracle() -> None:
    asks = [ask for ask in SingleCases(0, ("initializers",)).round() if ask.oracles]
    assert [ask.oracles for ask in asks] == [("drawn",)] * 2
    assert not any(ask.counted for ask in asks)


def test_the_policy_of_a_layer_decides_the_dtype() -> None:
    layer = ApiCall(LAYER, (), {"dtype": "mixed_bfloat16"})
    call = drawn_call(ApiCall(ADD_WEIGHT, (layer,), {"shape": TupleArg((4, 6))}), {})
    assert (call.dtype, call.given["initializer"]) == ("float32", "GlorotUniform")
    assert call.wanted is not None
    assert call.wanted.high == pytest.approx((6 / 10) ** 0.5)
    pure = drawn_call(ApiCall(ADD_WEIGHT, (ApiCall(LAYER, (), {"dtype": "bfloat16"}),), {"shape": TupleArg((4,))}), {})
    assert pure.dtype == "bfloat16"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), (1, 1)), ((7,), (7, 7)), ((4, 6), (4, 6)), ((3, 3, 8, 16), (72, 144)), ((5, 16, 12), (80, 60))],
)
def test_fans(shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    assert fans(shape) == expected


@pytest.mark.parametrize(
    ("name", "shape", "variance", "high"),
    [
        ("GlorotUniform", (4, 6), 0.2, 0.6**0.5),
        ("GlorotNormal", (4, 6), 0.2, None),
        ("HeNormal", (3, 3, 8, 16), 2 / 72, None),
        ("HeUniform", (4, 6), 0.5, 1.5**0.5),
        ("LecunNormal", (4, 6), 0.25, None),
        ("LecunUniform", (4, 6), 0.25, 0.75**0.5),
        ("RandomUniform", (4,), 0.01 / 12, 0.05),
        ("RandomNormal", (4,), 0.0025, None),
    ],
)
def test_what_is_documented(name: str, shape: tuple[int, ...], variance: float, high: float | None) -> None:
    """By hand, from the formulas of the documentation."""
    found = initialized(PREFIX + name, {}, shape)
    assert found is not None
    assert found.variance == pytest.approx(variance)
    if high is not None:
        assert found.high == pytest.approx(high)


def test_right_numbers_pass() -> None:
    case = initializer("HeUniform", seed=0)
    limit = (6 / 64) ** 0.5
    found = judged(case, draw(case, lambda rng: rng.uniform(-limit, limit, (64, 96))))
    assert found.verdicts[0].judgement is Judgement.PASS


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        (lambda rng: rng.uniform(-0.25, 0.25, (64, 96)), Kind.INCONSISTENCY, "variance"),
        (lambda rng: rng.uniform(-0.31, 0.31, (64, 96)), Kind.INCONSISTENCY, "beyond"),
        (lambda rng: rng.uniform(-0.3, 0.3, (96, 64)), Kind.SHAPE, "shape (96, 64) where (64, 96) is asked for"),
    ],
)
def test_another_scale_range_or_shape_is_seen(how: Callable[..., Array], kind: Kind, words: str) -> None:
    case = initializer("HeUniform", seed=0)
    found = judged(case, draw(case, how))
    assert found.suspicions[0].kind is kind
    assert words in said(found)
    assert found.suspicions[0].diagnosis.api == f"{PREFIX}HeUniform"


def test_another_dtype_is_seen() -> None:
    case = initializer("Ones", dtype="bfloat16")
    found = judged(case, [np.ones((64, 96), np.float32)])
    assert found.suspicions[0].kind is Kind.DTYPE


def test_a_seed_that_is_not_heeded_is_seen() -> None:
    case = initializer("RandomNormal", seed=0)
    rng = np.random.default_rng(0)
    outputs = [rng.normal(0, 0.05, (64, 96)).astype(np.float32) for _ in range(3)]
    assert "the same seed gives other numbers" in said(judged(case, outputs))


@pytest.mark.parametrize(("name", "given", "right"), [("Constant", {"value": 1.5}, 1.5), ("Ones", {}, 1.0)])
def test_what_is_not_drawn_is_exact(name: str, given: dict[str, float], right: float) -> None:
    case = initializer(name, shape=(2, 3), **given)
    values = np.full((2, 3), right, np.float32)
    assert judged(case, [values]).verdicts[0].judgement is Judgement.PASS
    values[1, 2] += 0.01
    assert "[1, 2]" in said(judged(case, [values]))


@pytest.mark.parametrize("shape", [(64, 96), (96, 16), (3, 3, 8, 16)])
def test_orthogonal_matrices(shape: tuple[int, ...]) -> None:
    case = initializer("Orthogonal", shape=shape, gain=2.0)
    flat = (int(np.prod(shape[:-1])), shape[-1])
    tall = np.linalg.qr(np.random.default_rng(0).standard_normal((max(flat), min(flat))))[0]
    right = 2.0 * (tall if flat[0] >= flat[1] else tall.T).reshape(shape).astype(np.float32)
    assert judged(case, [right]).verdicts[0].judgement is Judgement.PASS
    assert "orthogonal" in said(judged(case, [right * np.float32(0.99)]))


def variables(case: Case) -> list[Array]:
    return [call.wanted.exactly.astype(dtype_named(call.dtype)) for call in understood(case)]  # type: ignore[union-attr]


ASSIGNED = [case for case in islice(initializer_cases(0), 16) if "y" in case.inputs]


@pytest.mark.parametrize("case", ASSIGNED, ids=lambda case: understood(case)[0].dtype)
def test_variables_hold_what_they_are_given(case: Case) -> None:
    x, y = case.inputs["x0"], case.inputs["y"]
    outputs = variables(case)
    assert [output.astype(np.float32).tolist() for output in outputs] == [a.tolist() for a in (x, y, x + y, x - y)]
    assert judged(case, outputs).verdicts[0].judgement is Judgement.PASS
    found = judged(case, [*outputs[:2], outputs[3], outputs[3]])
    assert found.suspicions[0].diagnosis.api == "keras.Variable.assign_add"
