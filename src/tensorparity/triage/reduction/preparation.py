"""From a suspicion to what a user is shown: reduced, examined once more on every target, with a script.

Reduction needs the suspects and one target that is right; the vote needs everybody. Whatever comes out is
examined on all targets again, and a reduction that no longer says the same there is dropped.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from ...core.case import ApiCall, Case, ModelFile
from ...core.closeup import Closeup
from ...core.endings import DEADLY, ENDING_KINDS
from ...core.engine import Ask
from ...core.errors import OutOfTimeError, TensorParityError
from ...core.evidence import Evidence, observed
from ...core.finding import Class, Diagnosis
from ...core.messages import gist
from ...core.oracle import Judged
from ...core.outcome import Outcome
from ...core.procedure import Goal
from ...core.progress import Progress, Watcher, unwatched
from ...core.runner import Runner, asking_all
from ...core.signature import Key
from ...core.suspicion import Suspicion
from ...core.time_limit import TimeLimit
from ...core.traits import Traits
from ...core.verdict import Kind
from ...oracles.failing_alike import FAILURE
from ...oracles.kinds import CaseKind, kind_of, oracle_of, particular_oracle
from ...oracles.measure.backward import loss_function, pulled_back
from ...oracles.measure.features import features
from ...oracles.operator_error import PRECISION
from ...oracles.references import references
from ...targets.runner import LocalRunner
from ..descend import descend
from ..examine import Examined, Examiner
from ..explained_by import explain
from ..explanations import Explanations, first_apart
from ..guilty_parameters import AsFound, like, with_guilty_parameters
from ..known_differences import KnownDifference
from ..reproduce.script import Reproducer
from ..reproduce.scripts import OutOfTime, Reproduced, end_scripts, reproduce
from ..witnesses import with_testimonies
from .exporter_findings import exporter_of, reduce_exporter, reproduce_exporter
from .order import elements, node_count
from .passes import PASSES
from .reducer import Reduction, ReductionBudget, reduce_case

#: Reductions under way: enough that workers have something to do while others wait for their scripts.
_AT_ONCE = 4

#: Checks of what ends a process: each costs the start of a worker.
_DEADLY_CHECKS = 30

#: What was seen to hang with much patience needs less of it when it is reduced.
_HASTE = 0.25

#: What is quick to judge.
_ALONE = (CaseKind.LAYER, CaseKind.TRAINED_LAYER, CaseKind.REPLAYED)

#: Evidence about how and where a defect was met; all other is about numbers, and those of the smallest case count.
_OF_THE_RUN = frozenset(
    ["affected", "descended", "exported-layer", "exporter-doubt", "fused", "layers-unknown", "no-layer-differs"]
    + ["not-again", "original-doubt"]
    + ["passed-on"]
    + ["paper-parts", "paper-vote", "right-before-saving", "rounding-carried", "sometimes", "stretch", "two-answers"]
)

_Alike = tuple[str, ...]
_Item = TypeVar("_Item")
#: What is done with one of several: with when all of it began, and what tells it to stop.
_Work = Callable[[_Item, float, threading.Event], "Prepared"]


@dataclass(frozen=True)
class ReducingSettings:
    """How much work goes into one defect, and into all of a run.

    Args:
        budget: per defect, as if it were reduced alone.
        seconds: for all defects together; those beyond are filed as they are.
        scripts: also render and execute a reproducer.
        script_seconds: for all scripts together, each of which is executed in a process that imports its library.
        settings_seconds: after which no other settings are tried for what was filed; 0 tries none.
        accepted: differences that the user accepts, which explain nothing but themselves.
        descending: the share of ``seconds`` that goes into functions below layers at most; 0 looks below none.
    """

    budget: ReductionBudget = field(default_factory=ReductionBudget)
    seconds: float = 300.0
    scripts: bool = True
    script_seconds: float = math.inf
    settings_seconds: float = 0.0
    accepted: tuple[KnownDifference, ...] = ()
    descending: float = 0.5


@dataclass(frozen=True)
class Prepared:
    """A suspicion as it will be filed.

    Args:
        original: as it was found; its signature is the finding's identity.
        repeated: it is like an earlier one, which was reduced to what it is signed by.
        explained_by: the defect that it is another sighting of, by the signature of that.
        reduction: None where it was not tried, as ``reproducer`` and ``draft`` (of an upstream report).
        above: the reduced defect of the layer, where what is filed is that of a function below it.
        open: it was reduced, and neither its guilty parameters nor its script were looked for.
        outcomes: of the reduced case, for its script; None where nobody asked for them.
    """

    suspicion: Suspicion
    original: Suspicion
    reduction: Reduction | None = None
    reproducer: Reproducer | None = None
    draft: str | None = None
    repeated: bool = False
    script_seconds: float = 0.0
    explained_by: str = ""
    above: Suspicion | None = None
    open: bool = False
    outcomes: Mapping[str, Outcome] | None = None

    @property
    def is_reduced(self) -> bool:
        """As far as it goes, so that its signature says which defect it is."""
        done = self.reduction is not None and self.reduction.suspicion is not None and not self.reduction.stopped
        return done or self.repeated


class Preparation:
    """Prepares the suspicions of one run, within its budget; one reduction per distinct defect.

    Several are reduced at a time: a reduction waits for workers, and then for its script, most of the time.

    Args:
        time_limit: of the whole run; what is not reduced by then is prepared as it is.
    """

    def __init__(
        self,
        local: LocalRunner,
        examiner: Examiner,
        settings: ReducingSettings | None,
        listener: Watcher = unwatched,
        time_limit: TimeLimit | None = None,
    ) -> None:
        self._local = local
        self._time_limit = time_limit or TimeLimit()
        self._examiner = examiner
        self._settings = settings
        self._tell = listener
        self._spent = 0.0
        self._script_seconds = 0.0
        self._seen: dict[_Alike, Prepared] = {}
        self._known: set[_Alike] = set()
        self._met: dict[_Alike, Suspicion] = {}
        self._descent = _Descent(_descending_seconds(settings))
        self._as_found = AsFound(examiner.on(asking_all(examiner.runner)))
        #: By signature, the defects that have their script.
        self._finished: set[str] = set()
        self.explanations = Explanations(examiner, settings.accepted if settings else ())

    def prepare(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        """Every suspicion, reduced where it is a new defect; then what was met on the way, in the same manner."""
        return [*self.reduce(suspicions), *self.met()]

    def reduce(self, suspicions: Sequence[Suspicion], *, finish: bool = True) -> list[Prepared]:
        """Every suspicion, reduced where it is a new defect; what is met on the way waits for ``met``.

        Args:
            finish: False leaves what comes after reducing to ``finished``: it takes as long, and says what nobody
                could say of a defect that there was no time to reduce.
        """
        prepared = self._all(suspicions)
        self._note(prepared)
        for item in prepared:
            # of an operator a search has seen more than a reduction meets, and says itself what is filed
            met = item.reduction.also if item.reduction and item.original.oracle != PRECISION else ()
            for other in met:
                self._met.setdefault(_alike(other), other)
        return self.finished(prepared) if finish else prepared

    def finished(self, prepared: Sequence[Prepared]) -> list[Prepared]:
        """With guilty parameters and scripts, once for all that turned out to be one defect."""
        due = {place: item for place, item in enumerate(prepared) if self._is_due(item)}
        done = dict(zip(due, self._at_once(self._finish, list(due.values())), strict=True))
        return [done.get(place, item) for place, item in enumerate(prepared)]

    def _is_due(self, item: Prepared) -> bool:
        if item.explained_by or not (item.open or item.above):
            return False
        name = item.suspicion.signature
        is_known = name in self._finished
        if item.is_reduced and item.suspicion.diagnosis.api is not None:
            self._finished.add(name)
        return not is_known

    def _finish(self, item: Prepared, began: float, stop: threading.Event) -> Prepared:
        settings = self._settings
        late = settings is not None and self._left(settings, began) <= 0
        if settings is None or (late and item.outcomes is None):
            why = "the time was used up" if settings else "it was interrupted"
            return replace(item, suspicion=_without_script(item.suspicion, why)) if item.open else item
        examiner = self._stoppable(item.original, stop)
        try:
            if late:
                return write_one(self._local, examiner, item)
            ready = finish_one(self._local, examiner, item, self._has_scripts(settings), self._tell)
        except Exception as error:  # what was reduced is worth more than its script
            return replace(item, suspicion=_without_script(item.suspicion, _in_words(error))) if item.open else item
        self._script_seconds += ready.script_seconds if item.open else 0.0
        return ready

    def _stoppable(self, suspicion: Suspicion, stop: threading.Event) -> Examiner:
        """An examiner that ends when it is told to; what hangs is waited for with less patience.

        What hangs with other arguments is no reason not to ask about this defect.
        """
        haste = _HASTE if suspicion.kind is Kind.HANG else 1.0
        return self._examiner.on(_Stoppable(asking_all(self._examiner.runner), stop, haste))

    def _has_scripts(self, settings: ReducingSettings) -> bool:
        return settings.scripts and self._script_seconds < settings.script_seconds

    def _left(self, settings: ReducingSettings, began: float) -> float:
        """Seconds for reducing, of this run and of its whole time."""
        left = settings.seconds - self._spent - (time.monotonic() - began)
        whole = self._time_limit.left
        return left if whole is None else min(left, whole)

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
        found = confirm_suspicions(self._examiner, list(first.values()))
        self._spent += time.monotonic() - began
        prepared = self._all(found)  # what these meet in turn is left to another run
        self._known |= set(self._met)
        self._met.clear()
        self._note(prepared)
        return self.finished(prepared)

    def stop_reducing(self) -> None:
        """What comes from now on is prepared as it is; what was met is not forgotten."""
        self._settings = None

    def _all(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        """Of those that are alike the first is reduced, and the next one where that could not be done."""
        reducible = [s for s in suspicions if self._settings and _is_reducible(s)]
        done: dict[int, Prepared] = {}
        while waiting := [s for s in reducible if id(s) not in done and not self._is_reduced(s)]:
            heads = list({_alike(suspicion): suspicion for suspicion in reversed(waiting)}.values())[::-1]
            for suspicion, prepared in self._explained_or_reduced(heads):
                done[id(suspicion)] = self._seen[_alike(suspicion)] = prepared
        repeated = {id(s) for s in reducible} - set(done)
        every = [done.get(id(s)) or (self._again(s) if id(s) in repeated else Prepared(s, s)) for s in suspicions]
        return [self._with_parameters(item) for item in every]

    def _with_parameters(self, item: Prepared) -> Prepared:
        """What was not reduced still names the guilty parameters of its layer, while there is time for that."""
        asked = not item.is_reduced and not item.explained_by
        return replace(item, suspicion=self._as_found.of(item.suspicion)) if asked else item

    def _explained_or_reduced(self, heads: Sequence[Suspicion]) -> list[tuple[Suspicion, Prepared]]:
        """What known defects explain is done; of the others, those are reduced of which none may explain another."""
        began = time.monotonic()
        explained: list[tuple[Suspicion, str]] = []
        with contextlib.suppress(OutOfTimeError):  # what was confirmed is filed, whatever explains it
            explained = self.explanations.of(heads)
        self._spent += time.monotonic() - began
        if explained:
            return [(s, Prepared(s, s, explained_by=signature)) for s, signature in explained]
        wave = first_apart(heads, {alike[:-1] for alike in self._seen})
        prepared = [self._audited(item) for item in self._together(wave)]
        for item in prepared:
            if item.is_reduced:
                self.explanations.learn([item.above or item.suspicion], item.suspicion.signature)
                self.explanations.learn([item.suspicion])
        return list(zip(wave, prepared, strict=True))

    def _audited(self, item: Prepared) -> Prepared:
        """What was explained and reduced all the same is still another sighting, if the explanation holds."""
        if not item.is_reduced:
            return item
        signature = self.explanations.audit(item.original, item.above or item.suspicion, item.suspicion.signature)
        return replace(item, explained_by=signature) if signature else item

    def _is_reduced(self, suspicion: Suspicion) -> bool:
        earlier = self._seen.get(_alike(suspicion))
        return earlier is not None and (earlier.reduction is not None or bool(earlier.explained_by))

    def _again(self, suspicion: Suspicion) -> Prepared:
        earlier = self._seen[_alike(suspicion)]
        if earlier.explained_by:
            return Prepared(suspicion, suspicion, explained_by=earlier.explained_by)
        if earlier.above is not None:
            return Prepared(suspicion, suspicion, explained_by=earlier.suspicion.signature)
        signed = like(_signed_like(suspicion, earlier.suspicion), earlier.suspicion)
        return Prepared(signed, suspicion, repeated=earlier.is_reduced)

    def _together(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        most = min(_AT_ONCE, len(suspicions))
        return self._at_once(lambda suspicion, began, stop: self._one(suspicion, began, most, stop), suspicions)

    def _at_once(
        self, work: Callable[[_Item, float, threading.Event], Prepared], items: Sequence[_Item]
    ) -> list[Prepared]:
        """Several at a time, in their order."""
        began = time.monotonic()
        stop = threading.Event()
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            return list(pool.map(lambda item: work(item, began, stop), items))
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
        left = self._left(settings, began)
        if left <= 0:
            return Prepared(_not_reduced(suspicion, "the time for reducing was used up"), suspicion)
        # the others have the workers for most of the time
        budget = replace(settings.budget, seconds=min(at_once * settings.budget.seconds, left))
        examiner = self._stoppable(suspicion, stop)
        try:
            scripts = self._has_scripts(settings)
            ready = reduce_one(self._local, examiner, suspicion, budget, scripts, self._tell, self._descent)
            self._script_seconds += ready.script_seconds
            return ready
        except Exception as error:  # what was confirmed is worth more than its reduction, and so are all the others
            return Prepared(_not_reduced(suspicion, _in_words(error)), suspicion)


@dataclass(frozen=True)
class _Stoppable:
    """A runner for work in another thread, which ends with the next case once it is told to stop.

    Args:
        haste: multiplies deadlines.
    """

    runner: Runner
    stop: threading.Event
    haste: float = 1.0

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
        factor = deadline_factor * self.haste
        return self.runner.run_pairs(pairs, fresh=fresh, deadline_factor=factor, on_outcome=on_outcome)


def _in_words(error: Exception) -> str:
    """What stopped us; of a bug of ours also where."""
    if isinstance(error, TensorParityError):
        return gist(str(error))
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return f"a bug in tensorparity ({where}): {type(error).__name__}: {gist(str(error))}"


def confirm_suspicions(examiner: Examiner, doubted: Sequence[Suspicion]) -> list[Suspicion]:
    """Suspicions met on the way, seen again in fresh workers, in their order; what does not show again is ``flaky``.

    A hang is left out: a candidate that is slow on a loaded machine is no finding.
    """
    return examiner.confirm_all([suspicion for suspicion in doubted if suspicion.kind is not Kind.HANG])


def _is_reducible(suspicion: Suspicion) -> bool:
    """Defects; of an operator also remarks and documented freedoms, which say most on the smallest input."""
    klass = suspicion.diagnosis.klass
    return klass is Class.DEFECT or (suspicion.oracle == PRECISION and klass in (Class.PRECISION, Class.SPECIFICATION))


def _alike(suspicion: Suspicion) -> _Alike:
    """Suspicions that are reduced once: they would be one finding, whatever the figures of their parameters are."""
    return (*suspicion.key, suspicion.signature)


def _signed_like(suspicion: Suspicion, reduced: Suspicion) -> Suspicion:
    """Another sighting of a defect that has been reduced already: it gets that one's parameters, so its signature."""
    diagnosis = replace(suspicion.diagnosis, parameters=reduced.diagnosis.parameters)
    return replace(suspicion, diagnosis=diagnosis, features=reduced.features)


