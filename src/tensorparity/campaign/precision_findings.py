"""From the largest errors to findings: blamed, reduced to the smallest input, confirmed in fresh processes."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ..core.case import ApiCall, Case
from ..core.finding import Class, Diagnosis, Finding
from ..core.messages import gist
from ..core.outcome import Outcome
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.verdict import Kind, Measure, Stage
from ..operators.calls.spec import Operator
from ..operators.rounding import K
from ..oracles.precision import measure_rows
from ..oracles.special_values import missed, special
from ..targets.catalogue import traits_of
from ..targets.lowering.calls import native_name
from ..targets.runner import LocalRunner
from ..triage.call_reduction import reduce_call
from ..triage.calls import CallBlame, best_truth, blame_call
from ..triage.confirm import flaky
from .filing import make_finding
from .precision_endings import (
    ENGINE,
    PREFERRED,
    Filed,
    Unconfirmed,
    accuse_endings,
    confirmed_together,
    library_of,
)
from .precision_notebook import Notebook, Worst
from .reducing import Prepared
from .scripts import reproduce

_WITNESSES = 2
#: Reductions wait for workers most of the time.
_REDUCED_AT_ONCE = 4
_COPIES = (16, 64)


@dataclass(frozen=True)
class _Accused:
    operator: Operator
    dtype: str
    worst: Worst
    blame: CallBlame
    also: tuple[str, ...]


def findings_of(runner: Runner, notebooks: Sequence[Notebook], known: Collection[str] = ()) -> list[Filed]:
    """All findings of these, confirmed together: every library is imported once more, not once each.

    Args:
        known: findings, by their ids, that were reduced and confirmed before, and are not again.
    """
    return confirmed_together(runner, accuse(runner, notebooks, known))


def accuse(runner: Runner, notebooks: Sequence[Notebook], known: Collection[str] = ()) -> list[Unconfirmed]:
    """Who is wrong in these, on the smallest input; arguments as ``findings_of``."""
    _call_witnesses(runner, notebooks)
    stop = threading.Event()
    pool = ThreadPoolExecutor(_REDUCED_AT_ONCE)
    try:
        accused = list(pool.map(lambda item: _small(runner, item, known, stop), _accused(notebooks)))
    finally:  # whoever interrupts this does not want to wait for what is under way
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
    sightings = [sighting for notebook in notebooks for sighting in notebook.sightings()]
    return [_unconfirmed(accused, known), accuse_endings(runner, sightings, known)]


def _small(runner: Runner, accused: _Accused, known: Collection[str], stop: threading.Event) -> _Accused:
    """Reduced, unless it is known; what cannot be reduced is filed as it was found."""
    if _is_known(accused, known):
        return accused
    try:
        return _reduced(runner, accused, stop)
    except Exception as error:
        note = f"not reduced: {type(error).__name__}: {gist(str(error))}"
        return replace(accused, blame=replace(accused.blame, note=note))


def _is_known(accused: _Accused, known: Collection[str]) -> bool:
    return bool(known) and _file(accused, {}, confirmed=True).finding.id in known


def _by_operator(notebooks: Sequence[Notebook]) -> dict[str, list[Notebook]]:
    found: dict[str, list[Notebook]] = {}
    for notebook in sorted(notebooks, key=lambda item: PREFERRED.index(item.task.dtype)):
        found.setdefault(notebook.task.operator.name, []).append(notebook)
    return found


def _call_witnesses(runner: Runner, notebooks: Sequence[Notebook]) -> None:
    """Compiled targets are searched apart: what the others make of their worst inputs is asked now."""
    missing = [
        (record, worst, target)
        for notebook in notebooks
        for name, record in notebook.records.items()
        if name in notebook.task.compiled
        for worst in (record.worst if record.units > K else None, record.special)
        if worst is not None
        for target in notebook.task.eager
        if notebook.records[target].inputs and target not in worst.outputs
    ]
    pairs = [(worst.case, target) for _, worst, target in missing]
    for (record, worst, target), outcome in zip(missing, runner.run_pairs(pairs) if pairs else (), strict=True):
        if outcome.completed:
            record.witnessed(worst.case, target, outcome.outputs["0"])


def _accused(notebooks: Sequence[Notebook]) -> list[_Accused]:
    """One per operator and implementation: in the preferred dtype, on the target that is furthest off."""
    found: list[_Accused] = []
    for group in _by_operator(notebooks).values():
        beyond: dict[str, list[tuple[Notebook, Worst]]] = {}
        for notebook in group:
            ranked = sorted(notebook.records.values(), key=lambda record: -record.units)
            for record in ranked:
                if record.worst is not None and record.units > K:
                    beyond.setdefault(_implementation(record.worst.target), []).append((notebook, record.worst))
        guilty = [item for item in map(_first_guilty, beyond.values()) if item is not None]
        found += [item for item in guilty if item.blame.klass is Class.DEFECT]
        known = {_implementation(item.worst.target) for item in guilty if item.blame.klass is Class.DEFECT}
        found += [
            item for item in _specials(group) if not (known & {_implementation(item.worst.target)} and _finite(item))
        ]
        if guilty and all(item.blame.klass is Class.PRECISION for item in guilty):
            found.append(guilty[0])  # ill-conditioned: one remark on the operator, not one per library
    return found


def _specials(group: Sequence[Notebook]) -> list[_Accused]:
    """Who is wrong on NaN and infinities: one per implementation, told in the preferred dtype that shows it."""
    beyond: dict[str, list[tuple[Notebook, Worst]]] = {}
    for notebook in group:
        for record in notebook.records.values():
            if record.special is not None:
                beyond.setdefault(_implementation(record.special.target), []).append((notebook, record.special))
    return [item for item in map(_first_guilty, beyond.values()) if item is not None]


def _finite(accused: _Accused) -> bool:
    """Whether a finite number came out where another one should: who errs on ordinary numbers does so here as well."""
    place, target = _worst_place(accused), accused.worst.target
    said, value = float(accused.worst.outputs[target].ravel()[place]), _true_value(accused, place)
    return math.isfinite(said) and math.isfinite(value)


def _first_guilty(candidates: Sequence[tuple[Notebook, Worst]]) -> _Accused | None:
    """The first defect among them; without any, the first input on which all are ill-conditioned."""
    dtypes = tuple(dict.fromkeys(notebook.task.dtype for notebook, _ in candidates))
    remark: _Accused | None = None
    for notebook, worst in candidates:
        task = notebook.task
        blame = blame_call(task.operator, worst.case, task.dtype, worst.outputs, worst.target, traits_of(worst.outputs))
        if blame.klass is None:
            continue
        also = tuple(dtype for dtype in dtypes if dtype != task.dtype)
        accused = _Accused(task.operator, task.dtype, worst, blame, also)
        if blame.klass is Class.DEFECT:
            return accused
        remark = remark or accused
    return remark


def _targets(accused: _Accused) -> list[str]:
    suspects = accused.blame.suspects or tuple(accused.blame.units)
    return [*suspects, *accused.blame.within[:_WITNESSES]]


def _judge(accused: _Accused, case: Case, outcomes: Mapping[str, Outcome]) -> CallBlame:
    outputs = {t: o.outputs["0"] for t, o in outcomes.items() if o.completed and "0" in o.outputs}
    return blame_call(accused.operator, case, accused.dtype, outputs, accused.worst.target, traits_of(outputs))


def _reduced(runner: Runner, accused: _Accused, stop: threading.Event) -> _Accused:
    """The same accusation on the smallest input that keeps its key: class, suspects, and whether it is finite."""
    targets = _targets(accused)
    kind = _kind(accused.blame, accused.worst.target)

    def fails(cases: Sequence[Case]) -> list[bool]:
        if stop.is_set():
            return [False] * len(cases)
        outcomes = iter(runner.run_pairs([(case, target) for case in cases for target in targets]))
        found = []
        for case in cases:
            answers = {target: next(outcomes) for target in targets}
            blame = _judge(accused, case, answers)
            if _special(case) is not _special(accused.worst.case):
                found.append(False)
                continue
            same = blame.klass is accused.blame.klass and set(blame.suspects) == set(accused.blame.suspects)
            found.append(same and _kind(blame, accused.worst.target) is kind)
        return found

    worst = replace(accused.worst, case=_alone_or_repeated(accused, fails))
    place = _worst_place(accused)
    case = reduce_call(accused.operator, worst.case, fails, place)
    outcomes = dict(zip(targets, runner.run_pairs([(case, target) for target in targets]), strict=True))
    outputs = {t: o.outputs["0"] for t, o in outcomes.items() if o.completed}
    blame = _judge(accused, case, outcomes)
    if blame.klass is not accused.blame.klass:  # reduced to something that is not steady: keep what was found
        return accused
    return replace(accused, worst=replace(worst, case=case, outputs=outputs), blame=blame)


def _alone_or_repeated(accused: _Accused, fails: Callable[[Sequence[Case]], list[bool]]) -> Case:
    """The input alone, or as often as it takes: some kernels treat the body of a long array in another way."""
    case = accused.worst.case
    stacked = [operand.name for operand in accused.operator.operands if operand.stacked]
    for copies in (1, *_COPIES):
        inputs = {n: np.repeat(a, copies, axis=0) if n in stacked else a for n, a in case.inputs.items()}
        repeated = replace(case, inputs=inputs)
        if fails([repeated])[0]:
            return repeated
    return case


def _worst_place(accused: _Accused) -> int:
    case = accused.worst.case
    arrays = accused.operator.operand_arrays(case.inputs)
    assert isinstance(case.subject, ApiCall)
    output = accused.worst.outputs[accused.worst.target]
    if _special(case):
        wrong = missed(accused.operator, dict(case.subject.kwargs), arrays, output, accused.dtype)
        return int(np.argmax(wrong.ravel()))
    truth = best_truth(accused.operator, dict(case.subject.kwargs), arrays, accused.dtype)
    return int(measure_rows(output, truth, accused.dtype).place[0])


def _kind(blame: CallBlame, target: str) -> Kind:
    return Kind.NAN if math.isinf(blame.units.get(target, 0.0)) else Kind.PRECISION


def _unconfirmed(accused: Sequence[_Accused], known: Collection[str]) -> Unconfirmed:
    familiar = [_is_known(item, known) for item in accused]
    new = [item for item, seen in zip(accused, familiar, strict=True) if not seen]

    def file(outcomes: Sequence[Outcome]) -> list[Filed]:
        answers = iter(outcomes)
        filed = [_file(item, {}, confirmed=True) for item, seen in zip(accused, familiar, strict=True) if seen]
        for item in new:
            again = {target: next(answers) for target in _targets(item)}
            blame = _judge(item, item.worst.case, again)
            confirmed = blame.klass is item.blame.klass and set(blame.suspects) == set(item.blame.suspects)
            filed.append(_file(item, again, confirmed=confirmed))
        return filed

    return Unconfirmed([(item.worst.case, target) for item in new for target in _targets(item)], file)


def _file(item: _Accused, outcomes: Mapping[str, Outcome], *, confirmed: bool) -> Filed:
    klass = item.blame.klass
    assert klass is not None
    library = library_of(item.worst.target)
    # The freedoms of finite inputs are about constants and cut-offs that only float64 can see.
    freedom = _freedom(item) if item.dtype == "float64" or _special(item.worst.case) else None
    if freedom and klass is Class.DEFECT:
        klass = Class.SPECIFICATION
    case = item.worst.case
    assert isinstance(case.subject, ApiCall)
    evidence = _evidence(item)
    if freedom:
        evidence.append(f"documented: {freedom}")
    diagnosis = Diagnosis(
        klass=klass,
        suspects=item.blame.suspects,
        api=native_name(item.operator, library, case),
        parameters={"dtype": item.dtype, **case.subject.kwargs},
        evidence=tuple(evidence),
        measure=Measure("error-in-roundoffs", item.blame.units[item.worst.target]),
        threshold=K,
    )
    diagnosis = diagnosis if confirmed else flaky(diagnosis)
    kind = _kind(item.blame, item.worst.target)
    suspicion = Suspicion(kind, diagnosis, case, tuple(outcomes), stage=Stage.CALL, features=_features(case))
    return Filed(make_finding(suspicion, ENGINE, outcomes, item.operator.name), suspicion, outcomes)


def _freedom(item: _Accused) -> str | None:
    """A freedom of the library that is called, or of the one that computes for it (torch under Keras)."""
    operator, target = item.operator, item.worst.target
    unlike = operator.unlike_special if _special(item.worst.case) else operator.unlike
    return unlike.get(library_of(target)) or unlike.get(_implementation(target))


def _true_value(item: _Accused, place: int) -> float:
    case = item.worst.case
    assert isinstance(case.subject, ApiCall)
    arrays = item.operator.operand_arrays(case.inputs)
    truth = best_truth(item.operator, dict(case.subject.kwargs), arrays, item.dtype)
    return float(np.broadcast_to(truth.value, item.worst.outputs[item.worst.target].shape).ravel()[place])


def _evidence(item: _Accused) -> list[str]:
    case, target = item.worst.case, item.worst.target
    place = _worst_place(item)
    output = float(item.worst.outputs[target].ravel()[place])
    value = _true_value(item, place)
    whole = _special(case)
    wrong = "" if whole else f": {item.blame.units[target]:.3g} times what rounding explains"
    called = f"{item.operator.name}({_shown(case)})"
    lines = [f"{called} = {value:.9g}, and {target} says {output:.9g} in {item.dtype}{wrong}"]
    for other in item.blame.within:
        said = float(item.worst.outputs[other].ravel()[place]) if other in item.worst.outputs else value
        lines.append(f"{other} says {said:.9g}" + ("" if whole else f" ({item.blame.units[other]:.2g} times)"))
    if not item.blame.within and item.blame.klass is Class.DEFECT:
        lines.append(f"no other implementation was within the bound; the formula evaluated stably in {item.dtype} is")
    if item.blame.note:
        lines.append(item.blame.note)
    lines.append(f"formula: {item.operator.formula}")
    if item.also:
        lines.append(f"{'wrong' if whole else 'beyond the bound'} also in {', '.join(item.also)}")
    return lines


def _features(case: Case) -> tuple[str, ...]:
    """NaN and infinities are another defect than an early overflow, whose answer looks alike."""
    flat = np.concatenate([array.astype(np.float64).ravel() for array in case.inputs.values()])
    return tuple(name for name, found in (("nan", np.isnan(flat)), ("infinity", np.isinf(flat))) if found.any())


def _special(case: Case) -> bool:
    return special(list(case.inputs.values()))


def _shown(case: Case) -> str:
    """The inputs as numbers, where they are few."""
    parts = []
    for name, array in case.inputs.items():
        flat = array.astype(np.float64).ravel()
        numbers = ", ".join(f"{value:.9g}" for value in flat[:4].tolist())
        more = f", … {flat.size} numbers" if flat.size > 4 else ""
        parts.append(f"{numbers}{more}" if len(case.inputs) == 1 else f"{name}={numbers}{more}")
    return "; ".join(parts)


def prepared(local: LocalRunner, filed: Sequence[Filed]) -> list[tuple[Finding, Prepared]]:
    """Findings as they are stored: the defects with a script that was executed."""
    found: list[tuple[Finding, Prepared]] = []
    for item in filed:
        ready = Prepared(item.suspicion, item.suspicion)
        if item.finding.is_defect:
            made = reproduce(local, item.suspicion, item.outcomes)
            script = made.script if made.script.text else None
            ready = replace(ready, reproducer=script, draft=made.draft)
        found.append((item.finding, ready))
    return found


def _implementation(target: str) -> str:
    return traits_of([target]).implementation(target)
