"""Calls that raised, crashed, hung or answered in a wrong form: accused, confirmed in fresh processes, filed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array, dtype_named, is_floating
from ..core.case import ApiCall, Case
from ..core.finding import Class, Diagnosis, Finding
from ..core.messages import gist, normalised, says_no_kernel, says_unsupported
from ..core.outcome import Failure, Outcome, Status
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.verdict import Kind, Stage
from ..generators.operator_inputs import inside
from ..operators.calls.spec import TIMES, Operator
from ..targets.catalogue import spec_of, traits_of
from ..targets.lowering.calls import native_name
from ..targets.names import parse_target
from ..triage.confirm import HANG_FACTOR, flaky
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
        if self.kind is Kind.ERROR and outcome.failure is not None and outcome.failure.type != self.exception:
            return False
        return outcome.status is self.outcome.status

    def same_cause(self, case: Case, outcome: Outcome) -> bool:
        """Whether another call ended in the same way, and says the same of it."""
        said = normalised(outcome.failure.message) if outcome.failure and self.kind is Kind.ERROR else ""
        return self.again(case, outcome) and said == self.message

    @property
    def message(self) -> str:
        """What the exception says, without names and figures: two of one type may have nothing else in common."""
        failure = self.outcome.failure
        return normalised(failure.message) if failure and self.kind is Kind.ERROR else ""


@dataclass(frozen=True)
class Filed:
    """A finding with what it is made of; ``outcomes`` are those of its case in fresh processes."""

    finding: Finding
    suspicion: Suspicion
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True)
class Unconfirmed:
    """Accusations: what is to be run in fresh processes together, and what is then filed.

    ``file`` is told the outcomes; what dies or hangs it runs again itself, alone.
    """

    pairs: Sequence[tuple[Case, str]]
    file: Callable[[Sequence[Outcome]], list[Filed]]


@dataclass(frozen=True)
class _Accused:
    """Who is accused of what; ``features`` tell it from an earlier exception of the same type."""

    ended: Ended
    suspects: tuple[str, ...]
    features: tuple[str, ...] = ()


def accuse_endings(runner: Runner, endings: Sequence[Ended], known: Collection[str] = ()) -> Unconfirmed:
    """One accusation per operator, implementation and exception with its message, on the simplest input.

    Args:
        known: findings, by their ids, that were confirmed before, and are not again.
    """
    as_seen = [(item, _filed(item, item.ended.case, item.ended.outcome)) for item in _accused(runner, endings)]
    accused = [item for item, filed in as_seen if filed.finding.id not in known]
    cases = [_simplest(runner, item.ended) for item in accused]
    harmless = [place for place, item in enumerate(accused) if item.ended.kind not in (Kind.CRASH, Kind.HANG)]

    def file(outcomes: Sequence[Outcome]) -> list[Filed]:
        found = dict(zip(harmless, outcomes, strict=True))
        for place, item in enumerate(accused):
            if place not in found:  # what dies or hangs does so in a process of its own
                factor = HANG_FACTOR if item.ended.kind is Kind.HANG else 1.0
                pair = (cases[place], item.ended.outcome.target)
                (found[place],) = runner.run_pairs([pair], fresh=True, deadline_factor=factor)
        new = [_filed(item, cases[place], found[place]) for place, item in enumerate(accused)]
        return [*(filed for _, filed in as_seen if filed.finding.id in known), *new]

    return Unconfirmed([(cases[place], accused[place].ended.outcome.target) for place in harmless], file)


def confirmed_together(runner: Runner, accusations: Sequence[Unconfirmed]) -> list[Filed]:
    """What these are filed as, after one set of fresh processes for all."""
    pairs = [pair for item in accusations for pair in item.pairs]
    outcomes = iter(runner.run_pairs(pairs, fresh=True) if pairs else ())
    return [filed for item in accusations for filed in item.file([next(outcomes) for _ in item.pairs])]


def one_input(operator: Operator, case: Case, row: int) -> Case:
    """The case with one of its stacked inputs alone."""
    return _rows(operator, case, row, row + 1)


def _rows(operator: Operator, case: Case, first: int, end: int) -> Case:
    stacked = {operand.name for operand in operator.operands if operand.stacked}
    inputs: dict[str, Array] = {
        name: array[first:end].copy() if name in stacked else array for name, array in case.inputs.items()
    }
    return Case(case.subject, case.procedure, inputs, seed=case.seed)


def _simplest(runner: Runner, ended: Ended) -> Case:
    """Ones in the smallest shape that end in the same way; else the input of the batch that does."""
    if ended.kind is Kind.HANG:
        return ended.case  # every look at a part of it takes the whole deadline
    if ended.kind is not Kind.CRASH:
        candidates = list(_of_ones(ended, one_input(ended.operator, ended.case, 0)))
        outcomes = runner.run_pairs([(case, ended.outcome.target) for case in candidates])
        for case, outcome in zip(candidates, outcomes, strict=True):
            if ended.same_cause(case, outcome):
                return case
    return _guilty_input(runner, ended)


def _guilty_input(runner: Runner, ended: Ended) -> Case:
    """The batch cut in halves as long as one of them ends in the same way."""
    first, end = 0, _count(ended)
    while end - first > 1:
        middle = (first + end) // 2
        halves = [(first, middle), (middle, end)]
        cases = [_rows(ended.operator, ended.case, *half) for half in halves]
        outcomes = runner.run_pairs([(case, ended.outcome.target) for case in cases])
        guilty = [h for h, case, o in zip(halves, cases, outcomes, strict=True) if ended.same_cause(case, o)]
        if not guilty:
            break
        first, end = guilty[0]
    return _rows(ended.operator, ended.case, first, end)


def _count(ended: Ended) -> int:
    return len(ended.case.inputs[next(operand.name for operand in ended.operator.operands if operand.stacked)])


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
    return spec_of(parse_target(target)).traits.calls


def _accused(runner: Runner, endings: Sequence[Ended]) -> list[_Accused]:
    """What only a narrower dtype lacks is listed, not accused."""
    found: dict[tuple[str, str, str, str], _Accused] = {}
    excused: set[tuple[str, str, str, str, str]] = set()
    for ended in sorted(endings, key=lambda item: PREFERRED.index(item.dtype)):
        target = ended.outcome.target
        key = (
            ended.operator.name,
            traits_of([target]).implementation(target),
            ended.exception or ended.kind.value,
            ended.message,
        )
        if key in found:
            known = found[key]
            found[key] = replace(known, suspects=tuple(dict.fromkeys((*known.suspects, target))))
        elif (*key, ended.dtype) in excused or _only_this_dtype(runner, ended):
            excused.add((*key, ended.dtype))
        else:
            second = any(other[:3] == key[:3] for other in found)
            found[key] = _Accused(ended, (target,), (ended.message,) if second else ())
    return list(found.values())


def _only_this_dtype(runner: Runner, ended: Ended) -> bool:
    """Whether it works in float32, and the dtype is narrower; or wider, and the library says it has no kernel."""
    failure = ended.outcome.failure
    if ended.outcome.status is not Status.RAISED or ended.dtype == "float32" or failure is None:
        return False
    if ended.dtype == "float64" and not _no_kernel(failure):
        return False
    with np.errstate(over="ignore"):
        inputs: dict[str, Array] = {
            name: array.astype(dtype_named("float32")) if is_floating(str(array.dtype)) else array
            for name, array in ended.case.inputs.items()
        }
    plain = replace(ended.case, inputs=inputs, procedure=replace(ended.case.procedure, dtype=None))
    (again,) = runner.run_pairs([(plain, ended.outcome.target)])
    return again.completed


def _no_kernel(failure: Failure) -> bool:
    said = failure.message.replace("_", " ")
    return says_no_kernel(said) or says_unsupported(failure.type, said)


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
    suspicion = Suspicion(ended.kind, diagnosis, case, (target,), ended.exception, Stage.CALL, item.features)
    return Filed(make_finding(suspicion, ENGINE, {target: again}, operator.name), suspicion, {target: again})
