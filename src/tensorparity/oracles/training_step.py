"""The oracle of training steps of whole networks.

All traces of a step are screened first, which runs nothing. Whatever is doubted is then checked in isolation, on
identical numbers everywhere, by the oracle of that kind of case; who ended badly is searched for the layer that it ends
so on alone. Nobody is convicted by the network itself.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..core.case import Case
from ..core.endings import ENDING_KINDS
from ..core.finding import Class
from ..core.graph import LayerGraph
from ..core.oracle import OUTCOMES, Answer, Check, Judged, Seen, Setup
from ..core.procedure import Goal, Mode
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Stage
from .base import Steps, Stepwise
from .isolated_checks import IsolatedCheck, step_alone
from .kinds import ORACLE_OF_KIND, TRAINING_STEPS, CaseKind, oracle_of
from .screening import Screening
from .step_facts import Known
from .step_failures import convict_failures
from .stepped import STAGES, Stepped, pair_verdict, screen_step

_STEPS = (Goal.GRADIENTS, Goal.UPDATE)
#: What a verdict is judged by where every gradient between two is as good as another.
SUBGRADIENT = "subgradient"


@dataclass(frozen=True)
class _Attempt:
    """An isolated check that was run, and what is to be thought of it.

    Args:
        suspicion: who is wrong in what was doubted.
        at_subgradient: the targets differ where several gradients are right.
        by_reference: it was held against a reference.
    """

    trial: IsolatedCheck
    answer: Answer
    suspicion: Suspicion | None = None
    at_subgradient: bool = False
    by_reference: bool = False

    @property
    def is_known(self) -> bool:
        return self.answer.judged is None


Attempts = Mapping[int, _Attempt]
Trying = Generator[Sequence[Check], Sequence[Answer], dict[int, _Attempt]]


class TrainingStep(Stepwise):
    """Judges every stage of a training step of a network.

    Settings:
        stages: those that are judged, by name; the earlier ones are always run.
    """

    settings: ClassVar[tuple[str, ...]] = ("stages",)

    role = TRAINING_STEPS

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._stages = frozenset(map(Stage, setup.settings.get("stages", STAGES)))

    def steps(self, seen: Seen) -> Steps:
        step = screen_step(seen, self._stages)
        yield from self._convict_doubts(step)
        yield from convict_failures(step)
        return step.judged([pair_verdict(step, pair) for pair in step.pairs()])

    def _convict_doubts(self, step: Stepped) -> Generator[Sequence[Check], Sequence[Answer], None]:
        """Check all doubts at once; judge them in the order of the stages."""
        screening = Screening(step.case, step.outcomes, step.traits)
        doubts = [trial for trial in screening.checks() if trial.is_part_of(self._stages)]
        tried = yield from _run_checks([trial.again or trial for trial in doubts], step)
        more = [trial for trial in doubts if trial.again and _asks_for_more(trial, tried)]
        tried |= yield from _run_checks(more, step)
        convicting = {id(trial): found for trial in doubts if (found := _convicting_attempt(trial, tried))}
        yield from _as_users_have_it(step, convicting)
        yield from _without_network(step, convicting)
        for trial in doubts:
            _decide(step, trial, tried, convicting)


def _run_checks(trials: Sequence[IsolatedCheck], step: Stepped) -> Trying:
    """Run isolated checks; a loss' value and gradient are of one case, which is run once."""
    if not trials:
        return {}
    answers = yield [_check(trial, step.targets) for trial in trials]
    return {id(trial): _attempt(trial, answer) for trial, answer in zip(trials, answers, strict=True)}


def _check(trial: IsolatedCheck, targets: tuple[str, ...]) -> Check:
    """Where there are no numbers to run it on, nobody is asked, but only whether it is known."""
    if not trial.runs:
        return Check(trial.case, (), OUTCOMES, trial.key)
    return Check(trial.case, targets, _judge_of(trial.case), trial.key)


def _judge_of(case: Case) -> str:
    """The oracle of that kind of case; a whole step that is checked again is judged like one of a single layer."""
    return ORACLE_OF_KIND[CaseKind.TRAINED_LAYER] if case.procedure.goal in _STEPS else oracle_of(case)


def _attempt(trial: IsolatedCheck, answer: Answer) -> _Attempt:
    judged = answer.judged
    if judged is None or not trial.runs:
        return _Attempt(trial, answer)
    here = [v for v in judged.verdicts if v.stage is trial.stage or not judged.suspicions]
    free = trial.stage is Stage.BACKWARD and any(verdict.judged_by == SUBGRADIENT for verdict in here)
    suspicion = _suspicion(trial, judged, free)
    by_reference = _is_cleared(trial, judged)
    return _Attempt(trial, answer, suspicion, free and suspicion is None, by_reference)


def _is_cleared(trial: IsolatedCheck, judged: Judged) -> bool:
    """Held against a reference; what is added to a loss always is, whatever else of the step is not."""
    passed = trial.stage is Stage.LOSS and all(verdict.judgement is Judgement.PASS for verdict in judged.verdicts)
    return passed or any(verdict.judged_by == "reference" for verdict in judged.verdicts)


