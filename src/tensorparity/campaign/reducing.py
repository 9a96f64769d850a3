"""From a suspicion to what a user is shown: reduced, examined once more on every target, with a script.

Reduction needs the suspects and one target that is right; the vote needs everybody. Whatever comes out is
examined on all targets again, and a reduction that no longer says the same there is dropped.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.case import Case, ModelFile
from ..core.engine import Ask
from ..core.errors import TensorParityError
from ..core.finding import Class
from ..core.messages import gist
from ..core.oracle import Setup
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.runner import Runner, run_case
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from ..oracles.operator_error import PRECISION
from ..targets.runner import LocalRunner
from ..triage.backward import loss_function, pulled_back
from ..triage.confirm import flaky, wavers
from ..triage.examine import Examiner
from ..triage.features import features
from ..triage.reduction.order import elements, node_count
from ..triage.reduction.passes import PASSES
from ..triage.reduction.reducer import Budget, Check, Checked, Key, Reduction, reduce_case
from ..triage.reproduce.script import Reproducer
from .events import Listener, Progress, silent
from .examining import examine_cases
from .exporter_findings import exporter_of, reduce_exporter, reproduce_exporter
from .judging import references
from .scripts import Reproduced, end_scripts, reproduce
from .selection import families_of
from .traits import traits_of

#: Who is asked first as the one that is right: the quicker to start and to build, the earlier.
_QUICKEST = ("onnxruntime", "torch:eager", "keras:torch", "keras:tensorflow", "openvino", "keras:openvino", "keras:jax")


#: Reductions under way: enough that workers have something to do while others wait for their scripts.
_AT_ONCE = 4

#: Checks of what ends a process: each costs the start of a worker.
_DEADLY, _DEADLY_CHECKS = (Kind.CRASH, Kind.HANG), 30

_Alike = tuple[str, ...]

#: How the evidence of a reduction begins.
_REDUCED = "reduced from"


@dataclass(frozen=True)
class ReducingSettings:
    """How much work goes into one defect, and into all of a run.

    Args:
        budget: per defect, as if it were reduced alone.
        seconds: for all defects together; those beyond are filed as they are.
        scripts: also render and execute a reproducer.
        classes: of what is reduced; the others are filed as they were found.
        script_seconds: for all scripts together, each of which is executed in a process that imports its library.
    """

    budget: Budget = field(default_factory=Budget)
    seconds: float = 300.0
    scripts: bool = True
    classes: frozenset[Class] = frozenset([Class.DEFECT])
    script_seconds: float = math.inf


@dataclass(frozen=True)
class Prepared:
    """A suspicion as it will be filed.

    Args:
        original: as it was found; its signature is the finding's identity.
        repeated: it is like an earlier one, which was reduced to what it is signed by.
        reduction: None where it was not tried, as ``reproducer`` and ``draft`` (of an upstream report).
    """

    suspicion: Suspicion
    original: Suspicion
    reduction: Reduction | None = None
    reproducer: Reproducer | None = None
    draft: str | None = None
    repeated: bool = False
    script_seconds: float = 0.0

    @property
    def is_reduced(self) -> bool:
        """As far as it goes, so that its signature says which defect it is."""
        done = self.reduction is not None and self.reduction.suspicion is not None and not self.reduction.stopped
        return done or self.repeated


class Preparation:
    """Prepares the suspicions of one run, within its budget; one reduction per distinct defect.

    Several are reduced at a time: a reduction waits for workers, and then for its script, most of the time.
    """

    def __init__(
        self, local: LocalRunner, runner: Runner, settings: ReducingSettings | None, listener: Listener = silent
    ) -> None:
        self._local = local
        self._runner = runner
        self._settings = settings
        self._tell = listener
        self._spent = 0.0
        self._script_seconds = 0.0
        self._seen: dict[_Alike, Prepared] = {}
        self._known: set[_Alike] = set()
        self._met: dict[_Alike, Suspicion] = {}

    def prepare(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        """Every suspicion, reduced where it is a new defect; then what was met on the way, in the same manner."""
        return [*self.reduce(suspicions), *self.met()]

    def reduce(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        """Every suspicion, reduced where it is a new defect; what is met on the way waits for ``met``."""
        prepared = self._all(suspicions)
        self._note(prepared)
        for item in prepared:
            for other in item.reduction.also if item.reduction else ():
                self._met.setdefault(_alike(other), other)
        return prepared

    def _note(self, prepared: Sequence[Prepared]) -> None:
        defects = [item for item in prepared if item.suspicion.diagnosis.klass is Class.DEFECT]
        self._known |= {_alike(s) for item in defects for s in (item.suspicion, item.original)}

    def met(self) -> list[Prepared]:
        """What was met while others were reduced: confirmed together, because fresh workers are dear, and reduced."""
        first: dict[Key, Suspicion] = {}  # of one key, one is enough
        for alike, other in self._met.items():
            if alike not in self._known:
                first.setdefault(other.key, other)
        began = time.monotonic()
        found = confirmed(self._runner, list(first.values()))
        self._spent += time.monotonic() - began
        prepared = self._all(found)  # what these meet in turn is left to another run
        self._known |= set(self._met)
        self._met.clear()
        self._note(prepared)
        return prepared

    def stop_reducing(self) -> None:
        """What comes from now on is prepared as it is; what was met is not forgotten."""
        self._settings = None

    def _all(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        """Of those that are alike the first is reduced, and the next one where that could not be done."""
        reducible = [s for s in suspicions if self._settings and s.diagnosis.klass in self._settings.classes]
        done: dict[int, Prepared] = {}
        while waiting := [s for s in reducible if id(s) not in done and not self._is_reduced(s)]:
            heads = list({_alike(suspicion): suspicion for suspicion in reversed(waiting)}.values())[::-1]
            for suspicion, prepared in zip(heads, self._together(heads), strict=True):
                done[id(suspicion)] = self._seen[_alike(suspicion)] = prepared
        repeated = {id(s) for s in reducible} - set(done)
        return [done.get(id(s)) or (self._again(s) if id(s) in repeated else Prepared(s, s)) for s in suspicions]

    def _is_reduced(self, suspicion: Suspicion) -> bool:
        earlier = self._seen.get(_alike(suspicion))
        return earlier is not None and earlier.reduction is not None

    def _again(self, suspicion: Suspicion) -> Prepared:
        earlier = self._seen[_alike(suspicion)]
        return Prepared(_signed_like(suspicion, earlier.suspicion), suspicion, repeated=earlier.is_reduced)

    def _together(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        began = time.monotonic()
        stop = threading.Event()
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            most = min(_AT_ONCE, len(suspicions))
            return list(pool.map(lambda suspicion: self._one(suspicion, began, most, stop), suspicions))
        except BaseException:  # whoever interrupts this does not want to wait for what is under way
            stop.set()
            end_scripts()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            self._spent += time.monotonic() - began

    def _one(self, suspicion: Suspicion, began: float, at_once: int, stop: threading.Event) -> Prepared:
        settings = self._settings
        assert settings is not None
        left = settings.seconds - self._spent - (time.monotonic() - began)
        if left <= 0:
            return Prepared(_remarked(suspicion, "not reduced: the time for reducing was used up"), suspicion)
        # the others have the workers for most of the time
        budget = replace(settings.budget, seconds=min(at_once * settings.budget.seconds, left))
        runner = _Stoppable(self._runner, stop)
        try:
            scripts = settings.scripts and self._script_seconds < settings.script_seconds
            ready = prepare_one(self._local, runner, suspicion, budget, scripts, self._tell)
            self._script_seconds += ready.script_seconds
            return ready
        except Exception as error:  # what was confirmed is worth more than its reduction, and so are all the others
            return Prepared(_remarked(suspicion, f"not reduced: {_in_words(error)}"), suspicion)


@dataclass(frozen=True)
class _Stoppable:
    """A runner for work in another thread, which ends with the next case once it is told to stop."""

    runner: Runner
    stop: threading.Event

    @property
    def targets(self) -> Sequence[str]:
        return self.runner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        if self.stop.is_set():
            raise RuntimeError("nobody waits for this reduction any more")
        return self.runner.run_pairs(pairs, fresh=fresh, deadline_factor=deadline_factor, on_outcome=on_outcome)


def _in_words(error: Exception) -> str:
    """What stopped us; of a bug of ours also where."""
    if isinstance(error, TensorParityError):
        return gist(str(error))
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return f"a bug in tensorparity ({where}): {type(error).__name__}: {gist(str(error))}"


def confirmed(runner: Runner, doubted: Sequence[Suspicion], *, hangs: bool = False) -> list[Suspicion]:
    """Suspicions seen again in fresh workers, in their order; what does not show again is ``flaky``.

    Args:
        hangs: include them. What is met while reducing leaves them out: a candidate that is slow on a loaded machine is
            no finding.
    """
    asked = [suspicion for suspicion in doubted if hangs or suspicion.kind is not Kind.HANG]
    by_targets: dict[tuple[str, ...], list[Suspicion]] = {}
    for suspicion in asked:
        by_targets.setdefault(suspicion.targets, []).append(suspicion)
    found: dict[int, Suspicion] = {}
    for targets, others in by_targets.items():  # together, because fresh workers are dear
        again = examine_cases(runner, [other.case for other in others], targets, fresh=True)
        for other, checked in zip(others, again, strict=True):
            found[id(other)] = checked.of_key(other.key) or replace(other, diagnosis=flaky(other.diagnosis))
    return [found[id(suspicion)] for suspicion in asked]


def _alike(suspicion: Suspicion) -> _Alike:
    """Suspicions that are reduced once: they would be one finding, whatever the figures of their parameters are."""
    return (*suspicion.key, suspicion.signature)


def _signed_like(suspicion: Suspicion, reduced: Suspicion) -> Suspicion:
    """Another sighting of a defect that has been reduced already: it gets that one's parameters, so its signature."""
    diagnosis = replace(suspicion.diagnosis, parameters=reduced.diagnosis.parameters)
    return replace(suspicion, diagnosis=diagnosis, features=reduced.features)


