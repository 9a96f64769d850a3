"""Metrics in turn on targets that compute the reference, one of them with an error in one metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from tensorparity.core.case import ApiCall, Case
from tensorparity.core.finding import Class
from tensorparity.core.outcome import Outcome, Record, Status
from tensorparity.generators.single_cases.metrics import metric_cases
from tensorparity.operators.functions.declared_calls import evaluate_declared
from tensorparity.operators.metrics.catalogue import METRICS

from ...stepping import ExaminedCases

TARGETS = ("keras:tensorflow", "keras:torch", "keras:jax")


@dataclass
class References:
    """A Runner of metrics.

    Args:
        wrong: of ``keras:torch``: the metric that is half of what it should be.
        once: the error does not show in fresh workers.
    """

    wrong: str = ""
    once: bool = False
    fresh: list[str] = field(default_factory=list)

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        return [self._run(case, target, fresh) for case, target in pairs]

    def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
        assert isinstance(case.subject, ApiCall)
        self.fresh += [case.subject.api] if fresh else []
        value = np.asarray(evaluate_declared(case.subject, dict(case.inputs)).value, dtype=np.float32)
        faulty = target == "keras:torch" and case.subject.api == self.wrong and not (fresh and self.once)
        outputs = {"0": value / 2 + 1 if faulty else value}
        return Outcome(target, Status.COMPLETED, outputs, record=Record(versions={"fake": "1.0"}))


FIRST = next(iter(METRICS.values())).api


def after(runner: References, count: int) -> ExaminedCases:
    return ExaminedCases(runner, TARGETS).examine(islice(metric_cases(0), count))


def test_nothing_is_found_where_nothing_is_wrong():
    runner = References()
    assert after(runner, len(METRICS)).confirm() == []
    assert not runner.fresh


def test_a_wrong_metric_is_confirmed():
    runner = References(wrong=FIRST)
    (suspicion,) = after(runner, 2).confirm()
    assert suspicion.diagnosis.api == FIRST
    assert suspicion.diagnosis.suspects == ("keras:torch",)
    assert set(runner.fresh) == {FIRST}


def test_what_does_not_fail_again_is_flaky():
    (suspicion,) = after(References(wrong=FIRST, once=True), 2).confirm()
    assert suspicion.diagnosis.klass is Class.FLAKY


def test_a_seed_gives_the_same_cases_and_every_metric_in_turn():
    def drawn(seed: int) -> list[Case]:
        return list(islice(metric_cases(seed), len(METRICS)))

    assert [case.digest for case in drawn(1)] == [case.digest for case in drawn(1)]
    assert [case.digest for case in drawn(1)] != [case.digest for case in drawn(2)]
    assert [case.subject.api for case in drawn(1)] == [spec.api for spec in METRICS.values()]


def test_weights_of_single_predictions_come_in_every_second_turn() -> None:
    counting = {f"{right}{sign}s" for right in ("True", "False") for sign in ("Positive", "Negative")}
    ranks: dict[int, set[int]] = {0: set(), 1: set()}
    for number, case in enumerate(islice(metric_cases(0), 6 * len(METRICS))):
        assert isinstance(case.subject, ApiCall)
        if case.subject.api.rpartition(".")[2] in counting and "sample_weight" in case.inputs:
            ranks[number // len(METRICS) % 2].add(case.inputs["sample_weight"].ndim)
    assert ranks == {0: {1}, 1: {2}}


def test_a_weight_of_a_single_prediction_counts_that_one() -> None:
    labels, guesses = np.array([[1, 0], [1, 1]], np.float32), np.array([[0.9, 0.8], [0.1, 0.7]], np.float32)
    weights = np.array([[1.0, 10.0], [100.0, 1000.0]], np.float32)
    names = ("TruePositives", "FalsePositives", "FalseNegatives")
    found = [float(METRICS[name].evaluate({}, (labels, guesses, weights)).value) for name in names]
    assert found == [1001.0, 10.0, 100.0]