def _with_remark(suspicion: Suspicion, remark: Evidence) -> Suspicion:
    diagnosis = suspicion.diagnosis
    return replace(suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, remark)))


def _without_script(suspicion: Suspicion, why: str) -> Suspicion:
    return _with_remark(suspicion, observed("script-doubt", written=False, why=why))


def _not_reduced(suspicion: Suspicion, why: str, *, by_file: bool = False) -> Suspicion:
    """As it was found.

    Args:
        by_file: the model file itself shows it.
    """
    remarked = _with_remark(suspicion, observed("not-reduced", why=why, by_file=by_file))
    return replace(remarked, reduced=False, not_reduced=why)


def _descending_seconds(settings: ReducingSettings | None) -> float:
    return settings.seconds * settings.descending if settings and settings.descending else 0.0


class _Descent:
    """What a run knows of functions below layers, and how long it still looks for more.

    Args:
        seconds: for all of the run.
    """

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        #: By what they are before they are reduced, the functions' defects that were prepared.
        self.known: dict[_Alike, Prepared] = {}

    def knows(self, examiner: Examiner, lower: Suspicion) -> Prepared | None:
        """The function's defect that this is another sighting of: the very same, or one that explains it."""
        same = self.known.get(_alike(lower))
        others = {item.suspicion.signature: item for item in list(self.known.values())}
        if same is not None or not others:
            return same
        found = explain(examiner, [lower], [[item.suspicion for item in others.values()]]).get(0)
        return others[found.signature] if found is not None else None


