"""Descend: from a defect of a layer to the lowest public function that is wrong.

A layer that was reduced calls functions of its front end (``keras.ops``), and those call functions of a library. A
worker records these calls with their arguments. A step down counts only if

* the function fails alone on these arguments, by its own documentation (``oracles/function_alone``), and
* the layer is right once the function's right answer is put in its place.

The lowest function of which both hold is where the defect is filed. An activation that is called by itself only passes
its arguments on: its defect is that of the function of ``keras.ops`` which gives the same wrong answer. Forward only:
of gradients, of what ends a process and of what answers by chance no recording tells enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, Case
from ..core.endings import DEADLY
from ..core.engine import Ask
from ..core.evidence import observed
from ..core.finding import Class
from ..core.graph import LayerGraph
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Judgement, Kind, Stage
from ..operators.functions.api import api_known
from ..oracles.function_alone import FUNCTION, truth_of
from ..oracles.kinds import particular_oracle
from ..oracles.subjects import only_layer
from .examine import Examined, Examiner
from .recorded_calls import RecordedCall, Recording, record, run_with_answers

#: So many different calls of one layer are judged, and so many functions tried in their places.
_MOST_JUDGED, _MOST_TRIED = 48, 3

#: Activations are functions of ``keras.ops`` by the same names.
_ACTIVATIONS, _OPS = "keras.activations.", "keras.ops."

Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class _Failing:
    """A function that fails alone.

    Args:
        calls: all recorded calls of it that fail.
        answers: by number, what these should give.
    """

    call: RecordedCall
    suspicion: Suspicion
    calls: tuple[RecordedCall, ...]
    answers: Mapping[int, tuple[Array, ...]]


def descend(examiner: Examiner, suspicion: Suspicion) -> Suspicion | None:
    """The defect of the lowest function that is wrong below a reduced layer, as it fails alone; None where none is."""
    if isinstance(suspicion.case.subject, ApiCall):
        return _passed_on(examiner, suspicion)
    target = _recording_target(examiner, suspicion)
    if target is None:
        return None
    recording = record(examiner.runner, suspicion.case, target)
    if recording is None:
        return None
    (shown,) = examiner.examine([_ask(suspicion)])
    layer = _Layer(examiner, suspicion, recording, shown.own)
    if not layer.is_shown:
        return None
    front = examiner.setup.traits[target].calls
    own = [call for call in recording.calls if call.root == front]
    first = layer.lowest(own, _front_end(examiner, suspicion, front))
    below = [call for call in recording.calls if call.root != front and (not first or _is_within(call, first))]
    second = layer.lowest(below, _native(examiner, target)) if below else None
    lowest = second or first
    return _filed_lower(suspicion, lowest, target, layer.right_below(lowest)) if lowest else None


def _passed_on(examiner: Examiner, suspicion: Suspicion) -> Suspicion | None:
    """Of an activation, the defect of the function by the same name, where the accused give the very same there."""
    below = _under_the_same_name(suspicion.case)
    if below is None or not _is_steady(suspicion):
        return None
    above, shown = examiner.examine([_ask(suspicion), Ask(below, suspicion.targets, (FUNCTION,))])
    accused = _accused_targets(examiner, suspicion)
    if not all(_gives_the_same(above.own[target], shown.own[target]) for target in accused):
        return None
    for found in shown.judged.suspicions:
        diagnosis = found.diagnosis
        if diagnosis.klass is Class.DEFECT and set(diagnosis.suspects) == set(suspicion.diagnosis.suspects):
            said = observed("passed-on", layer=suspicion.diagnosis.api, api=diagnosis.api)
            return replace(found, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, said)))
    return None


def _under_the_same_name(case: Case) -> Case | None:
    """The call of an activation as one of the function that it hands its arguments to."""
    call = case.subject
    assert isinstance(call, ApiCall)
    api = _OPS + call.api.removeprefix(_ACTIVATIONS)
    plain = case.counterpart is None and not case.procedure.derivative and not case.procedure.variant
    if not plain or not call.api.startswith(_ACTIVATIONS) or not api_known(api):
        return None
    return replace(case, subject=replace(call, api=api))


def _gives_the_same(one: Outcome, other: Outcome) -> bool:
    """To the last bit; or the same exception."""
    if one.failure is not None and other.failure is not None:
        return one.failure.type == other.failure.type
    pairs = zip(one.outputs.values(), other.outputs.values(), strict=False)
    alike = len(one.outputs) == len(other.outputs) and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    return one.completed and other.completed and alike


def _is_steady(suspicion: Suspicion) -> bool:
    diagnosis = suspicion.diagnosis
    return diagnosis.klass is Class.DEFECT and suspicion.kind not in DEADLY and not diagnosis.wavering


def _accused_targets(examiner: Examiner, suspicion: Suspicion) -> list[str]:
    """Suspects, and those that run the code that is."""
    families, suspects = examiner.setup.traits.families(suspicion.targets), set(suspicion.diagnosis.suspects)
    return [target for target in suspicion.targets if {target, families[target]} & suspects]


def _recording_target(examiner: Examiner, suspicion: Suspicion) -> str | None:
    """A suspect that can record what a layer calls; None where nothing can be told by that."""
    case = suspicion.case
    if not _is_steady(suspicion) or suspicion.stage is not Stage.FORWARD or suspicion.kind is Kind.ACCEPTS_INVALID:
        return None
    if not isinstance(case.subject, LayerGraph) or only_layer(case) is None or not _is_forward(case):
        return None
    traits = examiner.setup.traits
    families = traits.families(suspicion.targets)
    return next((t for t in _accused_targets(examiner, suspicion) if traits[t].calls == families[t]), None)


def _is_forward(case: Case) -> bool:
    procedure = case.procedure
    alone = procedure.goal is Goal.FORWARD or (procedure.goal is Goal.REPLAY and not case.cotangents)
    return alone and case.counterpart is None and not procedure.reload and procedure.population is None


def _front_end(examiner: Examiner, suspicion: Suspicion, front: str) -> tuple[str, ...]:
    """Who runs functions of the front end: the targets of the layer, and arbiters that are there."""
    traits = examiner.setup.traits
    others = [t for t in examiner.runner.targets if traits[t].arbiter and t not in suspicion.targets]
    return tuple(t for t in (*suspicion.targets, *others) if traits[t].calls == front)


def _native(examiner: Examiner, target: str) -> tuple[str, ...]:
    """Who runs functions of the library that computes this target's answers, as they are."""
    traits: Traits = examiner.setup.traits
    library = traits[target].library
    able = [t for t in examiner.runner.targets if traits[t].calls == traits[t].library == library]
    return tuple(t for t in able if not traits[t].compiled)[:1]