def _remarked(suspicion: Suspicion, remark: str) -> Suspicion:
    diagnosis = suspicion.diagnosis
    return replace(suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, remark)))


def prepare_one(
    local: LocalRunner,
    runner: Runner,
    suspicion: Suspicion,
    budget: Budget,
    scripts: bool = True,
    listener: Listener = silent,
) -> Prepared:
    """Reduce one suspicion, and render and execute its script."""
    listener(Progress("reducing", 0, None, suspicion.diagnosis.api or ""))
    exporter = exporter_of(suspicion)
    if exporter is not None:
        return _prepare_exporter(local, runner, suspicion, exporter, budget, scripts, listener)
    reduction = reduce_suspicion(runner, suspicion, budget)
    if reduction.suspicion is None:
        return Prepared(_remarked(suspicion, f"not reduced: {reduction.stopped}"), suspicion, reduction)
    final = _as_filed(suspicion, reduction)
    if not scripts or final.diagnosis.klass is not Class.DEFECT:
        return Prepared(final, suspicion, reduction)
    listener(Progress("running the reproducer", 0, None, suspicion.diagnosis.api or ""))
    began = time.monotonic()
    outcomes = run_case(runner, final.case, suspicion.targets)
    ready = _with_script(final, suspicion, reduction, reproduce(local, final, outcomes))
    return replace(ready, script_seconds=time.monotonic() - began)