def _of_function(
    local: LocalRunner,
    examiner: Examiner,
    layer: Suspicion,
    budget: ReductionBudget,
    scripts: bool,
    descent: _Descent,
) -> Prepared | None:
    """What is filed instead of a reduced layer: the defect of the lowest function that is wrong, reduced anew.

    None where there is none, or where it cannot be seen again in a fresh process.
    """
    began = time.monotonic()
    try:
        lower = descend(examiner, layer) if descent.left > 0 and layer.reduced else None
        return _prepared_lower(local, examiner, layer, lower, budget, scripts, descent) if lower else None
    except Exception:  # the layer was reduced, and is filed as that: no look below it is worth its loss
        return None
    finally:
        descent.left -= time.monotonic() - began


def _prepared_lower(
    local: LocalRunner,
    examiner: Examiner,
    layer: Suspicion,
    lower: Suspicion,
    budget: ReductionBudget,
    scripts: bool,
    descent: _Descent,
) -> Prepared | None:
    known = descent.knows(examiner, lower)
    found = known or prepare_one(local, examiner, lower, budget, scripts)
    if not found.is_reduced:
        return None  # the layer is reduced to its end, and its signature says which defect it is
    shown = known is not None or (found.reproducer is not None and found.reproducer.verified)
    if not shown and examiner.confirm_all([found.suspicion])[0].diagnosis.klass is not Class.DEFECT:
        return None
    descent.known.setdefault(_alike(lower), found)
    return replace(found, above=layer)


