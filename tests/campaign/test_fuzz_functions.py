"""Functions in turn on targets that compute the reference, one of them with an error in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pytest

from tensorparity.campaign.beside import BESIDE, Beside
from tensorparity.campaign.case_rounds import CaseRounds
from tensorparity.campaign.fuzz import read_beside, read_stages
from tensorparity.campaign.fuzz_functions import FUNCTIONS, function_cases, function_rounds
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.errors import UsageError
from tensorparity.core.outcome import Outcome, Record, Status
from tensorparity.operators.api import evaluate_call
from tensorparity.reporting.words import sentences

from .single_rounds import run_round

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


def rounds(runner: References, count: int) -> CaseRounds:
    found = function_rounds(runner, 0)
    while found.count < count:
        run_round(found, runner, TARGETS)
    return found


def test_nothing_is_found_where_nothing_is_wrong():
    runner = References()
    found = rounds(runner, 3 * len(FUNCTIONS))
    assert [sentences(suspicion.diagnosis) for suspicion in found.confirm()] == []
    assert not runner.fresh


@pytest.mark.parametrize("api", list(dict.fromkeys(FUNCTIONS))[::6])
def test_a_wrong_function_is_found_in_its_turn(api: str):
    runner = References(wrong=api)
    suspicions = rounds(runner, 3 * len(FUNCTIONS)).confirm()
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


def test_stages_name_what_is_run_beside_networks():
    assert read_beside("forward,functions") == ("functions",)
    assert read_beside("forward") == ()
    assert read_beside("functions,kinks,reloads,metrics,losses,update") == BESIDE
    assert BESIDE == ("losses", "metrics", "functions", "reloads", "kinks")
    assert [stage.value for stage in read_stages("forward,functions")] == ["build", "forward"]
    with pytest.raises(UsageError, match="losses, metrics, functions, reloads, kinks"):
        read_stages("forward,function")


def test_what_is_ruled_out_is_run_with_any_of_them():
    def kinds(*chosen: str) -> tuple[int, dict[str, int]]:
        beside = Beside(References(), TARGETS, 0, chosen)
        return len({id(rounds) for rounds, _ in beside.propose().cases}), beside.counts()

    assert kinds() == (0, {"loss_cases": 0, "metric_cases": 0, "function_cases": 0, "reload_cases": 0, "kink_cases": 0})
    assert kinds("functions")[0] == 2
    assert kinds("metrics", "functions")[0] == 3