def _with_script(
    final: Suspicion, suspicion: Suspicion, reduction: Reduction | None, reproduced: Reproduced
) -> Prepared:
    script = reproduced.script
    if not script.verified:
        remark = "not verified" if script.text else "missing"
        final = _remarked(final, f"reproducer {remark}: {script.remark}")
    if reproduced.case is not None:
        final = replace(final, case=reproduced.case)
    return Prepared(final, suspicion, reduction, script if script.text else None, reproduced.draft)


def _prepare_exporter(
    local: LocalRunner,
    runner: Runner,
    suspicion: Suspicion,
    exporter: str,
    budget: Budget,
    scripts: bool,
    listener: Listener,
) -> Prepared:
    """The smallest layer that it gets wrong, else the file with the smallest batch."""
    reduction = reduce_exporter(local, runner, suspicion, exporter, budget)
    if reduction.suspicion is None:
        final = _remarked(suspicion, f"not reduced, shown by the file: {reduction.stopped}")
    else:
        final = _as_filed(suspicion, reduction)
    if not scripts:
        return Prepared(replace(final, case=suspicion.case), suspicion, reduction)
    listener(Progress("running the reproducer", 0, None, suspicion.diagnosis.api or ""))
    prepared = _with_script(final, suspicion, reduction, reproduce_exporter(local, runner, final, exporter))
    # a graph would be lowered by ourselves when it is replayed: the file it is, for everybody but the script
    return replace(prepared, suspicion=replace(prepared.suspicion, case=_in_file(prepared.suspicion.case, suspicion)))