def prepare_one(
    local: LocalRunner,
    examiner: Examiner,
    suspicion: Suspicion,
    budget: ReductionBudget,
    scripts: bool = True,
    listener: Watcher = unwatched,
    descent: _Descent | None = None,
) -> Prepared:
    """Reduce one suspicion, and render and execute its script.

    Args:
        descent: look below a layer for the function that is wrong; None files the layer.
    """
    reduced = reduce_one(local, examiner, suspicion, budget, scripts, listener, descent)
    return finish_one(local, examiner, reduced, scripts, listener)


def reduce_one(
    local: LocalRunner,
    examiner: Examiner,
    suspicion: Suspicion,
    budget: ReductionBudget,
    scripts: bool = True,
    listener: Watcher = unwatched,
    descent: _Descent | None = None,
) -> Prepared:
    """Reduce one suspicion, as far down as a function is wrong; ``finish_one`` says the rest of it."""
    listener(Progress("reducing", 0, None, suspicion.diagnosis.api or ""))
    exporter = exporter_of(suspicion)
    if exporter is not None:
        return _prepare_exporter(local, examiner, suspicion, exporter, budget, scripts, listener)
    reduction = reduce_suspicion(examiner, suspicion, budget)
    if reduction.suspicion is None:
        return Prepared(_not_reduced(suspicion, reduction.stopped), suspicion, reduction)
    final = _as_filed(suspicion, reduction)
    if descent is not None:
        rest = replace(budget, seconds=max(1.0, budget.seconds - reduction.seconds))
        lower = _of_function(local, examiner, final, rest, scripts, descent)
        if lower is not None:
            return replace(lower, original=suspicion)
    outcomes = None
    with contextlib.suppress(OutOfTimeError):  # what was reduced is worth more than its script
        outcomes = _outcomes_of(examiner, suspicion, final) if scripts and _is_soon_run(final) else None
    return Prepared(final, suspicion, reduction, open=True, outcomes=outcomes)


