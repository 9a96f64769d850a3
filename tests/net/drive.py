"""Drives the pipelines with a given runner, and says in plain JSON what they make of it.

All calls into the pipelines are in the first part. Whoever changes the pipelines changes that part, and nothing else
here: recordings, expected results and their comparison stay.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kept_cases
import model_files
import numpy as np
from recording import Key
from scenarios import Scenario, exhibits

from tensorparity.campaign.events import silent
from tensorparity.campaign.filing import make_finding
from tensorparity.commands.operator_findings import OncePerOperator
from tensorparity.commands.sources.models import Context, open_source
from tensorparity.commands.whole_models import ExaminedModel, ModelExaminer, read_model
from tensorparity.core.case import Case
from tensorparity.core.endings import ENDING_KINDS
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class, Finding
from tensorparity.core.oracle import Judged, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.runner import Runner
from tensorparity.core.signature import claim_against
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Verdict
from tensorparity.engines.muffin.samples import samples_of
from tensorparity.engines.predoo.turns import Turns
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.generators.single_cases.streams import INVALID, STREAMS
from tensorparity.operators.functions.native import case_operator
from tensorparity.oracles.kinds import particular_oracle
from tensorparity.oracles.step_facts import STEP, StepFacts
from tensorparity.oracles.whole.sight import model_of
from tensorparity.reporting.words import sentence
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import LocalRunner
from tensorparity.triage.examine import Examined, Examiner
from tensorparity.triage.reduction.preparation import Preparation, Prepared, ReducingSettings
from tensorparity.triage.reduction.reducer import ReductionBudget
from tensorparity.triage.witnesses import with_testimonies
from tensorparity.zoo.entries import ARCHITECTURES
from tensorparity.zoo.weights import calibrated_weights, sample_inputs

Json = Any
Results = dict[str, list[dict[str, Json]]]

_BATCH = 8
_CHECKS = 40
#: Numbers that go into a case, at most: recordings are to stay small.
_NUMBERS = 2_000
_ROWS = 16
_ZOO = ("lenet1", "lenet4", "lenet5", "simplernn", "gru", "lstm", "transformer")
_INSTANCES = 2


# --- calls into the pipelines: what is to be replaced when they change


@dataclass(frozen=True)
class Networks:
    """What came of networks, and what was confirmed of it."""

    steps: list[Examined]
    suspicions: list[Suspicion]
    outcomes: dict[str, Outcome]


def examiner_of(runner: Runner, targets: Sequence[str], everybody: Sequence[str] = ()) -> Examiner:
    """An examiner of these targets, which remembers no convictions.

    Args:
        everybody: with the witnesses.
    """
    return Examiner(runner, Setup(0, tuple(targets), traits_of([*targets, *everybody])))


def examine_networks(examiner: Examiner, scenario: Scenario, cases: Sequence[Case]) -> Networks:
    """Training steps in rounds, as ``fuzz`` and ``hunt`` have them, and all of them confirmed."""
    oracle = "muffin" if scenario.oracle == "muffin" else "training_step"
    batches = [cases[start : start + _BATCH] for start in range(0, len(cases), _BATCH)]
    steps = [
        step
        for batch in batches
        for step in examiner.examine([Ask(case, scenario.targets, (oracle,)) for case in batch])
    ]
    outcomes = {target: outcome for step in steps for target, outcome in step.own.items()}
    again = [pair for _, pair in sorted(zip(_places(steps), examiner.confirm(steps), strict=True), key=lambda p: p[0])]
    suspicions = with_testimonies(examiner, [one for one, _ in again], [seen for _, seen in again])
    return Networks(steps, suspicions, outcomes)


def _places(steps: Sequence[Examined]) -> Iterator[tuple[int, bool]]:
    """Where each suspicion is expected: of a batch, what is wrong comes before what ended badly, and what led to it."""
    for number, step in enumerate(steps):
        cannot_differ = sum(outcome.completed for outcome in step.own.values()) < 2
        for suspicion in step.judged.suspicions:
            yield number // _BATCH, cannot_differ or suspicion.kind in ENDING_KINDS


def examine_single(examiner: Examiner, case: Case, targets: Sequence[str]) -> Examined:
    """One case by itself, judged by the oracle of its kind."""
    (examined,) = examiner.examine([Ask(case, tuple(targets))])
    return examined


def confirm(examiner: Examiner, found: Sequence[Examined]) -> list[Suspicion]:
    """What single cases are suspected of, again in fresh workers."""
    return [suspicion for suspicion, _ in examiner.confirm(found)]


def examine_operator(
    examiner: Examiner, case: Case, known: Sequence[str]
) -> tuple[Sequence[Verdict], list[tuple[Suspicion, Finding]]]:
    """One operator's case, as ``hunt`` has it; what is known is not confirmed again."""
    operator = case_operator(case)
    assert operator is not None
    (examined,) = examiner.examine([Ask(case, oracles=("precision",))])
    selection = OncePerOperator(examiner.setup.traits, lambda: True)
    chosen = [item for item in selection.choose([examined]) if _operator_finding(item, operator.name).id not in known]
    confirmed = [suspicion for suspicion, _ in examiner.confirm(chosen)] if chosen else []
    asked = [item.judged.suspicions[0] for item in chosen]
    prepared = list(reduce_all(examiner, confirmed))
    filed = []
    for first, item in zip(asked, prepared[: len(asked)], strict=True):
        done, original = (selection.complete(first, suspicion) for suspicion in (item.suspicion, item.original))
        filed.append((done, finding_of(done, "predoo", examined.own, operator.name, original)))
    for met in prepared[len(asked) :]:
        filed.append((met.suspicion, finding_of(met.suspicion, "predoo", examined.own, operator.name, met.original)))
    return examined.judged.verdicts, filed


