"""Calls that raised, crashed, hung or answered in a wrong form: accused, confirmed in fresh processes, filed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array, dtype_named, is_floating
from ..core.case import ApiCall, Case
from ..core.finding import Class, Diagnosis, Finding
from ..core.messages import gist
from ..core.outcome import Outcome, Status
from ..core.runner import Runner
from ..core.verdict import Kind, Stage
from ..generators.operator_inputs import inside
from ..operators.calls.spec import TIMES, Operator
from ..targets.catalogue import spec_of
from ..targets.lowering.calls import native_name
from ..targets.names import parse_target
from ..triage.ballots import ballot_of
from ..triage.confirm import HANG_FACTOR, flaky
from ..triage.suspicion import Suspicion
from .filing import make_finding
from .precision_forms import WrongForm, form_again

ENGINE = "predoo"
#: The dtype a finding is told in, if several show it: the one most people use first.
PREFERRED = ("float32", "float64", "float16", "bfloat16")
#: How a call may end that is worth accusing somebody.
ENDINGS = {Status.RAISED: Kind.ERROR, Status.CRASHED: Kind.CRASH, Status.TIMED_OUT: Kind.HANG}


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that raised, crashed or hung on one target, or whose answer has a wrong shape or dtype."""

    operator: Operator
    dtype: str
    outcome: Outcome
    case: Case
    form: WrongForm | None = None

    @property
    def kind(self) -> Kind:
        return self.form.kind if self.form else ENDINGS[self.outcome.status]

    @property
    def told(self) -> str:
        failure = self.outcome.failure
        if self.form:
            return self.form.told
        return f"{failure.type}: {gist(failure.message)}" if failure else self.outcome.status.value

    @property
    def status(self) -> str:
        """In one word."""
        return f"wrong {self.form.kind.value}" if self.form else self.outcome.status.value

    @property
    def exception(self) -> str:
        failure = self.outcome.failure
        return failure.type if failure and not self.form else ""

    def again(self, case: Case, outcome: Outcome) -> bool:
        """Whether another call ended in the same way."""
        if self.form:
            form = form_again(self.operator, self.dtype, case, outcome)
            return form is not None and form.kind is self.form.kind
        return outcome.status is self.outcome.status


@dataclass(frozen=True)
class Filed:
    """A finding with what it is made of; ``outcomes`` are those of its case in fresh processes."""

    finding: Finding
    suspicion: Suspicion
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True)
class _Accused:
    ended: Ended
    suspects: tuple[str, ...]


def endings_of(runner: Runner, endings: Sequence[Ended]) -> list[Filed]:
    """One finding per operator, implementation and exception; confirmed together, whatever kills its process alone."""
    accused = _accused(runner, endings)
    cases = [_simplest(runner, item.ended) for item in accused]
    again = _again(runner, accused, cases)
    return [_filed(item, case, outcome) for item, case, outcome in zip(accused, cases, again, strict=True)]


def one_input(operator: Operator, case: Case, row: int) -> Case:
    """The case with one of its stacked inputs alone."""
    stacked = {operand.name for operand in operator.operands if operand.stacked}
    inputs: dict[str, Array] = {
        name: array[row : row + 1].copy() if name in stacked else array for name, array in case.inputs.items()
    }
    return Case(case.subject, case.procedure, inputs, seed=case.seed)


def _simplest(runner: Runner, ended: Ended) -> Case:
    """Ones in the smallest shape that raise the same; else the first input of the batch as it was."""
    alone = one_input(ended.operator, ended.case, 0)
    if ended.kind in (Kind.CRASH, Kind.HANG):
        return alone
    candidates = list(_of_ones(ended, alone))
    for case, outcome in zip(
        candidates, runner.run_pairs([(case, ended.outcome.target) for case in candidates]), strict=True
    ):
        if ended.again(case, outcome) and (outcome.failure.type if outcome.failure else "") == ended.exception:
            return case
    return alone