def finish_one(
    local: LocalRunner, examiner: Examiner, item: Prepared, scripts: bool = True, listener: Watcher = unwatched
) -> Prepared:
    """What was reduced with its layer's guilty parameters, and with a script; of a function below a layer that was
    written and executed to see whether it is wrong.
    """
    if item.above is not None:
        layer = with_guilty_parameters(examiner, item.above, item.original)
        return replace(item, suspicion=like(item.suspicion, layer))
    if not item.open:
        return item
    final = with_guilty_parameters(examiner, item.suspicion, item.original)
    if not scripts or final.diagnosis.klass is not Class.DEFECT:
        return replace(item, suspicion=final, open=False)
    listener(Progress("running the reproducer", 0, None, item.original.diagnosis.api or ""))
    began = time.monotonic()
    ready = _scripted(local, examiner, item, final)
    return replace(ready, script_seconds=time.monotonic() - began)


def write_one(local: LocalRunner, examiner: Examiner, item: Prepared) -> Prepared:
    """What was reduced, with a script that nobody has run: there is no more time for that."""
    assert item.outcomes is not None
    written = reproduce(OutOfTime(local), item.suspicion, item.outcomes, examiner.setup.traits)
    return _with_script(item.suspicion, item.original, item.reduction, written)


def _is_soon_run(final: Suspicion) -> bool:
    """A defect whose case takes no time to be run once more."""
    return final.kind not in DEADLY and final.diagnosis.klass is Class.DEFECT