def _operator_finding(examined: Examined, name: str) -> Finding:
    return finding_of(examined.judged.suspicions[0], "predoo", {}, name)


def examine_model(runner: Runner, scenario: Scenario, case: Case) -> tuple[ExaminedModel, Examiner]:
    """One model, as ``hunt`` and ``compare`` have it."""
    traits = traits_of(scenario.targets)
    examiner = ModelExaminer(
        runner, model_of(case), scenario.targets, traits, oracle=scenario.oracle, seed=scenario.seed
    )
    return examiner.examine(case.inputs, case.labels), examiner.examiner()


def examine_file(runner: Runner, scenario: Scenario, opened: model_files.Opened) -> ExaminedModel:
    """One model in a file, as ``compare`` has it; its layers are read when they are needed."""
    arbiters = tuple(name for name in scenario.everybody if name not in scenario.targets)
    examiner = ModelExaminer(
        model_files.Reading(runner, opened),
        opened.unread,
        scenario.targets,
        traits_of(scenario.everybody),
        oracle=scenario.oracle,
        settings={"localize": "always", "arbiters": arbiters},
        seed=scenario.seed,
    )
    return examiner.examine(opened.inputs, {})


def open_file(runner: LocalRunner, scenario: Scenario, path: Path, cache: Path) -> model_files.Opened:
    """The model in a file, exported for those who need it so; by real libraries, where they are recorded."""
    arbiters = [name for name in scenario.everybody if name not in scenario.targets]
    settings = replace(runner.settings, cache=cache)
    context = Context(runner, settings, scenario.targets, scenario.seed, silent, arbiters)
    source = open_source(str(path), context)
    data = source.pick_data(None, 1, scenario.seed, {})  # whatever is wrong, there is no other to look at
    model = source.model if source.model.graph else read_model(runner, source.model, scenario.targets)
    return model_files.Opened(model, dict(data.inputs))


