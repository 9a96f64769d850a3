"""What a search of one operator in one dtype found, target by target: errors, the worst input, endings, silence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, Case
from ...core.channels import is_finite, is_nan
from ...core.engine import KeptCase, Result
from ...core.jsontext import Json
from ...core.operator_errors import OperatorRun
from ...core.rows import one_row
from ...core.traits import Traits
from ...operators.functions.native import shared_inputs
from ...operators.functions.spec import Operator
from ...operators.reference.rounding import K
from .algorithm import GROUPS

_SHOWN = 8
GUIDED = "guided"


@dataclass(frozen=True, slots=True)
class Worst:
    """The input with the largest error on one target, alone; ``answered`` are those that could be measured on it."""

    target: str
    units: float
    case: Case
    answered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """The errors of every input of a batch on one target."""

    units: Array
    absolute: Array
    relative: Array
    ulps: Array
    place: Array


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
        ended: calls that raised, crashed, hung or answered in a wrong form: how, and what was said.
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
    ended: list[tuple[str, str]] = field(default_factory=list)
    chronicle: list[Array] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """Why the first variant that was not measured was not."""
        return self.lacks[0].why if self.lacks else ""


def _not_finite_alone(case: Case) -> list[Case]:
    """Of a batch the first input that holds NaN, and the first with infinities and no NaN."""
    shared = shared_inputs(case)
    stacked = [array.reshape(len(array), -1) for name, array in case.inputs.items() if name not in shared]
    nan = np.any([is_nan(array).any(axis=1) for array in stacked], axis=0)
    endless = np.any([(~is_finite(array)).any(axis=1) for array in stacked], axis=0) & ~nan
    return [one_row(case, int(np.argmax(rows)), shared) for rows in (nan, endless) if rows.any()]


@dataclass(frozen=True)
class SearchTask:
    """What is searched where.

    Args:
        compiled: those of the targets that compile every new call. They are asked by a search of their own
            (``CompiledSearch``), on the first variant in batches of one size.
        traits: of the targets, for what their own tests allow.
    """

    operator: Operator
    dtype: str
    targets: tuple[str, ...]
    strategy: str = GUIDED
    inputs: int = 2000
    seed: int = 0
    compiled: frozenset[str] = frozenset()
    traits: Traits = field(default_factory=Traits)

    @property
    def eager(self) -> list[str]:
        return [target for target in self.targets if target not in self.compiled]


class Notebook:
    """What every target made of an operator in a dtype, batch after batch."""

    def __init__(self, task: SearchTask) -> None:
        self.task = task
        self.records = {target: Record() for target in task.targets}
        self.undecided = ""
        #: Where nobody says what is right, an input with NaN and one with infinities: nobody may answer both ways.
        self.free: list[Case] = []

    def give_up(self, why: str) -> None:
        """The search broke off: what was measured until then stands."""
        self.undecided = f"{self.task.operator.name} in {self.task.dtype}: {why}"
        for record in self.records.values():
            record.lacks.append(Lack({}, f"the search broke off: {why}"))

    def note(self, case: Case, result: Result) -> tuple[dict[str, Measured], list[str]]:
        """Take in what came of one batch; also returns the targets that could not be measured."""
        measured = _errors_by_target(result)
        silent = self._problems(case, result)
        for target, errors in measured.items():
            self.records[target].inputs += len(errors.units)
        for target, errors in measured.items():
            self._note(target, errors, tuple(measured), case)
        return measured, silent

    def note_special(self, case: Case, result: Result) -> list[str]:
        """Remember the inputs with NaN or infinities that targets get wrong; returns those that did not answer."""
        silent = [*self._problems(case, result), *result.facts.get("refused", {})]
        answered = tuple(target for target in result.endings if target not in silent)
        for target, row in result.facts.get("special", {}).items():
            self.records[target].special = Worst(target, math.inf, one_row(case, row, shared_inputs(case)), answered)
        if self.task.operator.is_free and not self.free:
            self.free = _not_finite_alone(case)
        return silent

    def _problems(self, case: Case, result: Result) -> list[str]:
        """Whatever was not measured is listed; who raised or answered in a wrong form is told apart."""
        assert isinstance(case.subject, ApiCall)
        problems = result.facts.get("problems", {})
        for target, problem in problems.items():
            record = self.records[target]
            if "status" in problem:
                record.ended.append((problem["status"], problem["why"]))
                record.crashed = record.crashed or problem["crashed"]
            lack = Lack(dict(case.subject.kwargs), problem["why"])
            if lack not in record.lacks:
                record.lacks.append(lack)
        return list(problems)

    def _note(self, target: str, errors: Measured, answered: tuple[str, ...], case: Case) -> None:
        record = self.records[target]
        record.chronicle.append(errors.units)
        for name in ("absolute", "relative", "ulps"):
            found = getattr(errors, name)
            finite = found[np.isfinite(found)]
            setattr(record, name, max(getattr(record, name), float(finite.max(initial=0.0))))
        row = int(np.argmax(errors.units))
        if errors.units[row] > record.units or record.worst is None:
            record.units = max(record.units, float(errors.units[row]))
            alone = one_row(case, row, shared_inputs(case))
            record.worst = Worst(target, float(errors.units[row]), alone, answered)

    @property
    def suspicious(self) -> bool:
        """Whether there may be a finding in it."""
        return any(record.units > K or record.ended or record.special for record in self.records.values())

    def kept(self, row: int, run: OperatorRun) -> KeptCase | None:
        """The worst input of one of its rows; an operator that is exact on a target has none there."""
        worst = self.records[run.target].worst
        if worst is None or not run.units > 0:
            return None
        note = f"the largest error found: {worst.units:.3g} times what rounding explains"
        names = (run.operator, run.dtype, run.target, run.strategy)
        return KeptCase("operators", row, run.target, worst.case, names, note)

    def runs(self) -> list[OperatorRun]:
        return [self._run(target, record) for target, record in self.records.items()]

    def _run(self, target: str, record: Record) -> OperatorRun:
        task = self.task
        tolerance = task.traits[target].tolerances.get(task.dtype)
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
        return record.ended[0]
    return ("unsupported", record.reason) if record.reason else ("not run", "the run ended before its turn came")


def _errors_by_target(result: Result) -> dict[str, Measured]:
    names = [item.name for item in fields(Measured)]
    targets = result.measures.get("units", {})
    arrays = {t: {name: np.asarray(result.measures[name][t]) for name in names} for t in targets}
    return {target: Measured(**found) for target, found in arrays.items()}