def _outcomes_of(examiner: Examiner, suspicion: Suspicion, final: Suspicion) -> dict[str, Outcome]:
    """What everybody answers to the reduced case."""
    (shown,) = examiner.examine([_ask_for(suspicion, final.case, suspicion.targets)])
    return dict(shown.own)


def _scripted(local: LocalRunner, examiner: Examiner, item: Prepared, final: Suspicion) -> Prepared:
    suspicion = item.original
    outcomes = item.outcomes
    if outcomes is None:
        outcomes = _outcomes_of(examiner, suspicion, final)
    (final,) = with_testimonies(examiner, [final], [outcomes])
    return _with_script(final, suspicion, item.reduction, reproduce(local, final, outcomes, examiner.setup.traits))


def _with_script(
    final: Suspicion, suspicion: Suspicion, reduction: Reduction | None, reproduced: Reproduced
) -> Prepared:
    script = reproduced.script
    if not script.verified:
        final = _with_remark(final, observed("script-doubt", written=bool(script.text), why=script.remark))
    if reproduced.case is not None:
        final = replace(final, case=reproduced.case)
    return Prepared(final, suspicion, reduction, script if script.text else None, reproduced.draft)


def _prepare_exporter(
    local: LocalRunner,
    examiner: Examiner,
    suspicion: Suspicion,
    exporter: str,
    budget: ReductionBudget,
    scripts: bool,
    listener: Watcher,
) -> Prepared:
    """The smallest layer that it gets wrong, else the file with the smallest batch."""
    reduction = reduce_exporter(local, examiner, suspicion, exporter, budget)
    if reduction.suspicion is None:
        final = _not_reduced(suspicion, reduction.stopped, by_file=True)
    else:
        final = _as_filed(suspicion, reduction)
    if not scripts:
        return Prepared(replace(final, case=suspicion.case), suspicion, reduction)
    listener(Progress("running the reproducer", 0, None, suspicion.diagnosis.api or ""))
    prepared = _with_script(final, suspicion, reduction, reproduce_exporter(local, examiner, final, exporter))
    # a graph would be lowered by ourselves when it is replayed: the file it is, for everybody but the script
    return replace(prepared, suspicion=replace(prepared.suspicion, case=_in_file(prepared.suspicion.case, suspicion)))


def _in_file(case: Case, suspicion: Suspicion) -> Case:
    return case if isinstance(case.subject, ModelFile) else suspicion.case


def _as_filed(suspicion: Suspicion, reduction: Reduction) -> Suspicion:
    """The reduced case with what was seen on it, so that words, numbers and script agree; of the first sighting what is
    true of the run: where it was found, that it wavers, what it shows only as a whole.
    """
    reduced, original = reduction.suspicion, reduction.original
    assert reduced is not None
    diagnosis = suspicion.diagnosis
    if suspicion.oracle == PRECISION:  # its words are about numbers, and those of the smallest input say most
        told = (*reduced.diagnosis.evidence, _ratio(original, reduction))
        closeup = _larger(diagnosis.closeup, reduced.diagnosis.closeup)
        shown = replace(reduced.diagnosis, evidence=told, closeup=closeup)
        signed = reduced.features or suspicion.features
        return replace(
            reduced,
            reduced=not reduction.stopped,
            not_reduced=reduction.stopped,
            targets=suspicion.targets,
            features=signed,
            diagnosis=shown,
        )
    evidence = [*_evidence(diagnosis, reduced.diagnosis), _ratio(original, reduction)]
    if isinstance(reduction.case.subject, ModelFile):
        evidence.append(observed("file-itself"))
    measured = reduced.diagnosis if reduced.diagnosis.measure else diagnosis
    return replace(
        reduced,
        reduced=not reduction.stopped,
        not_reduced=reduction.stopped,
        targets=suspicion.targets,
        features=features(reduction.case, reduced.stage),
        diagnosis=replace(
            reduced.diagnosis,
            node=diagnosis.node or reduced.diagnosis.node,
            api=diagnosis.api or reduced.diagnosis.api,
            # of a case of several layers, who looks at it afresh may not know which one it is
            parameters=reduced.diagnosis.parameters if reduced.diagnosis.api else diagnosis.parameters,
            evidence=tuple(evidence),
            measure=measured.measure,
            threshold=measured.threshold,
            relative=measured.relative,
            wavering=diagnosis.wavering,
            fused=diagnosis.fused,
            closeup=_larger(diagnosis.closeup, reduced.diagnosis.closeup),
        ),
    )