def reduce_all(examiner: Examiner, suspicions: Sequence[Suspicion]) -> Iterator[Prepared]:
    """One after the other, so that threads do not change the order of questions; by checks, whatever time they take.

    Functions below layers are looked for by time, and have tests of their own.
    """
    settings = ReducingSettings(ReductionBudget(_CHECKS, math.inf), math.inf, scripts=False, descending=0.0)
    preparation = Preparation(examiner.runner, examiner, settings)  # type: ignore[arg-type]
    for suspicion in suspicions:
        yield from preparation.reduce([suspicion])
    yield from preparation.met()


def replay(runner: Runner, suspicion: Suspicion) -> tuple[list[Suspicion], str]:
    """The case of a finding, twice, as ``replay`` runs it from its file."""
    oracle, claim = particular_oracle(suspicion), claim_against(suspicion.diagnosis.suspects)
    ask = Ask(suspicion.case, oracles=(oracle,) if oracle else ())
    examiners = [examiner_of(runner, suspicion.targets) for _ in range(2)]
    looks = [examiner.examine([ask], fresh=True, claim=claim)[0] for examiner in examiners]
    suspicions = examiners[0].agree(looks)
    return suspicions, "" if suspicions else next((why for look in looks if (why := look.judged.undecided)), "")


def finding_of(
    suspicion: Suspicion,
    engine: str,
    outcomes: Mapping[str, Outcome],
    subject: str | None = None,
    original: Suspicion | None = None,
) -> Finding:
    """As the commands make it: a layer is one defect whatever network it was found in, but one of each model."""
    found = original or suspicion
    name = subject or found.diagnosis.api or found.case.digest
    return make_finding(suspicion, engine, outcomes, name, original)


# --- cases


def networks_of(scenario: Scenario) -> list[Case]:
    settings = NetworkSettings(scenario.layers, data=("palette",), unit=scenario.unit, max_cells=2, max_vertices=4)
    generator = NetworkGenerator(scenario.seed, settings, samples_of(settings.data)[0])
    return _first(scenario.count, (generator.next().case for _ in itertools.count()))


def singles_of(scenario: Scenario) -> Iterator[tuple[str, Case]]:
    """As they were drawn when they were recorded."""
    if kept_cases.is_kept(scenario.recording):
        yield from kept_cases.kept(scenario.recording)
        return
    for kind, stream in {**STREAMS, "invalid": INVALID}.items():
        yield from ((kind, case) for case in _first(scenario.count, stream.begin(scenario.seed, ())))


def operators_of(scenario: Scenario) -> list[Case]:
    turns = Turns(scenario.seed)
    rounds = (turns.propose(index) for index in itertools.count())
    return _first(scenario.count, map(_of_few_rows, itertools.chain.from_iterable(rounds)))


def models_of(scenario: Scenario) -> Iterator[tuple[str, Case]]:
    for index, name in enumerate(_ZOO[: scenario.count]):
        graph = ARCHITECTURES[name]()
        rng = np.random.default_rng([scenario.seed, index])
        inputs = sample_inputs(graph, rng, _INSTANCES)
        yield name, Case(graph, inputs=inputs, weights=calibrated_weights(graph, scenario.seed), seed=scenario.seed)


def _first(count: int, cases: Iterator[Case]) -> list[Case]:
    return list(itertools.islice((case for case in cases if _size(case) <= _NUMBERS), count))


def _size(case: Case) -> int:
    return sum(array.size for array in case.arrays().values())


def _of_few_rows(case: Case) -> Case:
    """The first of the stacked inputs: what has as many rows as the first operand is stacked."""
    rows = len(next(iter(case.inputs.values())))
    few = {name: array[:_ROWS] if array.ndim and len(array) == rows else array for name, array in case.inputs.items()}
    return replace(case, inputs=few)


# --- drivers


def drive(scenario: Scenario, runner: Runner) -> Results:
    """Everything of a scenario."""
    return _DRIVERS[scenario.kind](scenario, runner)