def _in_file(case: Case, suspicion: Suspicion) -> Case:
    return case if isinstance(case.subject, ModelFile) else suspicion.case


def _as_filed(suspicion: Suspicion, reduction: Reduction) -> Suspicion:
    """The reduced case with the words of the first sighting: where it was found, and by how much."""
    reduced, original = reduction.suspicion, reduction.original
    assert reduced is not None
    diagnosis = suspicion.diagnosis
    if suspicion.oracle == PRECISION:  # its words are about numbers, and those of the smallest input say most
        told = (*reduced.diagnosis.evidence, _ratio(original, reduction))
        shown = replace(reduced.diagnosis, evidence=told)
        signed = reduced.features or suspicion.features
        return replace(reduced, targets=suspicion.targets, features=signed, diagnosis=shown)
    evidence = [*diagnosis.evidence, _ratio(original, reduction)]
    if isinstance(reduction.case.subject, ModelFile):
        evidence.append("the layer is not in the catalogue: the case is the model file itself, with its smallest batch")
    return replace(
        reduced,
        targets=suspicion.targets,
        features=features(reduction.case, reduced.stage),
        diagnosis=replace(
            reduced.diagnosis,
            node=diagnosis.node or reduced.diagnosis.node,
            api=diagnosis.api or reduced.diagnosis.api,
            evidence=tuple(evidence),
            measure=diagnosis.measure or reduced.diagnosis.measure,
            threshold=diagnosis.threshold if diagnosis.measure else reduced.diagnosis.threshold,
        ),
    )


def _ratio(original: Case, reduction: Reduction) -> str:
    case = reduction.case
    before = f"{node_count(original)} node{'s' * (node_count(original) > 1)} and {elements(original):,} numbers"
    after = f"{node_count(case)} and {elements(case):,}"
    stopped = f" ({reduction.stopped})" if reduction.stopped else ""
    return f"{_REDUCED} {before} to {after} in {reduction.checks} checks{stopped}"


def is_whole_reduction(evidence: str) -> bool:
    """Whether this line of evidence is that of a reduction that came to its end."""
    return evidence.startswith(_REDUCED) and not evidence.endswith(")")


def reduce_suspicion(runner: Runner, suspicion: Suspicion, budget: Budget) -> Reduction:
    """The simplest case with the suspicion's key, by all targets' word.

    First with the targets that are needed; if they cannot tell (the one that is right may not run it alone), or the
    others do not say the same of the result, with all of them.
    """
    suspicion = _steadied(suspicion, suspicion)
    if suspicion.kind in _DEADLY:
        budget = replace(budget, checks=min(budget.checks, _DEADLY_CHECKS))
    needed = needed_targets(suspicion)
    reduction = _reduce(runner, suspicion, needed, budget)
    everybody = list(suspicion.targets)
    if set(needed) == set(everybody):
        return reduction
    if reduction.suspicion is not None:
        (checked,) = _checking(runner, suspicion, everybody)([reduction.case])
        final = _matching(suspicion, checked)
        if final is not None:
            return replace(reduction, suspicion=final)
    checks = budget.checks - reduction.checks if suspicion.kind in _DEADLY else budget.checks
    left = replace(budget, seconds=budget.seconds - reduction.seconds, checks=max(1, checks))
    again = _reduce(runner, suspicion, everybody, left)
    return replace(again, checks=again.checks + reduction.checks, seconds=again.seconds + reduction.seconds)


def _reduce(runner: Runner, suspicion: Suspicion, targets: Sequence[str], budget: Budget) -> Reduction:
    check = _checking(runner, suspicion, targets)
    began = time.monotonic()
    (first,) = check([suspicion.case])
    found = _matching(suspicion, first)
    if found is None:
        why = first.undecided or "alone, it does not fail in the same way"
        return Reduction(suspicion.case, suspicion.case, None, 1, time.monotonic() - began, stopped=why)

    def remembering(cases: Sequence[Case]) -> Sequence[Checked]:
        return [first] if [case.digest for case in cases] == [suspicion.case.digest] else check(cases)

    return reduce_case(suspicion.case, found.key, remembering, PASSES, budget, suspicion.diagnosis.klass)


