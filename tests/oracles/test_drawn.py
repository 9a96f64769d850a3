"""What ``keras.random`` draws, judged by its properties: each of them is missed by a generator that is wrong in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.call import ApiCall
from tensorparity.core.case import Case
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.generators.equivalences.random_properties import RANDOM_PROPERTIES
from tensorparity.operators.functions.distributions import distribution_of
from tensorparity.oracles.drawn import Drawn

CASES = [case for case in map(RANDOM_PROPERTIES.equivalence, RANDOM_PROPERTIES.own_cases("keras", 1, 0)) if case]


def case_of(name: str, **given: object) -> Case:
    return next(
        case
        for case in CASES
        if first(case).api == f"keras.random.{name}" and given.items() <= first(case).kwargs.items()
    )


def first(case: Case) -> ApiCall:
    call = case.subject.args[0]  # type: ignore[union-attr]
    assert isinstance(call, ApiCall)
    return call


def judged(case: Case, draw: Callable[[int], Array]) -> Judged:
    seeds = [call.kwargs["seed"] for call in case.subject.args]  # type: ignore[union-attr]
    outputs = {str(place): draw(seed) for place, seed in enumerate(seeds)}
    return Drawn(Setup()).judge(Seen(case, ({"t": Outcome("t", Status.COMPLETED, outputs)},)))


def normal(shift: float = 0.0, spread: float = 1.0) -> Callable[[int], Array]:
    call = first(case_of("normal", dtype="float32"))
    mean, stddev = call.kwargs["mean"] + shift, call.kwargs["stddev"] * spread
    return lambda seed: np.random.default_rng(seed).normal(mean, stddev, (64, 96)).astype(np.float32)


NORMAL = case_of("normal", dtype="float32")


def test_every_function_is_asked_by_program() -> None:
    names = {first(case).api.rpartition(".")[2] for case in CASES}
    assert names >= {"normal", "uniform", "truncated_normal", "randint", "gamma", "beta", "binomial", "dropout"}
    assert names >= {"categorical", "shuffle"}


def test_what_is_drawn_as_documented_passes() -> None:
    assert judged(NORMAL, normal()).verdicts[0].judgement is Judgement.PASS


@pytest.mark.parametrize(
    ("draw", "kind"),
    [
        (normal(shift=0.5), Kind.INCONSISTENCY),
        (normal(spread=1.2), Kind.INCONSISTENCY),
        (lambda seed: normal()(7), Kind.INCONSISTENCY),
        (lambda seed: normal()(np.random.default_rng().integers(1 << 30)), Kind.INCONSISTENCY),  # type: ignore[arg-type]
        (lambda seed: normal()(seed)[:8], Kind.SHAPE),
        (lambda seed: normal()(seed).astype(np.float64), Kind.DTYPE),
        (lambda seed: np.where(np.arange(96) == 3, np.nan, normal()(seed)).astype(np.float32), Kind.NAN),
    ],
)
def test_each_property_is_missed(draw: Callable[[int], Array], kind: Kind) -> None:
    found = judged(NORMAL, draw)
    assert [suspicion.kind for suspicion in found.suspicions] == [kind]
    assert found.suspicions[0].diagnosis.api == "keras.random.normal"


def test_the_end_of_a_range_is_not_drawn() -> None:
    case = next(case for case in CASES if first(case).api.endswith("uniform") and "minval" not in first(case).kwargs)

    def draw(seed: int, end: float) -> Array:
        numbers = np.random.default_rng(seed).random((64, 96)).astype(np.float32)
        numbers[0, 0] = end
        return numbers

    assert not judged(case, lambda seed: draw(seed, 0.0)).suspicions
    assert judged(case, lambda seed: draw(seed, 1.0)).suspicions
    assert judged(case, lambda seed: draw(seed, 1.5)).suspicions


def test_a_shuffle_keeps_its_numbers() -> None:
    case = case_of("shuffle")
    x = case.inputs["x"]
    assert not judged(case, lambda seed: np.random.default_rng(seed).permutation(x)).suspicions
    assert judged(case, lambda seed: np.random.default_rng(seed).choice(x, x.size)).suspicions


def test_documented_moments_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    drawn = {
        "gamma": ({"alpha": 2.5}, rng.gamma(2.5, size=400_000)),
        "beta": ({"alpha": 0.7, "beta": 2.0}, rng.beta(0.7, 2.0, size=400_000)),
        "binomial": ({"counts": 9, "probabilities": 0.3}, rng.binomial(9, 0.3, size=400_000)),
        "randint": ({"minval": 2, "maxval": 9}, rng.integers(2, 9, size=400_000)),
        "uniform": ({"minval": -1.0, "maxval": 3.0}, rng.uniform(-1, 3, size=400_000)),
    }
    normal_numbers = rng.normal(size=800_000)
    drawn["truncated_normal"] = ({}, normal_numbers[np.abs(normal_numbers) < 2])
    for name, (given, numbers) in drawn.items():
        found = distribution_of(f"keras.random.{name}", given)
        assert found is not None
        assert numbers.mean() == pytest.approx(found.mean, abs=0.02), name
        assert numbers.var() == pytest.approx(found.variance, rel=0.02), name