def _drive_networks(scenario: Scenario, runner: Runner) -> Results:
    examiner = examiner_of(runner, scenario.targets, scenario.everybody)
    found = examine_networks(examiner, scenario, networks_of(scenario))
    return {
        "cases": [_step(step) for step in found.steps],
        "suspicions": [said(s, finding_of(s, "muffin", found.outcomes)) for s in found.suspicions],
        **_later(scenario, examiner, found.suspicions, "muffin", found.outcomes),
    }


def _drive_singles(scenario: Scenario, runner: Runner) -> Results:
    return _checked_cases(scenario, runner, [(kind, case, scenario.targets) for kind, case in singles_of(scenario)])


def _drive_museum(scenario: Scenario, runner: Runner) -> Results:
    rng = np.random.default_rng
    shown = [(e.name, e.build(rng(scenario.seed)), e.targets) for e in exhibits(scenario.targets)]
    return _checked_cases(scenario, runner, shown)


def _checked_cases(scenario: Scenario, runner: Runner, cases: Sequence[tuple[str, Case, Sequence[str]]]) -> Results:
    results: list[dict[str, Json]] = []
    examiner = examiner_of(runner, scenario.targets)
    doubted: dict[tuple[str, ...], Examined] = {}
    last: dict[str, Outcome] = {}
    for name, case, targets in cases:
        examined = examine_single(examiner, case, targets)
        last |= examined.own
        results.append({"case": case.digest, "of": name, **_checked(examined.judged)})
        for suspicion in examined.judged.suspicions:
            if suspicion.diagnosis.klass is Class.DEFECT:
                only = replace(examined, judged=replace(examined.judged, suspicions=(suspicion,)))
                doubted.setdefault(suspicion.key, only)
    suspicions = confirm(examiner, list(doubted.values()))
    return {
        "cases": results,
        "suspicions": [said(s, finding_of(s, "muffin", last)) for s in suspicions],
        **_later(scenario, examiner, suspicions, "muffin", last),
    }


def _drive_calls(scenario: Scenario, runner: Runner) -> Results:
    results: list[dict[str, Json]] = []
    found: list[dict[str, Json]] = []
    known: dict[str, None] = {}
    suspicions: list[Suspicion] = []
    examiner = examiner_of(runner, scenario.targets)
    for case in operators_of(scenario):
        verdicts, filed = examine_operator(examiner, case, list(known))
        results.append({"case": case.digest, "verdicts": [_verdict(verdict) for verdict in verdicts]})
        found += [said(suspicion, finding) for suspicion, finding in filed]
        suspicions += [suspicion for suspicion, _ in filed]
        known |= {finding.id: None for _, finding in filed if finding.diagnosis.klass is not Class.FLAKY}
    return {"cases": results, "suspicions": found, "replayed": _replayed(runner, suspicions)}


def _drive_models(scenario: Scenario, runner: Runner) -> Results:
    results: list[dict[str, Json]] = []
    found: list[dict[str, Json]] = []
    later: Results = {"reduced": [], "replayed": []}
    for name, case in models_of(scenario):
        examined, examiner = examine_model(runner, scenario, case)
        results.append({"case": case.digest, "of": name, **_examined(examined)})
        found += [said(s, finding_of(s, "cradle", examined.outcomes, name)) for s in examined.suspicions]
        for kind, items in _later(scenario, examiner, examined.suspicions, "cradle", examined.outcomes, name).items():
            later[kind] += items
    return {"cases": results, "suspicions": found, **later}


def _drive_file(scenario: Scenario, runner: Runner) -> Results:
    examined = examine_file(runner, scenario, model_files.read(scenario.file))
    found = [said(s, finding_of(s, "cradle", examined.outcomes, scenario.file)) for s in examined.suspicions]
    return {"cases": [{"case": scenario.file, **_examined(examined)}], "suspicions": found}


