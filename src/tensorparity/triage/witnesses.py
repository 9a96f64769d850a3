"""Native implementations that are asked about what was convicted: is the library wrong, or what stands in front of it?

Few whole networks can be had in torch or ONNX alone, but most layers can. So the networks are compared between the
targets, and what these are convicted of is put to independent implementations of the layer, whose answers are evidence.
They accuse nobody, and nobody is convicted by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.capabilities import within_reach
from ..core.case import Case
from ..core.endings import ENDING_KINDS
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.oracle import Judged, Seen, is_of_networks
from ..core.outcome import Outcome
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Judgement, Stage
from ..oracles.kinds import ORACLES
from .examine import Examiner

#: The measure in which oracles say how far each target is off, in units of rounding.
ERRORS = "error-in-roundoffs"


def with_testimonies(
    examiner: Examiner, confirmed: Sequence[Suspicion], outcomes: Sequence[Mapping[str, Outcome]]
) -> list[Suspicion]:
    """The suspicions, with what witnesses say of the defects of layers among them; all are asked in one batch.

    Args:
        confirmed: suspicions that were seen again.
        outcomes: of each of them, what the targets did in fresh processes.
    """
    asked = [number for number, suspicion in enumerate(confirmed) if _can_be_asked(suspicion)]
    heard = _answers_of_witnesses(examiner, [confirmed[number] for number in asked])
    said = list(confirmed)
    for number, answers in zip(asked, heard, strict=True):
        suspicion = confirmed[number]
        lines = testimony(examiner, suspicion, outcomes[number], answers)
        said[number] = replace(suspicion, diagnosis=_with(suspicion.diagnosis, lines))
    return said


def witnesses_among(runner: Runner, targets: Sequence[str], traits: Traits) -> list[str]:
    """Who runs single layers without the front end of a family, and is not on trial itself."""
    return [name for name in runner.targets if traits[name].witness and name not in targets]


def _can_be_asked(suspicion: Suspicion) -> bool:
    """Of whole networks witnesses know nothing; an oracle of these says so by ``of_networks``.

    Of two sides of one target neither.
    """
    of_layers = isinstance(suspicion.case.subject, LayerGraph) and not is_of_networks(ORACLES.get(suspicion.oracle))
    of_layers = of_layers and suspicion.case.counterpart is None
    return of_layers and suspicion.diagnosis.klass is Class.DEFECT


def _answers_of_witnesses(examiner: Examiner, suspicions: Sequence[Suspicion]) -> list[dict[str, Outcome]]:
    """What each witness did with each case; who does not know the layer is left out."""
    runner, traits = examiner.runner, examiner.setup.traits
    names = [witnesses_among(runner, suspicion.targets, traits) for suspicion in suspicions]
    pairs = [
        (within_reach(suspicion.case, traits[name]), name)
        for suspicion, own in zip(suspicions, names, strict=True)
        for name in own
    ]
    answers = iter(runner.run_pairs(pairs) if pairs else ())
    return [{name: found for name in own if (found := next(answers)).completed} for own in names]


def testimony(
    examiner: Examiner, suspicion: Suspicion, outcomes: Mapping[str, Outcome], heard: Mapping[str, Outcome]
) -> list[Evidence]:
    """What witnesses have to say of a suspicion.

    Args:
        heard: what they did with its case.
    """
    as_far = _who_went_as_far(examiner.setup.traits, suspicion, heard)
    if suspicion.kind in ENDING_KINDS:
        return [observed("witness-runs", target=name) for name in as_far]
    if suspicion.stage is not Stage.FORWARD:
        heard = as_far  # who ran the layer forward alone knows nothing of its gradients, or of an optimizer
    if not heard:
        return []
    judged = _judge_everybody(examiner, suspicion, {**outcomes, **heard})
    return [line for name in heard if (line := _evidence_of(name, suspicion, judged))]


def _who_went_as_far(traits: Traits, suspicion: Suspicion, heard: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Of the witnesses, those who did all of what the case asks for."""
    case, goal = suspicion.case, suspicion.case.procedure.goal
    return {name: did for name, did in heard.items() if within_reach(case, traits[name]).procedure.goal is goal}


def _judge_everybody(examiner: Examiner, suspicion: Suspicion, outcomes: Mapping[str, Outcome]) -> Judged:
    """By the oracle that convicted, on what everybody did; of what it would have to run for that, nothing is said."""
    setup = examiner.setup
    ran: dict[str, Case] = {target: within_reach(suspicion.case, setup.traits[target]) for target in outcomes}
    judged = examiner.oracle_named(suspicion.oracle).judge(Seen(suspicion.case, (outcomes,), (ran,), setup.traits))
    return Judged() if judged.checks else judged


def _evidence_of(name: str, suspicion: Suspicion, judged: Judged) -> Evidence | None:
    """Whether a witness is right about what was convicted; nothing where its answer was not judged.

    Who is off by more than rounding is not called right, though nobody accuses him: he may be worse than the accused.
    """
    here = [s for s in judged.suspicions if s.stage is suspicion.stage and s.diagnosis.api == suspicion.diagnosis.api]
    decided = here or any(verdict.judgement is Judgement.PASS for verdict in judged.verdicts)
    errors = judged.measures.get(ERRORS, {})
    if not decided or (errors and name not in errors):
        return None
    wrong = any(name in found.diagnosis.suspects for found in here)
    limit = next((found.diagnosis.threshold for found in here if found.diagnosis.threshold is not None), None)
    ratio = max(errors[name]) / limit if name in errors and limit else None
    if not wrong and ratio is not None and not ratio <= 1.0:
        return None
    return observed("witness", target=name, right=not wrong, ratio=ratio)


def _with(diagnosis: Diagnosis, lines: Sequence[Evidence]) -> Diagnosis:
    return replace(diagnosis, evidence=(*diagnosis.evidence, *lines))
