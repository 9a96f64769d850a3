"""What a search of one operator in one dtype found, target by target: errors, the worst input, endings, silence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, Case
from ..core.jsontext import Json
from ..core.messages import gist
from ..core.operator_errors import OperatorRun
from ..core.outcome import Outcome, Status
from ..core.verdict import Kind
from ..engines.predoo.algorithm import GROUPS
from ..operators.calls.spec import Operator
from ..operators.rounding import K
from ..oracles.precision import RowErrors, measure_rows, usable
from ..oracles.special_values import missed
from ..targets.catalogue import traits_of
from .precision_endings import ENDINGS, Ended, one_input
from .precision_forms import WrongForm, wrong_forms

_SHOWN = 8
GUIDED = "guided"


@dataclass(frozen=True, slots=True)
class Worst:
    """The input with the largest error on one target: alone, with what every target made of it."""

    target: str
    units: float
    case: Case
    outputs: Mapping[str, Array]
    others: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Lack:
    """Parameters that a target gave no answer for that could be measured, and why."""

    parameters: Mapping[str, Json]
    why: str

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{given}: {self.why}" if given else self.why


@dataclass
class Record:
    """What is known of one operator in one dtype on one target.

    Args:
        lacks: the variants that could not be measured; the others may be.
        crashed: its process died, so it is not asked again.
        special: an input with NaN or infinities that it answers wrongly; no part of any other figure.
    """

    units: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0
    inputs: int = 0
    lacks: list[Lack] = field(default_factory=list)
    crashed: bool = False
    worst: Worst | None = None
    special: Worst | None = None
    ended: list[Ended] = field(default_factory=list)
    chronicle: list[Array] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """Why the first variant that was not measured was not."""
        return self.lacks[0].why if self.lacks else ""

    def witnessed(self, case: Case, target: str, output: Array) -> None:
        """Add what another target makes of the worst inputs."""
        if self.worst is not None and self.worst.case is case:
            self.worst = replace(self.worst, outputs={**self.worst.outputs, target: output})
        if self.special is not None and self.special.case is case:
            self.special = replace(self.special, outputs={**self.special.outputs, target: output})


@dataclass(frozen=True)
class SearchTask:
    """What is searched where.

    Args:
        compiled: those of the targets that compile every new call. They are asked by a search of their own
            (``precision_compiled``), on the first variant in batches of one size.
    """

    operator: Operator
    dtype: str
    targets: tuple[str, ...]
    strategy: str = GUIDED
    inputs: int = 2000
    seed: int = 0
    compiled: frozenset[str] = frozenset()

    @property
    def eager(self) -> list[str]:
        return [target for target in self.targets if target not in self.compiled]


class Notebook:
    """What every target made of an operator in a dtype, batch after batch."""

    def __init__(self, task: SearchTask) -> None:
        self.task = task
        self.records = {target: Record() for target in task.targets}
        self.undecided = ""

    def give_up(self, error: Exception) -> None:
        """The search broke off: what was measured until then stands."""
        why = f"{type(error).__name__}: {gist(str(error))}"
        self.undecided = f"{self.task.operator.name} in {self.task.dtype}: {why}"
        for record in self.records.values():
            record.lacks.append(Lack({}, f"the search broke off: {why}"))

    def note(self, case: Case, outcomes: Mapping[str, Outcome]) -> tuple[dict[str, RowErrors], list[str]]:
        """Measure the outcomes of one batch; also returns the targets that could not be measured."""
        assert isinstance(case.subject, ApiCall)
        arrays = self.task.operator.operand_arrays(case.inputs)
        with np.errstate(all="ignore"):
            truth = self.task.operator.evaluate(dict(case.subject.kwargs), arrays)
        measured: dict[str, RowErrors] = {}
        silent: list[str] = []
        forms = wrong_forms(self.task.operator, outcomes, truth, self.task.dtype)
        for target, outcome in outcomes.items():
            problem = usable(outcome, truth, self.task.dtype)
            if problem:
                self._problem(target, outcome, problem, case, forms.get(target))
                silent.append(target)
                continue
            measured[target] = measure_rows(outcome.outputs["0"], truth, self.task.dtype)
            self.records[target].inputs += len(measured[target])
        for target, errors in measured.items():
            self._note(target, errors, measured, outcomes, case)
        return measured, silent

    def note_special(self, case: Case, outcomes: Mapping[str, Outcome]) -> list[str]:
        """Remember an input with NaN or infinities that a target is alone, or nearly alone, in getting wrong.

        Also returns the targets that did not answer.
        """
        assert isinstance(case.subject, ApiCall)
        operator, dtype = self.task.operator, self.task.dtype
        arrays, params = operator.operand_arrays(case.inputs), dict(case.subject.kwargs)
        with np.errstate(all="ignore"):
            truth = operator.evaluate(params, arrays)
        problems = {target: usable(outcome, truth, dtype) for target, outcome in outcomes.items()}
        silent = [target for target, problem in problems.items() if problem]
        forms = wrong_forms(operator, outcomes, truth, dtype)
        for target in silent:
            if outcomes[target].status is not Status.RAISED:  # who refuses a NaN may; nobody says it must be taken
                self._problem(target, outcomes[target], problems[target], case, forms.get(target))
        outputs = {target: outcomes[target].outputs["0"] for target in outcomes if target not in silent}
        wrong: dict[str, Array] = {
            target: np.asarray(missed(operator, params, arrays, output, dtype).reshape(len(output), -1).any(axis=1))
            for target, output in outputs.items()
        }
        company = np.sum(list(wrong.values()), axis=0) if wrong else np.zeros(0)
        for target, rows in wrong.items():
            if rows.any():
                row = int(np.argmin(np.where(rows, company, np.inf)))
                alone = one_input(operator, case, row)
                answers = {name: output[row : row + 1].copy() for name, output in outputs.items()}
                others = {name: math.inf if found[row] else 0.0 for name, found in wrong.items()}
                self.records[target].special = Worst(target, math.inf, alone, answers, others)
        return silent

    def _problem(self, target: str, outcome: Outcome, problem: str, case: Case, form: WrongForm | None) -> None:
        """What raised or has a wrong form is kept; whatever was not measured is listed."""
        assert isinstance(case.subject, ApiCall)
        record = self.records[target]
        why = outcome.failure.message if outcome.failure and outcome.status is Status.UNSUPPORTED else problem
        if form is not None or outcome.status in ENDINGS:
            ended = Ended(self.task.operator, self.task.dtype, outcome, case, form)
            record.ended.append(ended)
            record.crashed = record.crashed or ended.kind is Kind.CRASH
            why = ended.told
        lack = Lack(dict(case.subject.kwargs), why)
        if lack not in record.lacks:
            record.lacks.append(lack)

    def _note(
        self,
        target: str,
        errors: RowErrors,
        measured: Mapping[str, RowErrors],
        outcomes: Mapping[str, Outcome],
        case: Case,
    ) -> None:
        record = self.records[target]
        record.chronicle.append(errors.units)
        for name in ("absolute", "relative", "ulps"):
            found = getattr(errors, name)
            finite = found[np.isfinite(found)]
            setattr(record, name, max(getattr(record, name), float(finite.max(initial=0.0))))
        row = int(np.argmax(errors.units))
        if errors.units[row] > record.units or record.worst is None:
            record.units = max(record.units, float(errors.units[row]))
            record.worst = Worst(
                target,
                float(errors.units[row]),
                one_input(self.task.operator, case, row),
                {name: outcomes[name].outputs["0"][row : row + 1].copy() for name in measured},
                {name: float(found.units[row]) for name, found in measured.items()},
            )

    @property
    def suspicious(self) -> bool:
        """Whether there may be a finding in it."""
        return any(record.units > K or record.ended or record.special for record in self.records.values())

    def sightings(self) -> list[Ended]:
        """Every call that ended badly."""
        return [ended for record in self.records.values() for ended in record.ended]

    def runs(self) -> list[OperatorRun]:
        return [self._run(target, record) for target, record in self.records.items()]

    def _run(self, target: str, record: Record) -> OperatorRun:
        task = self.task
        tolerance = traits_of([target])[target].tolerances.get(task.dtype)
        known = OperatorRun(task.operator.name, task.operator.family, target, task.dtype, task.strategy, "measured")
        if not record.inputs:
            status, reason = ("undecided", self.undecided) if self.undecided else _silence(record)
            return replace(known, status=status, reason=reason)
        chronicle = np.concatenate(record.chronicle)
        best = np.maximum.accumulate(np.nan_to_num(chronicle, posinf=1e30))
        assert record.worst is not None
        operand = next(item.name for item in task.operator.operands if item.stacked)
        return OperatorRun(
            known.operator,
            known.family,
            target,
            task.dtype,
            task.strategy,
            "measured",
            inputs=record.inputs,
            units=record.units,
            absolute=record.absolute,
            relative=record.relative,
            ulps=record.ulps,
            worst=tuple(record.worst.case.inputs[operand].astype(np.float64).ravel()[:_SHOWN].tolist()),
            parameters=dict(record.worst.case.subject.kwargs),  # type: ignore[union-attr]
            tolerance=(tolerance.rtol, tolerance.atol) if tolerance else None,
            tolerance_source=tolerance.source if tolerance else "",
            groups=tuple(float(part[-1]) for part in np.array_split(best, min(GROUPS, len(best)))),
            lacks=tuple(str(lack) for lack in record.lacks),
        )


def _silence(record: Record) -> tuple[str, str]:
    """Why nothing was measured: status and reason."""
    if record.ended:
        return record.ended[0].status, record.ended[0].told
    return ("unsupported", record.reason) if record.reason else ("not run", "the run ended before its turn came")