def _later(
    scenario: Scenario,
    examiner: Examiner,
    suspicions: Sequence[Suspicion],
    engine: str,
    outcomes: Mapping[str, Outcome],
    subject: str | None = None,
) -> Results:
    """What is done with suspicions: some are reduced, and their cases replayed."""
    sample = [s for s in suspicions if s.diagnosis.klass is Class.DEFECT][: scenario.reduced]
    prepared = list(reduce_all(examiner, sample))
    reduced = [
        _prepared(item, finding_of(item.suspicion, engine, outcomes, subject, item.original)) for item in prepared
    ]
    return {"reduced": reduced, "replayed": _replayed(examiner.runner, [item.suspicion for item in prepared])}


def _replayed(runner: Runner, suspicions: Sequence[Suspicion]) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    for suspicion in suspicions:
        again, undecided = replay(runner, suspicion)
        told = [said(s, finding_of(s, "replay", {}, suspicion.case.digest)) for s in again]
        found.append({"case": suspicion.case.digest, "undecided": undecided, "suspicions": told})
    return found


_DRIVERS: dict[str, Callable[[Scenario, Runner], Results]] = {
    "networks": _drive_networks,
    "singles": _drive_singles,
    "museum": _drive_museum,
    "calls": _drive_calls,
    "models": _drive_models,
    "file": _drive_file,
}


# --- in plain JSON


def said(suspicion: Suspicion, finding: Finding) -> dict[str, Json]:
    """A suspicion, and the finding that is made of it."""
    diagnosis = suspicion.diagnosis
    return {
        "kind": suspicion.kind.value,
        "stage": suspicion.stage.value,
        "class": diagnosis.klass.value,
        "suspects": list(diagnosis.suspects),
        "targets": list(suspicion.targets),
        "api": diagnosis.api,
        "node": diagnosis.node,
        "parameters": dict(diagnosis.parameters),
        "exception": suspicion.exception,
        "features": list(suspicion.features),
        "evidence": [sentence(item) for item in diagnosis.observations],
        "key": list(suspicion.key),
        "signature": suspicion.signature,
        "finding": finding.id,
        "case": suspicion.case.digest,
    }


def _prepared(item: Prepared, finding: Finding) -> dict[str, Json]:
    reduction = item.reduction
    return {
        **said(item.suspicion, finding),
        "of": item.original.case.digest,
        "is_reduced": item.is_reduced,
        "repeated": item.repeated,
        "checks": reduction.checks if reduction else None,
        "stopped": reduction.stopped if reduction else None,
        "also": [list(other.key) for other in reduction.also] if reduction else [],
    }


def _verdict(verdict: Verdict) -> dict[str, Json]:
    return {
        "judgement": verdict.judgement.value,
        "kind": verdict.kind.value if verdict.kind else None,
        "stage": verdict.stage.value if verdict.stage else None,
        "targets": list(verdict.targets),
        "reason": verdict.reason,
    }


def _step(step: Examined) -> dict[str, Json]:
    facts: StepFacts = step.judged.facts[STEP]
    return {
        "case": step.case.digest,
        "verdicts": [_verdict(verdict) for verdict in step.judged.verdicts],
        "convicted": [suspicion.signature for suspicion in step.judged.suspicions],
        "known": [list(known.place) for known in facts.known],
        "open": [list(doubt) for doubt in facts.open],
        "settled": list(facts.settled),
        "unsupported": dict(facts.unsupported),
        "inconsistent": [[item.stage.value, str(item.distance)] for item in facts.inconsistent],
    }


def _checked(judged: Judged) -> dict[str, Json]:
    return {
        "undecided": judged.undecided,
        "suspicions": [[s.kind.value, s.stage.value, s.diagnosis.klass.value, s.signature] for s in judged.suspicions],
    }


def _examined(examined: ExaminedModel) -> dict[str, Json]:
    return {
        "verdicts": [_verdict(verdict) for verdict in examined.verdicts],
        "notes": list(examined.notes),
        "doubts": list(examined.doubts),
        "measured": [[errors.node.key, errors.judged_by] for errors in examined.measured],
    }


# --- recordings that are not quite what the libraries said