def _suspicion(trial: IsolatedCheck, judged: Judged, free: bool) -> Suspicion | None:
    """What the judge of the check says of just this stage of just this layer, loss or optimizer.

    Args:
        free: it differs at a subgradient, of which a specification blames nobody.
    """
    for found in judged.suspicions:
        diagnosis = found.diagnosis
        here = found.stage is trial.stage and diagnosis.api == trial.api and found.kind not in ENDING_KINDS
        if not here or (free and diagnosis.klass is Class.SPECIFICATION) or _is_of_another_layer(trial, found):
            continue
        node = trial.node.key if trial.node.inputs else None
        diagnosis = replace(diagnosis, api=trial.api, parameters=trial.parameters, node=node)
        return replace(found, diagnosis=diagnosis, known_by=trial.key)
    return None


def _is_of_another_layer(trial: IsolatedCheck, found: Suspicion) -> bool:
    """A whole step has several layers of one type."""
    several = isinstance(trial.case.subject, LayerGraph) and len(trial.case.subject.nodes) > 1
    return several and bool(trial.node.inputs) and found.diagnosis.node not in (None, trial.node.key)


def _asks_for_more(trial: IsolatedCheck, tried: Attempts) -> bool:
    """Whether a check as the network had it is to be followed by one as users have it, which compilers make dearer.

    Whoever is convicted is shown that way; and so is a doubt that is not rounding carried along.
    """
    attempt = tried[id(trial.again)]
    if attempt.is_known:
        return False
    if attempt.suspicion is not None:
        return True
    return not attempt.at_subgradient and not trial.is_explained(attempt.by_reference)


def _convicting_attempt(trial: IsolatedCheck, tried: Attempts) -> _Attempt | None:
    """The first check that convicts somebody: as users have it, or as the network had it."""
    ways = [tried[id(one)] for one in (trial, trial.again) if one is not None and id(one) in tried]
    return next((attempt for attempt in ways if attempt.suspicion is not None), None)


def _as_users_have_it(
    step: Stepped, convicting: dict[int, _Attempt]
) -> Generator[Sequence[Check], Sequence[Answer], None]:
    """What convicts only as networks are compiled here, unoptimized, convicts nobody."""
    hurried = {key: attempt for key, attempt in convicting.items() if _is_hurried(step, attempt)}
    users = [attempt.trial.again for attempt in hurried.values() if attempt.trial.again is not None]
    tried = yield from _run_checks(users, step)
    for key, attempt in hurried.items():
        shown = tried.get(id(attempt.trial.again))
        if shown is not None and shown.suspicion is not None:
            convicting[key] = shown
        else:
            del convicting[key]


def _is_hurried(step: Stepped, attempt: _Attempt) -> bool:
    """Whether it convicts nobody but those whose ``eager`` is no mode that users have: an unoptimized compilation."""
    suspects = attempt.suspicion.diagnosis.suspects if attempt.suspicion else ()
    eager = attempt.trial.case.procedure.mode is Mode.EAGER
    return eager and all(step.traits[suspect].unoptimized_eager for suspect in suspects)


def _without_network(
    step: Stepped, convicting: dict[int, _Attempt]
) -> Generator[Sequence[Check], Sequence[Answer], None]:
    """An optimizer's step of one layer, where that convicts the same: a network takes long to reduce."""
    singles: dict[int, IsolatedCheck] = {}
    for key, attempt in convicting.items():
        trial = attempt.trial
        single = step_alone(trial, attempt.answer.outcomes) if trial.stage is Stage.UPDATE else None
        if single is not None:
            singles[key] = single
    tried = yield from _run_checks(list(singles.values()), step)
    for key, single in singles.items():
        suspicion, shown = convicting[key].suspicion, tried[id(single)]
        if suspicion is not None and shown.suspicion is not None and shown.suspicion.key == suspicion.key:
            convicting[key] = shown


def _decide(step: Stepped, trial: IsolatedCheck, tried: Attempts, convicting: Attempts) -> None:
    """Known, convicted with another, convicted, settled or open."""
    attempt = tried.get(id(trial)) or tried[id(trial.again)]
    convicted = convicting.get(id(trial))
    if attempt.is_known:
        step.known.append(Known(trial.place, trial.stage, trial.api, trial.suspects))
    elif trial.runs and any(_covers(step, suspicion, trial) for suspicion in step.convicted):
        return
    elif convicted is not None and convicted.suspicion is not None:
        step.convicted.append(replace(convicted.suspicion, known_by=trial.key))
    elif trial.runs and (attempt.at_subgradient or trial.is_explained(attempt.by_reference)):
        name = "at a kink" if attempt.at_subgradient else "rounding carried along"
        step.settled.append(f"{trial.node.op}: {name}")
    else:
        step.open.append(trial)


def _covers(step: Stepped, suspicion: Suspicion, trial: IsolatedCheck) -> bool:
    """A loss whose value is wrong has a wrong gradient, too, and so has what a layer adds to it."""
    added = suspicion.stage is Stage.LOSS and suspicion.diagnosis.node is not None
    if added and trial.stage is Stage.LOSS and not trial.node.inputs:
        return all(step.concerns(suspicion.diagnosis.suspects, (target, target)) for target in trial.suspects)
    same_layer = trial.stage is Stage.BACKWARD and suspicion.diagnosis.node == trial.node.key
    return suspicion.case.digest == trial.case.digest or (added and same_layer)
