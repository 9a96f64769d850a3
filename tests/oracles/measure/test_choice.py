"""The inputs that the layers are looked at with: CRADLE's first, then one per pair, then by distance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.comparison import Comparison
from tensorparity.core.outcome import Outcome, Status
from tensorparity.oracles.measure.choice import choose_inputs
from tensorparity.oracles.pair import compare_outcomes, judge_cradle, judge_parity

LABELS = np.zeros(12, np.int64)


def ranked(*ranks: int) -> Array:
    """Confidences of six classes in which the true one, 0, has these ranks, one per instance."""
    rows = []
    for rank in ranks:
        row = np.linspace(0.9, 0.4, 6)
        order = [*range(1, rank), 0, *range(rank, 6)]
        confidences = np.empty(6)
        confidences[order] = row
        rows.append(confidences)
    return np.array(rows, np.float32)


def outcome(target: str, output: Array) -> Outcome:
    return Outcome(target, Status.COMPLETED, {"y": output})


def chosen(*outputs: Array, labels: Array | None = LABELS, oracle: object = judge_parity) -> list[int]:
    outcomes = {f"t{index}": outcome(f"t{index}", output) for index, output in enumerate(outputs)}
    named = {} if labels is None else {"y": labels}
    names = list(outcomes)
    comparisons: list[Comparison] = []
    for place, a in enumerate(names):
        for b in names[place + 1 :]:
            comparisons += compare_outcomes(outcomes[a], outcomes[b], named, oracle)  # type: ignore[arg-type]
    return choose_inputs(comparisons, outcomes, named)


GOOD = ranked(*[1] * 12)


def changed(**ranks: int) -> Array:
    return ranked(*[ranks.get(f"i{index}", 1) for index in range(12)])


def test_equal_outputs_have_nothing_to_show() -> None:
    assert chosen(GOOD, GOOD) == []


def test_the_most_inconsistent_first_and_then_by_distance() -> None:
    bad = changed(i3=2, i5=6, i9=3)
    # distances: 16 - 8 = 8, 16 - 0 = 16, 16 - 4 = 12; rank 2 is still at the threshold of 8
    assert chosen(GOOD, bad) == [5, 9, 3]


def test_what_does_not_reach_the_threshold_is_not_looked_at_but_for_the_worst() -> None:
    base = changed(**{f"i{index}": 3 for index in range(12)})
    near = changed(**({f"i{index}": 3 for index in range(12)} | {"i4": 4, "i7": 4}))
    assert len(chosen(base, near)) == 1  # distance 2 on both


def test_one_per_unique_inconsistency_before_any_further_one() -> None:
    first = changed(i1=6, i2=6, i3=6)
    second = changed(i8=3)
    picked = chosen(GOOD, first, second)
    assert 8 in picked[:3]
    assert set(picked) == {1, 2, 3, 8}


def test_equal_patterns_are_one_inconsistency() -> None:
    """Two pairs that differ on the same inputs by the same distances ask for one input, not two."""
    bad = changed(i1=6, i2=6)
    outcomes = {"a": outcome("a", GOOD), "b": outcome("b", GOOD), "c": outcome("c", bad)}
    pairs = [compare_outcomes(outcomes[a], outcomes["c"], {"y": LABELS}, judge_cradle)[0] for a in ("a", "b")]
    told_apart = [replace(pair, worst_input=index, max_rel=0.1 * index) for index, pair in enumerate(pairs, start=1)]
    assert choose_inputs(told_apart, outcomes, {"y": LABELS})[0] == 2


@pytest.mark.parametrize("oracle", [judge_parity, judge_cradle])
def test_pairs_that_pass_ask_for_nothing(oracle: object) -> None:
    nearly = GOOD + np.float32(1e-8)
    assert chosen(GOOD, nearly, oracle=oracle) == []


class TestWithoutLabels:
    def test_another_arg_max_or_a_large_difference(self) -> None:
        other = GOOD.copy()
        other[4] = np.roll(other[4], 1)
        other[6] *= 1.05
        other[7] *= 1.0001
        assert chosen(GOOD, other, labels=None) == [4, 6]

    def test_values_by_their_difference(self) -> None:
        values = np.linspace(1, 2, 12, dtype=np.float32)[:, None]
        other = values.copy()
        other[[2, 10]] *= np.float32([[1.5], [1.1]])
        assert chosen(values, other, labels=None) == [2, 10]

    def test_an_output_of_another_shape_is_passed_over(self) -> None:
        assert chosen(GOOD, GOOD[:, :3], labels=None) == []