def doctored(how: str, recording: Mapping[Key, Outcome]) -> Mapping[Key, Outcome]:
    """A recording in which targets are flaky, or end in ways that are dear to record."""
    return _DOCTORS[how](recording) if how else recording


def _flaky(recording: Mapping[Key, Outcome]) -> dict[Key, Outcome]:
    """In fresh workers every other case is answered as its first other target answers it."""
    found = dict(recording)
    by_case: dict[str, list[Key]] = {}
    for key in recording:
        by_case.setdefault(key[0], []).append(key)
    for digest, keys in by_case.items():
        answers = [recording[key] for key in sorted(keys) if recording[key].completed]
        if answers and int(digest[-1], 16) % 2:
            found |= {key: replace(answers[0], target=key[1]) for key in keys if key[2]}
            found |= {(*key[:2], True, 0): replace(answers[0], target=key[1]) for key in keys}
    return found


def _ending(status: Status, failure: Failure) -> Callable[[Mapping[Key, Outcome]], dict[Key, Outcome]]:
    def doctor(recording: Mapping[Key, Outcome]) -> dict[Key, Outcome]:
        raised = {key: outcome for key, outcome in recording.items() if outcome.status is Status.RAISED}
        others = {key: replace(o, status=status, failure=_as(failure, o.failure)) for key, o in raised.items()}
        return {**recording, **others}

    return doctor


def _as(failure: Failure, before: Failure | None) -> Failure:
    return replace(failure, node=before.node, stage=before.stage) if before else failure


def _endings(recording: Mapping[Key, Outcome]) -> dict[Key, Outcome]:
    """One target crashes on some models, raises on others and hangs on the rest."""
    found = dict(recording)
    ways = [
        (Status.CRASHED, Failure("SIGSEGV", "the process died")),
        (Status.RAISED, Failure("ValueError", "Exception encountered when calling Conv2D.call().", node=None)),
        (Status.TIMED_OUT, Failure("cpu_seconds", "no answer in time")),
    ]
    for key in (key for key in recording if key[1] == min(other[1] for other in recording)):
        status, failure = ways[int(key[0][-1], 16) % len(ways)]
        found[key] = Outcome(key[1], status, failure=failure, record=recording[key].record)
    return found


def _off(recording: Mapping[Key, Outcome]) -> dict[Key, Outcome]:
    """One of the targets is off by a hundredth, in all that it answers."""
    last = max(key[1] for key in recording)
    return {key: _scaled(outcome, 1.01) if key[1] == last else outcome for key, outcome in recording.items()}


def _whole_off(recording: Mapping[Key, Outcome]) -> dict[Key, Outcome]:
    """One of the targets is off by a factor, but not where it is run step by step, or one layer alone."""
    last = max(key[1] for key in recording)
    whole = {name for outcome in recording.values() if outcome.trace.nodes for name in outcome.outputs}
    plain = {key for key, outcome in recording.items() if key[1] == last and not outcome.trace.nodes}
    wrong = {key for key in plain if set(recording[key].outputs) <= whole}
    return {key: _scaled(outcome, 2.0) if key in wrong else outcome for key, outcome in recording.items()}


def _scaled(outcome: Outcome, factor: float) -> Outcome:
    nodes = {name: (array * factor).astype(array.dtype) for name, array in outcome.trace.nodes.items()}
    outputs = {name: (array * factor).astype(array.dtype) for name, array in outcome.outputs.items()}
    return replace(outcome, outputs=outputs, trace=replace(outcome.trace, nodes=nodes))


_DOCTORS: dict[str, Callable[[Mapping[Key, Outcome]], dict[Key, Outcome]]] = {
    "flaky": _flaky,
    "hangs": _ending(Status.TIMED_OUT, Failure("cpu_seconds", "no answer in time")),
    "crashes": _ending(Status.CRASHED, Failure("SIGSEGV", "the process died")),
    "endings": _endings,
    "off": _off,
    "whole-off": _whole_off,
}