def _larger(first: Closeup | None, reduced: Closeup | None) -> Closeup | None:
    """Most is seen on the layer as it was found: a reduced case often gives a single number."""
    found = [closeup for closeup in (first, reduced) if closeup is not None]
    return max(found, key=lambda closeup: closeup.numbers, default=None)


def _evidence(first: Diagnosis, reduced: Diagnosis) -> list[Evidence]:
    """What was seen on the reduced case, and of the first sighting what no smaller case could show."""
    if not reduced.evidence:
        return list(first.observations)
    said = {(item.code, item.text) for item in reduced.observations}
    kept = [item for item in first.observations if item.code in _OF_THE_RUN and (item.code, item.text) not in said]
    return [*reduced.observations, *kept]


def _ratio(original: Case, reduction: Reduction) -> Evidence:
    return observed(
        "reduced",
        nodes=node_count(original),
        numbers=elements(original),
        nodes_after=node_count(reduction.case),
        numbers_after=elements(reduction.case),
        checks=reduction.checks,
        stopped=reduction.stopped,
    )


def reduce_suspicion(examiner: Examiner, suspicion: Suspicion, budget: ReductionBudget) -> Reduction:
    """The simplest case with the suspicion's key, by all targets' word.

    First with the targets that are needed; if they cannot tell (the one that is right may not run it alone), or the
    others do not say the same of the result, with all of them.
    """
    suspicion = _with_steady_kind(suspicion, suspicion)
    if suspicion.kind in DEADLY:
        budget = replace(budget, checks=min(budget.checks, _DEADLY_CHECKS))
    needed = needed_targets(suspicion, examiner.setup.traits)
    reduction = _reduce(examiner, suspicion, needed, budget)
    everybody = list(suspicion.targets)
    if set(needed) == set(everybody):
        return reduction
    if reduction.suspicion is not None:
        (shown,) = examiner.examine([_ask_for(suspicion, reduction.case, everybody)])
        final = _matching_suspicion(suspicion, _comparable(suspicion, shown.judged))
        if final is not None:
            return replace(reduction, suspicion=final)
    checks = budget.checks - reduction.checks if suspicion.kind in DEADLY else budget.checks
    left = replace(budget, seconds=budget.seconds - reduction.seconds, checks=max(1, checks))
    again = _reduce(examiner, suspicion, everybody, left)
    return replace(again, checks=again.checks + reduction.checks, seconds=again.seconds + reduction.seconds)


def _ask_for(suspicion: Suspicion, case: Case, targets: Sequence[str]) -> Ask:
    """A case put to the oracle that convicted; where that is the one of its kind, to that of this case: a graph of
    several layers becomes one of a single layer.
    """
    oracle = particular_oracle(suspicion)
    return Ask(case, tuple(targets), (oracle,) if oracle else ())


def _asked_widely(suspicion: Suspicion, case: Case, targets: Sequence[str]) -> Ask:
    """Also put to the oracle of what runs alone, where only how it ends was judged: others may answer wrongly."""
    ask = _ask_for(suspicion, case, targets)
    narrow = suspicion.oracle == FAILURE and kind_of(case) in _ALONE
    return replace(ask, oracles=(FAILURE, oracle_of(case))) if narrow else ask


def _with_others(examined: Examined) -> Judged:
    """With what another oracle met: no bad endings, of which the first one has said all."""
    others = (s for judged in examined.measured for s in judged.suspicions if s.kind not in ENDING_KINDS)
    return replace(examined.judged, suspicions=(*examined.judged.suspicions, *others))