def _is_within(call: RecordedCall, failing: _Failing) -> bool:
    return bool({known.number for known in failing.calls} & set(call.parents))


def _ask(suspicion: Suspicion) -> Ask:
    oracle = particular_oracle(suspicion)
    return Ask(suspicion.case, suspicion.targets, (oracle,) if oracle else ())


class _Layer:
    """One reduced layer, what it calls, and what the targets did with it."""

    def __init__(self, examiner: Examiner, suspicion: Suspicion, recording: Recording, shown: Outcomes) -> None:
        self._examiner = examiner
        self._suspicion = suspicion
        self._recording = recording
        self._shown = dict(shown)
        self._right: list[RecordedCall] = []

    @property
    def is_shown(self) -> bool:
        """Whether the layer fails in the recorded run as well: what shows only as a whole is no function's."""
        if self._suspicion.kind is Kind.ERROR:
            return any(call.raised for call in self._recording.calls)
        return not self._is_right(self._recording.outcome)

    def _is_right(self, outcome: Outcome) -> bool:
        """Whether the layer's own oracle accuses the target no more, where this is its answer."""
        target = self._recording.target
        if not outcome.completed:
            return False
        outcomes = {**self._shown, target: outcome}
        judged = self._examiner.judge_known(_ask(self._suspicion), outcomes).judged
        accused = {target, *self._suspicion.diagnosis.suspects} & {target, self._family}
        still = [s for s in judged.suspicions if s.diagnosis.klass is Class.DEFECT]
        if any(accused & set(s.diagnosis.suspects) for s in still):
            return False
        return bool(still) or any(verdict.judgement is not Judgement.UNDECIDED for verdict in judged.verdicts)

    @property
    def _family(self) -> str:
        return self._examiner.setup.traits[self._recording.target].family

    def lowest(self, calls: Sequence[RecordedCall], targets: Sequence[str]) -> _Failing | None:
        """Of the functions that fail alone, the lowest whose right answer repairs the layer."""
        if not targets:
            return None
        failing = self._failing(calls, targets)
        for one in sorted(failing, key=lambda item: (-len(item.call.parents), item.call.number))[:_MOST_TRIED]:
            repaired = run_with_answers(
                self._examiner.runner, self._suspicion.case, self._recording.target, one.answers
            )
            if self._is_right(repaired):
                return one
        return None

    def _failing(self, calls: Sequence[RecordedCall], targets: Sequence[str]) -> list[_Failing]:
        cases = {call.case.digest: call.case for call in calls if call.case is not None}
        asks = [Ask(case, tuple(targets), (FUNCTION,)) for case in list(cases.values())[:_MOST_JUDGED]]
        judged = {examined.case.digest: examined for examined in self._examiner.examine(asks)} if asks else {}
        found: dict[str, list[tuple[RecordedCall, Suspicion, tuple[Array, ...]]]] = {}
        for call in calls:
            examined = judged.get(call.case.digest) if call.case else None
            if examined is None:
                continue
            suspicion = self._accusing(examined, targets)
            answer = _right_answer(call, examined, suspicion) if suspicion else None
            if suspicion is not None and answer is not None:
                found.setdefault(call.api, []).append((call, suspicion, answer))
            elif not examined.judged.suspicions and not examined.judged.undecided:
                self._right.append(call)
        return [
            _Failing(own[0][0], own[0][1], tuple(c for c, _, _ in own), {c.number: answer for c, _, answer in own})
            for own in found.values()
        ]

    def _accusing(self, examined: Examined, targets: Sequence[str]) -> Suspicion | None:
        """What accuses the layer's suspect; of a library's own function, whoever runs it."""
        target = self._recording.target
        accused = {target, self._family} if target in targets else set(targets)
        return next(
            (
                s
                for s in examined.judged.suspicions
                if s.diagnosis.klass is Class.DEFECT and s.kind not in DEADLY and accused & set(s.diagnosis.suspects)
            ),
            None,
        )

    def right_below(self, lowest: _Failing | None) -> list[str]:
        """The functions below the one that is wrong which were seen to be right."""
        below = [call for call in self._right if lowest is not None and _is_within(call, lowest)]
        return sorted({call.api for call in below if call.root != (lowest.call.root if lowest else "")})


