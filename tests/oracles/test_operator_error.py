"""The oracle of operators' calls: who is blamed on which row, and that the same failure has the same key everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.rows import one_row
from tensorparity.core.severity import Severity, severity_of
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.functions.catalogue import OPERATORS, operator_of
from tensorparity.operators.functions.native import shared_inputs
from tensorparity.triage.examine import Examined, Examiner

RIGHT, WRONG = "torch:eager", "onnxruntime"
TRAITS = Traits(
    {
        RIGHT: TargetTraits(RIGHT, library="torch", calls="torch"),
        WRONG: TargetTraits(WRONG, library="onnxruntime", calls="onnx"),
    }
)
Fault = Callable[[Case, Array], Outcome | Array]


class Faulty:
    """One target that is right, and one with a fault."""

    targets = (RIGHT, WRONG)

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self.fresh: list[Case] = []

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], *, fresh: bool = False, **_: Any) -> list[Outcome]:
        self.fresh += [case for case, _ in pairs if fresh]
        return [self._one(case, target) for case, target in pairs]

    def _one(self, case: Case, target: str) -> Outcome:
        found = exact(case) if target == RIGHT else self._fault(case, exact(case))
        return found if isinstance(found, Outcome) else Outcome(target, Status.COMPLETED, {"0": found})


def exact(case: Case) -> Array:
    assert isinstance(case.subject, ApiCall)
    operator = operator_of(case.subject.api)
    assert operator is not None
    arrays = operator.operand_arrays(case.inputs)
    with np.errstate(all="ignore"):
        value = operator.evaluate(dict(case.subject.kwargs), arrays).value
    return np.asarray(value).astype(next(iter(case.inputs.values())).dtype)


def batch(name: str, rows: int = 8) -> Case:
    operator = OPERATORS.get(name)
    rng = np.random.default_rng(0)
    sizes = operator.sizes({}, operator.shapes[-1])
    inputs = {
        operand.name: (
            np.clip(
                rng.uniform(0.2, 0.8, (rows, *sizes[operand.name]) if operand.stacked else sizes[operand.name]),
                operand.low,
                operand.high,
            )
        ).astype(np.float32)
        for operand in operator.operands
    }
    return Case(operator.api_call({}), Procedure(goal=Goal.CALL), inputs)


def examine(runner: Faulty, case: Case, oracle: str = "precision", **options: Any) -> tuple[Examiner, Examined]:
    examiner = Examiner(runner, Setup(targets=runner.targets, traits=TRAITS))
    (found,) = examiner.examine([Ask(case, oracles=(oracle,) if oracle else ())], **options)
    return examiner, found


def doubled(case: Case, right: Array) -> Array:
    """Wrong in its third row, or where there are fewer."""
    wrong = right.copy()
    wrong[min(2, len(wrong) - 1)] *= 2
    return wrong


def lost(case: Case, right: Array) -> Array:
    return np.full_like(right, np.nan)


def raising(case: Case, right: Array) -> Outcome:
    return Outcome(WRONG, Status.RAISED, failure=Failure("RuntimeError", "no"))


def longer(case: Case, right: Array) -> Array:
    return np.concatenate([right, right])


@pytest.mark.parametrize("fault", [doubled, lost, raising, longer])
@pytest.mark.parametrize("name", ["tanh", "matmul", "conv1d", "softmax", "mse"])
def test_a_failure_has_one_key_in_a_batch_alone_fresh_and_as_a_claim(name: str, fault: Fault) -> None:
    case = batch(name)
    examiner, found = examine(Faulty(fault), case)
    (suspicion,) = found.judged.suspicions
    assert suspicion.oracle == "precision"
    assert suspicion.diagnosis.suspects == (WRONG,)
    assert found.judged.verdicts[0].judgement is Judgement.FAIL
    alone = one_row(case, 0, shared_inputs(case))
    _, again = examine(Faulty(fault), alone, fresh=True, claim=suspicion.key)
    assert again.judged.of_key(suspicion.key) is not None
    _, replayed = examine(Faulty(fault), alone, oracle="", fresh=True, claim=suspicion.key)
    assert replayed.oracle == "call"
    assert replayed.judged.suspicions == again.judged.suspicions
    assert replayed.judged.verdicts == again.judged.verdicts
    ((confirmed, _),) = examiner.confirm([found])
    assert (confirmed.key, confirmed.diagnosis.klass) == (suspicion.key, Class.DEFECT)


def test_the_measures_are_those_of_every_row() -> None:
    _, found = examine(Faulty(doubled), batch("tanh"), "operator_errors")
    measures: Mapping[str, Mapping[str, Sequence[float]]] = found.judged.measures
    assert set(measures) == {"units", "absolute", "relative", "ulps", "place"}
    assert int(np.argmax(measures["units"][WRONG])) == 2
    assert max(measures["units"][RIGHT]) <= 1
    assert measures["relative"][WRONG][2] == pytest.approx(1.0, rel=1e-3)


def test_the_row_is_cut_out_before_it_is_confirmed() -> None:
    runner = Faulty(doubled)
    examiner, found = examine(runner, batch("conv1d"))
    assert found.judged.suspicions[0].row == 2
    ((confirmed, _),) = examiner.confirm([found])
    assert confirmed.row is None
    assert {len(case.inputs["x"]) for case in runner.fresh} == {1}
    assert np.array_equal(confirmed.case.inputs["x"][0], found.case.inputs["x"][2])


def test_what_shows_in_long_arrays_alone_is_repeated() -> None:
    def in_the_body(case: Case, right: Array) -> Array:
        return right * 2 if len(right) >= 8 else right

    examiner, found = examine(Faulty(in_the_body), batch("tanh"))
    ((confirmed, _),) = examiner.confirm([found])
    assert confirmed.diagnosis.klass is Class.DEFECT
    assert len(confirmed.case.inputs["x"]) == 16


def test_what_shows_only_among_others_is_confirmed_among_them() -> None:
    def among_others(case: Case, right: Array) -> Array:
        return doubled(case, right) if len(np.unique(case.inputs["x"], axis=0)) > 1 else right

    examiner, found = examine(Faulty(among_others), batch("tanh"))
    ((confirmed, _),) = examiner.confirm([found])
    assert confirmed.diagnosis.klass is Class.DEFECT
    assert len(confirmed.case.inputs["x"]) == 8


def test_only_measuring_blames_nobody_for_numbers_but_for_exceptions() -> None:
    for fault, kinds in ((doubled, []), (raising, [Kind.ERROR])):
        runner = Faulty(fault)  # type: ignore[arg-type]
        examiner = Examiner(runner, Setup(targets=runner.targets, traits=TRAITS))
        (found,) = examiner.examine([Ask(batch("tanh"), oracles=("operator_errors",))])
        assert [suspicion.kind for suspicion in found.judged.suspicions] == kinds
        assert {suspicion.oracle for suspicion in found.judged.suspicions} <= {"precision"}


@pytest.mark.parametrize(("by", "severity"), [(2.0, Severity.WRONG), (1.0001, Severity.DIGITS)])
def test_how_bad_it_is_depends_on_by_how_much(by: float, severity: Severity) -> None:
    def off(case: Case, right: Array) -> Array:
        return (right.astype(np.float64) * by).astype(right.dtype)

    _, found = examine(Faulty(off), batch("sqrt"), oracle="")
    (suspicion,) = found.judged.suspicions
    assert suspicion.kind is Kind.PRECISION
    assert suspicion.diagnosis.relative == pytest.approx(by - 1, rel=1e-2)
    assert severity_of(suspicion.kind, suspicion.diagnosis) is severity


def _of_a_size(answer: float) -> Fault:
    """NaN where few rows are given, and a number where there are many."""

    def fault(case: Case, right: Array) -> Array:
        return np.full_like(right, np.nan if len(right) < 16 else answer)

    return fault


@pytest.mark.parametrize(
    ("name", "inputs", "answer"),
    [
        ("relu", {"x": [[np.nan]]}, 0.0),
        ("kl_div", {"prediction": [[np.inf]], "target": [[0.0]]}, 0.0),
        ("conv1d", {"x": [[[np.inf]]], "kernel": [[[1.0]]]}, np.inf),
    ],
)
def test_a_freedom_excuses_only_while_it_answers_one_way(name: str, inputs: dict, answer: float) -> None:
    case = Case(
        OPERATORS.get(name).api_call({}),
        Procedure(goal=Goal.CALL),
        {k: np.array(v, np.float32) for k, v in inputs.items()},
    )
    _, found = examine(Faulty(_of_a_size(answer)), case)
    (suspicion,) = found.judged.suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.NAN, (WRONG,))
    assert suspicion.diagnosis.observations[0].code == "both-ways"


@pytest.mark.parametrize(
    ("name", "library", "x", "klass"),
    [
        ("sinh", "torch", 89.0, Class.SPECIFICATION),
        ("cosh", "torch", -89.0, Class.SPECIFICATION),
        ("sinh", "jax", 89.0, Class.DEFECT),
        ("sinh", "torch", 60.0, Class.DEFECT),
        ("exp", "torch", 88.5, Class.DEFECT),
    ],
)
def test_very_large_results_may_be_infinite_where_the_docstring_says_so(
    name: str, library: str, x: float, klass: Class
) -> None:
    """Sleef rounds the last of what float32 can hold to infinity, and torch says so of sinh and cosh alone."""
    traits = Traits({"one": TargetTraits("one", library=library, calls=library), WRONG: TRAITS[WRONG]})

    class Early(Faulty):
        targets = ("one", WRONG)

        def _one(self, case: Case, target: str) -> Outcome:
            right = exact(case)
            answer = np.where(np.abs(case.inputs["x"]) >= 50, np.copysign(np.float32(np.inf), right), right)
            return Outcome(target, Status.COMPLETED, {"0": answer if target == "one" else right})

    case = Case(OPERATORS.get(name).api_call({}), Procedure(goal=Goal.CALL), {"x": np.full((1, 1), x, np.float32)})
    examiner = Examiner(Early(doubled), Setup(targets=Early.targets, traits=traits))
    (found,) = examiner.examine([Ask(case, oracles=("precision",))])
    (suspicion,) = found.judged.suspicions
    assert (suspicion.diagnosis.suspects, suspicion.diagnosis.klass) == (("one",), klass)
