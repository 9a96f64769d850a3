"""A training step that a target could not run: the smallest case on which it ends in the same way, and who else does.

It is looked for on that target alone, the smallest cases first: where it raises there is nothing to compile. Then the
smallest is run by everybody.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.case import Case
from ..core.endings import KIND_OF_ENDING
from ..core.graph import LayerGraph
from ..core.oracle import OUTCOMES, Answer, Check
from ..core.outcome import Outcome
from ..core.procedure import Goal, Procedure
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from .failing_alike import FAILURE, accused_of_failure
from .failure_search import FailureCheck, FailureSearch, failure_search
from .measure.cuts import before
from .measure.support import is_lack
from .step_facts import STEP, Known, StepFacts
from .stepped import Stepped

#: What leads to a layer that fails is examined as a network of its own.
_BEFORE = "training_step"

Searching = Generator[Sequence[Check], Sequence[Answer], None]


@dataclass(frozen=True)
class _Failure:
    """A target that did not complete a step, and where to look for the reason."""

    outcome: Outcome
    search: FailureSearch

    @property
    def known_by(self) -> FailureCheck:
        return self.search.known_by


@dataclass
class _ShownFailure:
    """By the number of an ending, what the search has found.

    Args:
        smallest: on which its target ends in the same way.
        known: what has been convicted often enough.
        outcomes: what all targets did on the smallest.
    """

    traits: Traits
    smallest: dict[int, FailureCheck] = field(default_factory=dict)
    known: dict[int, FailureCheck] = field(default_factory=dict)
    outcomes: dict[int, Mapping[str, Outcome]] = field(default_factory=dict)


def convict_failures(step: Stepped, *, look_before: bool = True) -> Searching:
    """Convict whoever ends a step badly, on the smallest case that shows it.

    Args:
        look_before: a layer that is well alone may be handed something wrong: then that is convicted instead.
    """
    endings = list(_endings(step))
    if not endings:
        return
    shown = _ShownFailure(step.traits)
    yield from _search(endings, shown)
    yield from _run_smallest(step, shown)
    earlier: dict[str, Answer] = {}
    if look_before:
        yield from _examine_before(step, endings, shown, earlier)
    for number, ending in enumerate(endings):
        if any(_accuses(step, suspicion, ending.outcome) for suspicion in step.convicted):
            continue
        if number in shown.known:
            step.known.append(_known_key(shown.known[number], ending))
        elif number not in shown.smallest:
            step.open.append(ending.search.whole)
        elif not _is_wrong_before(step, ending, shown.smallest[number], earlier):
            _convict(step, ending, shown.smallest[number], shown.outcomes[number])


def _endings(step: Stepped) -> Iterator[_Failure]:
    done = [outcome for outcome in step.outcomes.values() if outcome.completed]
    for target, outcome in step.outcomes.items():
        is_accused = any(target in suspicion.diagnosis.suspects for suspicion in step.convicted)
        if outcome.status in KIND_OF_ENDING and not is_accused:
            yield _Failure(outcome, failure_search(step.case, outcome, done))


def _search(endings: Sequence[_Failure], shown: _ShownFailure) -> Searching:
    """The smallest trial of each ending on which its target ends in the same way."""
    depth = 0
    while tried := [
        (number, trial)
        for number, ending in enumerate(endings)
        if number not in shown.smallest and number not in shown.known and depth < len(ending.search.groups)
        for trial in ending.search.groups[depth]
    ]:
        answers = yield [
            Check(trial.case, (trial.target,), OUTCOMES, endings[number].known_by.key) for number, trial in tried
        ]
        for (number, trial), answer in zip(tried, answers, strict=True):
            if answer.judged is None:
                shown.known[number] = endings[number].known_by
            elif ended_so(trial, answer.outcomes, shown.traits):
                shown.smallest.setdefault(number, trial)
        depth += 1


def _run_smallest(step: Stepped, shown: _ShownFailure) -> Searching:
    """What all targets do on the smallest; of several endings it may be one case."""
    if not shown.smallest:
        return
    answers = yield [Check(trial.case, step.targets, OUTCOMES, trial.key) for trial in shown.smallest.values()]
    for (number, trial), answer in zip(list(shown.smallest.items()), answers, strict=True):
        if answer.judged is None:
            shown.known[number] = trial
        else:
            shown.outcomes[number] = answer.outcomes


def _examine_before(
    step: Stepped, endings: Sequence[_Failure], shown: _ShownFailure, earlier: dict[str, Answer]
) -> Searching:
    """What leads to layers that fail, each as a network of its own."""
    cases: dict[str, Case] = {}
    for number, trial in shown.smallest.items():
        told = any(_accuses(step, suspicion, endings[number].outcome) for suspicion in step.convicted)
        case = None if told or number in shown.known else _before(step.case, trial)
        if case is not None:
            cases[case.digest] = case
    if cases:
        answers = yield [Check(case, step.targets, _BEFORE) for case in cases.values()]
        earlier.update(zip(cases, answers, strict=True))


def _before(whole: Case, trial: FailureCheck) -> Case | None:
    graph, node, like = trial.case.subject, trial.node, whole.procedure
    several = isinstance(graph, LayerGraph) and len(graph.nodes) > 1
    if trial.case.procedure.goal is not Goal.FORWARD or node is None or not several:
        return None
    return before(trial.case, node, Procedure(trace=True, training=like.training, dtype=like.dtype, mode=like.mode))


def _is_wrong_before(step: Stepped, ending: _Failure, trial: FailureCheck, earlier: dict[str, Answer]) -> bool:
    """Whether a layer that is well alone is handed something wrong: what hands it over is convicted instead."""
    case = _before(step.case, trial) if earlier else None
    answer = earlier.get(case.digest) if case is not None else None
    if answer is None or answer.judged is None:
        return False
    facts = answer.judged.facts.get(STEP, StepFacts())
    step.convicted += [new for new in answer.judged.suspicions if not any(new is old for old in step.convicted)]
    step.known += [known for known in facts.known if known not in step.known]
    blamed = [*(s.diagnosis.suspects for s in answer.judged.suspicions), *(known.suspects for known in facts.known)]
    own = (ending.outcome.target, ending.outcome.target)
    return any(step.concerns(suspects, own) for suspects in blamed)


def _accuses(step: Stepped, suspicion: Suspicion, outcome: Outcome) -> bool:
    """Whether it says why the target ended: by its name, or by that of the code that it shares."""
    suspects = suspicion.diagnosis.suspects
    shared = suspicion.kind is KIND_OF_ENDING[outcome.status] and step.families.get(outcome.target) in suspects
    return outcome.target in suspects or shared


def ended_so(trial: FailureCheck, outcomes: Mapping[str, Outcome], traits: Traits) -> tuple[str, ...]:
    """Who ended as expected; who lacks what nobody promises is not wrong."""
    alike = {target: outcome for target, outcome in outcomes.items() if trial.ends_so(outcome)}
    return tuple(t for t, outcome in alike.items() if not is_lack(outcome, trial.case, traits))


def _convict(step: Stepped, ending: _Failure, trial: FailureCheck, outcomes: Mapping[str, Outcome]) -> None:
    """Accuse everybody who ends so on the smallest case."""
    suspects = accused_of_failure(ended_so(trial, outcomes, step.traits), step.targets, step.traits)
    diagnosis = trial.diagnosis(suspects, outcomes)
    suspicion = Suspicion(
        KIND_OF_ENDING[ending.outcome.status],
        diagnosis,
        trial.case,
        step.targets,
        trial.ending[1],
        trial.stage,
        oracle=FAILURE,
        known_by=_counted_by(ending, trial),
    )
    step.convicted.append(suspicion)


def _counted_by(ending: _Failure, trial: FailureCheck) -> tuple[str, ...]:
    """It is known by the same trial, whichever shows it, unless that is the whole network: there may be another reason
    for it another time. What nothing shows but the network itself counts for its place alone.
    """
    counted = trial if ending.known_by is ending.search.whole else ending.known_by
    return counted.key if trial.api else (*counted.place, trial.case.digest)


def _known_key(trial: FailureCheck, ending: _Failure) -> Known:
    kind = KIND_OF_ENDING[ending.outcome.status]
    return Known(trial.place, trial.stage, trial.api, trial.suspects, kind)