def _reduce(examiner: Examiner, suspicion: Suspicion, targets: Sequence[str], budget: ReductionBudget) -> Reduction:
    def check(cases: Sequence[Case]) -> list[Judged]:
        asks = [_asked_widely(suspicion, case, targets) for case in cases if _keeps_needed(suspicion, case)]
        judged = iter([_comparable(suspicion, _with_others(item)) for item in examiner.examine(asks)] if asks else [])
        return [next(judged) if _keeps_needed(suspicion, case) else Judged() for case in cases]

    began = time.monotonic()
    (first,) = check([suspicion.case])
    found = _matching_suspicion(suspicion, first)
    if found is None:
        why = first.undecided or "alone, it does not fail in the same way"
        return Reduction(suspicion.case, suspicion.case, None, 1, time.monotonic() - began, stopped=why)

    def remembering(cases: Sequence[Case]) -> list[Judged]:
        return [first] if [case.digest for case in cases] == [suspicion.case.digest] else check(cases)

    return reduce_case(suspicion.case, found.key, remembering, PASSES, budget, suspicion.diagnosis.klass)


def _keeps_needed(suspicion: Suspicion, case: Case) -> bool:
    """Without an argument that the layer above needs to fail, a function may fail for another reason."""
    given, call = suspicion.case.subject, case.subject
    if not (isinstance(call, ApiCall) and isinstance(given, ApiCall)):
        return True
    return all(name in call.kwargs and call.kwargs[name] == given.kwargs.get(name) for name in suspicion.needs)


def _comparable(suspicion: Suspicion, judged: Judged) -> Judged:
    """Without what has the same key and is another defect.

    An exception that says something else; and of an operator, NaN and infinities that it makes of numbers where it
    was given some, or the other way round.
    """
    numbers = suspicion.oracle == PRECISION and suspicion.diagnosis.measure is not None
    same = [
        other
        for other in _all_steadied(suspicion, judged).suspicions
        if other.key != suspicion.key
        or (other.message == suspicion.message and (not numbers or bool(other.features) is bool(suspicion.features)))
    ]
    return replace(judged, suspicions=tuple(same))


def _with_steady_kind(found: Suspicion, original: Suspicion) -> Suspicion:
    """Where a suspect answers differently from run to run, a NaN is one more of its wrong numbers."""
    if found.kind is Kind.NAN and original.diagnosis.wavering:
        return replace(found, kind=Kind.INCONSISTENCY)
    return found


def _all_steadied(original: Suspicion, checked: Judged) -> Judged:
    return replace(checked, suspicions=tuple(_with_steady_kind(found, original) for found in checked.suspicions))


def _matching_suspicion(suspicion: Suspicion, checked: Judged) -> Suspicion | None:
    """What a fresh look at the case says of the same defect."""
    wanted = suspicion.diagnosis
    exact = checked.of_key(suspicion.key, wanted.klass)
    if exact is not None:
        return exact
    for other in checked.suspicions:
        found, accused = set(other.diagnosis.suspects), set(wanted.suspects)
        # alone, whoever raises in other words is told apart; and who answers by chance may happen to be right
        parted = other.kind is Kind.ERROR or bool(wanted.wavering)
        alike = other.kind is suspicion.kind and (found == accused or (parted and found < accused))
        known = wanted.api is None or other.diagnosis.api is None or wanted.api == other.diagnosis.api
        if alike and known and other.diagnosis.klass is wanted.klass:
            return other
    return None


def needed_targets(suspicion: Suspicion, traits: Traits) -> list[str]:
    """The suspects and one that is right; everybody, where the vote decides or code is shared."""
    case, targets = suspicion.case, list(suspicion.targets)
    suspects = [target for target in targets if target in suspicion.diagnosis.suspects]
    if not suspects:
        shared = [t for t, family in traits.families(targets).items() if family in suspicion.diagnosis.suspects]
        return sorted(shared, key=lambda t: traits[t].start_rank)[:2] if len(shared) > 2 else targets
    if not (suspicion.exception or _has_reference(case)):
        return targets
    others = sorted((t for t in targets if t not in suspects), key=lambda t: traits[t].start_rank)
    return [*suspects, *others[:1]]


def _has_reference(case: Case) -> bool:
    """Whether the catalogue says who is wrong, so that nobody has to be outvoted."""
    if case.procedure.goal in (Goal.FORWARD, Goal.CALL):
        return bool(references(case))
    if case.procedure.goal is Goal.REPLAY:
        return bool(case.cotangents) and pulled_back(case) is not None
    return case.procedure.goal in (Goal.GRADIENTS, Goal.UPDATE) and loss_function(case) is not None
