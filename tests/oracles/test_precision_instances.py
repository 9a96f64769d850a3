"""Predoo's measure as an oracle: what it asks for in each mode, and what it says of the answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.campaign.operator_runs import Exact

from tensorparity.core.arrays import dtype_name
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.oracles.precision_instances import ORACLE_OF_MODE, InputMode
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examined, Examiner

_TARGET = "jax:jit"


def drawn(mode: str) -> Case:
    x = np.random.default_rng(3).standard_normal((40, 20))
    instance = None if mode == "op_mode" else "float64"
    return Case(OPERATORS.get("sigmoid").api_call({}), Procedure(goal=Goal.CALL, dtype=instance), {"x": x})


def examined(runner: Any, mode: str, times: int = 1, **settings: Any) -> list[Examined]:
    name = ORACLE_OF_MODE[mode]
    examiner = Examiner(runner, Setup(0, (_TARGET,), traits_of([_TARGET])), settings={name: settings})
    return [examiner.examine([Ask(drawn(mode), (_TARGET,), (name,))])[0] for _ in range(times)]


def refusing_half(case: Case) -> Any:
    if case.inputs["x"].dtype == np.float16:
        return Outcome(_TARGET, Status.RAISED, failure=Failure("ValueError", "out of luck"))
    return 1 / (1 + np.exp(-case.inputs["x"]))


def raising(case: Case) -> Outcome:
    return Outcome(_TARGET, Status.RAISED, failure=Failure("ValueError", "out of luck"))


@pytest.mark.parametrize("mode", list(ORACLE_OF_MODE))
def test_the_case_itself_is_the_widest_instance_and_runs_once(mode: str) -> None:
    runner = Exact([_TARGET])
    (found,) = examined(runner, mode)
    wide = [case for case, _ in runner.asked if case.digest == drawn(mode).digest]
    assert len(wide) == 1
    linf, l1 = (np.array(found.judged.measures[name][_TARGET]) for name in ("linf", "l1"))
    assert len(linf) == 40
    assert (l1 >= linf).all()
    assert found.judged.told["worst"][_TARGET] == int(np.argmax(linf))
    assert found.judged.verdicts[0].judgement is Judgement.PASS


def test_without_float64_the_input_is_still_rounded_from_what_was_drawn() -> None:
    runner = Exact([_TARGET])
    examined(runner, "op_mode", dtypes=("float16", "float32"))
    narrow = next(case for case, _ in runner.asked if dtype_name(case.inputs["x"]) == "float16")
    assert np.array_equal(narrow.inputs["x"], drawn("op_mode").inputs["x"].astype(np.float16))


def test_what_only_a_dtype_lacks_is_recorded_and_nobody_is_accused() -> None:
    (found,) = examined(Exact([_TARGET], {_TARGET: refusing_half}), "op_mode")
    assert found.judged.told["exceptions"][_TARGET] == {"ValueError: out of luck": 40}
    assert found.judged.suspicions == ()
    assert np.isfinite(found.judged.measures["linf"][_TARGET]).all()


def test_who_always_raises_is_accused_and_not_without_end() -> None:
    found = examined(Exact([_TARGET], {_TARGET: raising}), "op_mode", times=4)
    assert found[0].judged.verdicts[0].judgement is Judgement.FAIL
    assert {suspicion.kind for suspicion in found[0].judged.suspicions} == {Kind.ERROR}
    assert found[0].judged.told["worst"][_TARGET] is None
    assert [bool(item.judged.suspicions) for item in found] == [True, True, False, False]


def test_an_oracle_remembers_nothing_from_case_to_case() -> None:
    """What a dtype refused before is asked again, and so is said again: the answer depends on the case alone."""
    runner = Exact([_TARGET], {_TARGET: refusing_half})
    found = examined(runner, "op_mode", times=3)
    halves = [len(case.inputs["x"]) for case, _ in runner.asked if case.inputs["x"].dtype == np.float16]
    assert halves == [40, 40, 40]
    assert found[0].judged.told["exceptions"] == found[2].judged.told["exceptions"]


def test_input_mode_changes_the_input_and_leaves_the_operator_in_the_widest_precision() -> None:
    dtypes = ["float16", "float32", "float64"]
    (_, cases), *_ = InputMode(Setup()).groups(drawn("input_mode"), dtypes)
    assert [dtype_name(case.inputs["x"]) for case in cases] == dtypes[::-1]
    assert {case.procedure.dtype for case in cases} == {"float64"}
