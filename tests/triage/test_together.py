"""What shows only where calls are compiled together becomes a program of those calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tensorparity.core.call import SEVERAL, ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.generators.equivalences.optimization import AOT_EAGER
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner

TARGET = "torch:eager"


def case(name: str, value: float) -> Case:
    call = ApiCall(f"torch.{name}", (ArrayArg("x"),))
    found = AOT_EAGER.equivalence(
        Case(call, Procedure(goal=Goal.CALL, rows=2), {"x": np.full((2, 3), value, "float32")})
    )
    assert found is not None
    return found


def names_of(case: Case) -> list[str]:
    assert isinstance(case.subject, ApiCall)
    return [call.api for call in case.subject.calls() if call.api != SEVERAL]


class Machine:
    """Doubles its inputs; what is compiled together with ``torch.cos`` is off where ``torch.sin`` is in the unit."""

    targets = (TARGET,)

    def __init__(self, packed: Sequence[Case]) -> None:
        self._packed = tuple(packed)
        self.fresh: list[list[str]] = []

    def companions(self, case: Case, target: str) -> tuple[Case, ...]:
        return self._packed if any(case.digest == other.digest for other in self._packed) else ()

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        if fresh:
            self.fresh += [names_of(case) for case, _ in pairs if case.procedure.variant]
        return [self._answer(case, not fresh) for case, _ in pairs]

    def _answer(self, case: Case, packed: bool) -> Outcome:
        together = {name for other in self._packed for name in names_of(other)} if packed else set(names_of(case))
        off = bool(case.procedure.variant) and "torch.sin" in names_of(case) and {"torch.sin", "torch.cos"} <= together
        rows = range(case.procedure.rows) if case.procedure.rows is not None else [None]
        outputs = {}
        for row in rows:
            for place, array in enumerate(case.inputs.values()):
                value = array[row] if row is not None else array
                outputs[str(place) if row is None else f"{row}/{place}"] = value * 2 + off
        return Outcome(TARGET, Status.COMPLETED, outputs=outputs, reply={"rows": {}})


def confirmed(machine: Machine, cases: Sequence[Case]) -> list[object]:
    examiner = Examiner(machine, Setup(0, (TARGET,), traits_of([TARGET])))
    examined = examiner.examine([Ask(cases[0], (TARGET,))])
    assert examined[0].judged.suspicions
    return [suspicion for suspicion, _ in examiner.confirm(examined)]


def test_what_does_not_show_alone_is_tried_with_its_companions_and_the_smallest_program_is_kept() -> None:
    cases = [case("sin", 1.0), case("tanh", 2.0), case("cos", 3.0)]
    machine = Machine([one.sides()[1] for one in cases])
    (found,) = confirmed(machine, cases)
    assert names_of(found.case) == ["torch.sin", "torch.cos"]  # type: ignore[attr-defined]
    assert found.diagnosis.klass is Class.DEFECT  # type: ignore[attr-defined]
    assert found.diagnosis.observations[-1].code == "only-together"  # type: ignore[attr-defined]


def test_what_shows_neither_alone_nor_together_is_flaky() -> None:
    cases = [case("sin", 1.0), case("cos", 3.0)]
    machine = Machine([one.sides()[1] for one in cases])
    machine.companions = lambda case, target: ()  # type: ignore[method-assign]
    (found,) = confirmed(machine, cases)
    assert found.diagnosis.klass is Class.FLAKY  # type: ignore[attr-defined]