def _checking(runner: Runner, suspicion: Suspicion, targets: Sequence[str]) -> Check:
    """Who judges a candidate: the oracle that convicted."""
    if not suspicion.oracle:
        return lambda cases: [_all_steadied(suspicion, item) for item in examine_cases(runner, cases, targets)]
    examiner = Examiner(runner, Setup(targets=tuple(targets), traits=traits_of(targets)))

    def check(cases: Sequence[Case]) -> list[Checked]:
        asks = [Ask(case, tuple(targets), (suspicion.oracle,)) for case in cases]
        found = examiner.examine(asks, claim=suspicion.key)
        return [Checked(_comparable(suspicion, item.judged.suspicions), item.judged.undecided) for item in found]

    return check


def _comparable(suspicion: Suspicion, found: Sequence[Suspicion]) -> tuple[Suspicion, ...]:
    """Without what has the same key and is another defect.

    An exception that says something else; and of an operator, NaN and infinities that it makes of numbers where it
    was given some, or the other way round.
    """
    numbers = suspicion.oracle == PRECISION and suspicion.diagnosis.measure is not None
    return tuple(
        other
        for other in found
        if other.key != suspicion.key
        or (other.message == suspicion.message and (not numbers or bool(other.features) is bool(suspicion.features)))
    )


def _steadied(found: Suspicion, original: Suspicion) -> Suspicion:
    """Where a suspect answers differently from run to run, a NaN is one more of its wrong numbers."""
    if found.kind is Kind.NAN and wavers(original.diagnosis):
        return replace(found, kind=Kind.INCONSISTENCY)
    return found


def _all_steadied(original: Suspicion, checked: Checked) -> Checked:
    return replace(checked, suspicions=tuple(_steadied(found, original) for found in checked.suspicions))


def _matching(suspicion: Suspicion, checked: Checked) -> Suspicion | None:
    """What a fresh look at the case says of the same defect."""
    wanted = suspicion.diagnosis
    exact = checked.of_key(suspicion.key, wanted.klass)
    if exact is not None:
        return exact
    for other in checked.suspicions:
        found, accused = set(other.diagnosis.suspects), set(wanted.suspects)
        # alone, whoever raises in other words is told apart; and who answers by chance may happen to be right
        parted = other.kind is Kind.ERROR or wavers(wanted)
        alike = other.kind is suspicion.kind and (found == accused or (parted and found < accused))
        known = wanted.api is None or other.diagnosis.api is None or wanted.api == other.diagnosis.api
        if alike and known and other.diagnosis.klass is wanted.klass:
            return other
    return None


def needed_targets(suspicion: Suspicion) -> list[str]:
    """The suspects and one that is right; everybody, where the vote decides or code is shared."""
    case, targets = suspicion.case, list(suspicion.targets)
    suspects = [target for target in targets if target in suspicion.diagnosis.suspects]
    if not suspects:
        shared = [t for t in targets if families_of([t])[t] in suspicion.diagnosis.suspects]
        return sorted(shared, key=_speed)[:2] if len(shared) > 2 else targets
    if not (suspicion.exception or _has_reference(case)):
        return targets
    others = sorted((target for target in targets if target not in suspects), key=_speed)
    return [*suspects, *others[:1]]


def _has_reference(case: Case) -> bool:
    """Whether the catalogue says who is wrong, so that nobody has to be outvoted."""
    if case.procedure.goal in (Goal.FORWARD, Goal.CALL):
        return bool(references(case))
    if case.procedure.goal is Goal.REPLAY:
        return bool(case.cotangents) and pulled_back(case) is not None
    return case.procedure.goal in (Goal.GRADIENTS, Goal.UPDATE) and loss_function(case) is not None


def _speed(target: str) -> int:
    base = target.partition("@")[0].partition("{")[0]
    return _QUICKEST.index(base) if base in _QUICKEST else len(_QUICKEST)
