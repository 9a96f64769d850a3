"""Functions in turn on targets that compute the reference, one of them with an error in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, Case
from tensorparity.core.engine import Result
from tensorparity.core.outcome import Outcome, Record, Status
from tensorparity.generators.single_cases.functions import FUNCTIONS, function_cases
from tensorparity.generators.single_cases.streams import STREAMS, SingleCases
from tensorparity.operators.functions.api import evaluate_call
from tensorparity.operators.ruled_out import ruled_out
from tensorparity.reporting.words import sentences

from ...stepping import ExaminedCases

TARGETS = ("keras:tensorflow", "keras:torch", "keras:jax")


@dataclass
class References:
    """A Runner of functions; on ``keras:torch`` one of them is wrong."""

    wrong: str = ""
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
        value = evaluate_call(case.subject, dict(case.inputs)).value
        if target == "keras:torch" and case.subject.api == self.wrong:
            value = value[..., :0] if value.dtype.kind in "OU" else value + 1
        if value.dtype.kind not in "OU":
            dtype = next(iter(case.inputs.values())).dtype
            with np.errstate(all="ignore"):
                value = value.astype(dtype if dtype.kind not in "OUiu" else np.float64)
        return Outcome(target, Status.COMPLETED, {"0": value}, record=Record(versions={"fake": "1.0"}))


def after(runner: References, count: int) -> ExaminedCases:
    return ExaminedCases(runner, TARGETS).examine(islice(function_cases(0), count))


def test_nothing_is_found_where_nothing_is_wrong():
    runner = References()
    found = after(runner, 3 * len(FUNCTIONS))
    assert [sentences(suspicion.diagnosis) for suspicion in found.confirm()] == []
    assert not runner.fresh


@pytest.mark.parametrize("api", list(dict.fromkeys(FUNCTIONS))[::6])
def test_a_wrong_function_is_found_in_its_turn(api: str):
    runner = References(wrong=api)
    suspicions = after(runner, 3 * len(FUNCTIONS)).confirm()
    assert suspicions
    assert {suspicion.diagnosis.api for suspicion in suspicions} == {api}
    assert {suspicion.diagnosis.suspects for suspicion in suspicions} == {("keras:torch",)}
    assert set(runner.fresh) == {api}


def test_a_seed_gives_the_same_cases_and_every_function_in_turn():
    def drawn(seed: int) -> list[Case]:
        return list(islice(function_cases(seed), len(FUNCTIONS)))

    assert [case.digest for case in drawn(1)] == [case.digest for case in drawn(1)]
    assert [case.digest for case in drawn(1)] != [case.digest for case in drawn(2)]
    assert [case.subject.api for case in drawn(1)] == list(FUNCTIONS)


def test_the_kinds_of_single_cases():
    expected = ("losses", "weights", "metrics", "functions", "reloads", "exports", "kinks", "initializers")
    assert tuple(STREAMS) == expected


def test_what_is_ruled_out_is_run_with_any_of_them():
    def drawn(*chosen: str) -> tuple[int, int, dict[str, int]]:
        singles = SingleCases(0, chosen)
        cases = [ask.case for ask in singles.round()]
        singles.tell([Result(index, case.digest) for index, case in enumerate(cases)])
        return len(cases), sum(ruled_out(case) is not None for case in cases), singles.counts()

    none = {
        "loss_cases": 0,
        "weighed_loss_cases": 0,
        "metric_cases": 0,
        "function_cases": 0,
        "reload_cases": 0,
        "export_cases": 0,
        "kink_cases": 0,
        "initializer_cases": 0,
    }
    assert drawn() == (0, 0, none)
    assert drawn("functions") == (8, 4, {**none, "function_cases": 4})
    assert drawn("metrics", "functions") == (10, 4, {**none, "function_cases": 4, "metric_cases": 2})