def _right_answer(call: RecordedCall, examined: Examined, suspicion: Suspicion) -> tuple[Array, ...] | None:
    """What somebody gave who is not accused; else the true value, where a call gives one array."""
    for target, outcome in examined.own.items():
        if outcome.completed and target not in suspicion.diagnosis.suspects and not _is_shared(suspicion, examined):
            return tuple(outcome.outputs[name] for name in sorted(outcome.outputs, key=int))
    truth = truth_of(examined.case)
    if list(truth) != ["0"] or len(call.outputs) > 1:
        return None
    like = call.outputs[0].dtype if call.outputs else next(iter(examined.case.inputs.values())).dtype
    with np.errstate(all="ignore"):
        return (np.asarray(truth["0"].value).astype(like),)


def _is_shared(suspicion: Suspicion, examined: Examined) -> bool:
    """Whether what several targets share is accused: none of their answers is right."""
    return not set(suspicion.diagnosis.suspects) & set(examined.own)


def _filed_lower(suspicion: Suspicion, lowest: _Failing, target: str, right: Sequence[str]) -> Suspicion:
    """The function's defect, with how users meet it and whose code is wrong."""
    said = observed(
        "descended",
        layer=suspicion.diagnosis.api or "the layer",
        api=lowest.call.api,
        target=target,
        package=lowest.call.root,
        right=list(right),
    )
    diagnosis = lowest.suspicion.diagnosis
    found = replace(lowest.suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, said)))
    call = found.case.subject
    given = call.kwargs if isinstance(call, ApiCall) else {}
    return replace(found, needs=tuple(name for name in given if name in suspicion.diagnosis.parameters))