def _of_ones(ended: Ended, alone: Case) -> Iterator[Case]:
    """The call on ones, in every shape of the operator from the smallest on."""
    assert isinstance(alone.subject, ApiCall)
    params = {name: value for name, value in alone.subject.kwargs.items() if name != TIMES}
    for shape in sorted(ended.operator.shapes, key=lambda sizes: int(np.prod(sizes))):
        try:
            sizes = ended.operator.sizes(params, shape)
        except (ValueError, TypeError, IndexError):  # a shape that these parameters do not fit
            continue
        inputs: dict[str, Array] = {}
        for operand in ended.operator.operands:
            whole = (1, *sizes[operand.name]) if operand.stacked else sizes[operand.name]
            inputs[operand.name] = inside(np.ones(whole), operand).astype(alone.inputs[operand.name].dtype)
        yield replace(alone, inputs=inputs)


def library_of(target: str) -> str:
    return spec_of(parse_target(target)).calls


def _accused(runner: Runner, endings: Sequence[Ended]) -> list[_Accused]:
    """What only a narrower dtype lacks is listed, not accused."""
    found: dict[tuple[str, str, str], _Accused] = {}
    excused: set[tuple[str, str, str, str]] = set()
    for ended in sorted(endings, key=lambda item: PREFERRED.index(item.dtype)):
        target = ended.outcome.target
        key = (ended.operator.name, ballot_of(target), ended.exception or ended.kind.value)
        if key in found:
            known = found[key]
            found[key] = replace(known, suspects=tuple(dict.fromkeys((*known.suspects, target))))
        elif (*key, ended.dtype) in excused or _only_this_dtype(runner, ended):
            excused.add((*key, ended.dtype))
        else:
            found[key] = _Accused(ended, (target,))
    return list(found.values())


def _only_this_dtype(runner: Runner, ended: Ended) -> bool:
    if ended.outcome.status is not Status.RAISED or ended.dtype == "float32":
        return False
    inputs: dict[str, Array] = {
        name: array.astype(dtype_named("float32")) if is_floating(str(array.dtype)) else array
        for name, array in ended.case.inputs.items()
    }
    plain = replace(ended.case, inputs=inputs, procedure=replace(ended.case.procedure, dtype=None))
    (again,) = runner.run_pairs([(plain, ended.outcome.target)])
    return again.completed


def _again(runner: Runner, accused: Sequence[_Accused], cases: Sequence[Case]) -> list[Outcome]:
    """Exceptions in one set of fresh processes; what dies or hangs in one of its own."""
    found: dict[int, Outcome] = {}
    harmless = [place for place, item in enumerate(accused) if item.ended.kind not in (Kind.CRASH, Kind.HANG)]
    pairs = [(cases[place], accused[place].ended.outcome.target) for place in harmless]
    found.update(zip(harmless, runner.run_pairs(pairs, fresh=True) if pairs else (), strict=True))
    for place, item in enumerate(accused):
        if place not in found:
            outcome = item.ended.outcome
            factor = HANG_FACTOR if item.ended.kind is Kind.HANG else 1.0
            pair = (cases[place], outcome.target)
            (found[place],) = runner.run_pairs([pair], fresh=True, deadline_factor=factor)
    return [found[place] for place in range(len(accused))]


def _filed(item: _Accused, case: Case, again: Outcome) -> Filed:
    ended, operator = item.ended, item.ended.operator
    target = ended.outcome.target
    assert isinstance(case.subject, ApiCall)
    evidence = [f"{target} {ended.status}: {ended.told}", f"formula: {operator.formula}"]
    diagnosis = Diagnosis(
        klass=Class.DEFECT,
        suspects=item.suspects,
        api=native_name(operator, library_of(target), case),
        parameters={"dtype": ended.dtype, **case.subject.kwargs},
        evidence=tuple(evidence),
    )
    diagnosis = diagnosis if ended.again(case, again) else flaky(diagnosis)
    suspicion = Suspicion(ended.kind, diagnosis, case, (target,), ended.exception, Stage.CALL)
    return Filed(make_finding(suspicion, ENGINE, {target: again}, operator.name), suspicion, {target: again})
