"""From a suspicion to what is filed, on fake targets: reduced, signed, and nothing lost on the way."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.filing import make_finding, scripts_of
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Judged
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.time_limit import TimeLimit
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.reporting.summary import distinct
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.confirm import two_answers, unsteady
from tensorparity.triage.examine import Examined, Examiner
from tensorparity.triage.explanations import Explanations
from tensorparity.triage.reduction.preparation import (
    Preparation,
    Prepared,
    ReducingSettings,
    confirm_suspicions,
    needed_targets,
    prepare_one,
    reduce_suspicion,
)
from tensorparity.triage.reduction.reducer import ReductionBudget
from tensorparity.triage.reproduce.script import Reproducer

from ..examining import examine_case, examine_cases, examiner_for, look

JAX, TF, TORCH = "keras:jax", "keras:tensorflow", "keras:torch"
TARGETS = (JAX, TF, TORCH)
LEVELS = {"bin_boundaries": [0.0, 1.0]}


def case_of(graph: LayerGraph, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    inputs = {item.name: rng.standard_normal((4, *item.shape)).astype(np.float32) for item in graph.inputs}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, rng))


@pytest.fixture(scope="module")
def chain() -> Case:
    build = GraphBuilder("chain")
    x = build.input("x", (8,))
    for index in range(40):
        x = build.add("Dense", x, name=f"d{index}", units=8) if index % 2 else build.add("ELU", x, name=f"e{index}")
    return case_of(build.build(x))


def answering(value: float) -> Outcome:
    return Outcome(TORCH, Status.COMPLETED, {"y": np.full((1, 1), value, np.float32)})


def wrong(output: Any) -> Any:
    return output + np.float32(0.1)


@pytest.fixture
def runner(fake_runner: Any) -> Any:
    return fake_runner(targets=TARGETS, planted={TORCH: {"d23": wrong}})


def examiner(runner: Any) -> Examiner:
    return examiner_for(runner, TARGETS)


def preparing(runner: Any, settings: ReducingSettings) -> Preparation:
    return Preparation(runner, examiner(runner), settings)


def prepared_alone(runner: Any, suspicion: Suspicion) -> Prepared:
    return prepare_one(runner, examiner(runner), suspicion, ReductionBudget(), scripts=False)


def _is_well(judged: Judged) -> bool:
    return [verdict.judgement for verdict in judged.verdicts] == [Judgement.PASS] and not judged.suspicions


class TestExamining:
    def test_the_guilty_layer_of_a_graph(self, runner: Any, chain: Case) -> None:
        checked, outcomes = examine_case(runner, chain, TARGETS)
        (suspicion,) = checked.suspicions
        assert (suspicion.diagnosis.node, suspicion.diagnosis.suspects) == ("d23#0", (TORCH,))
        assert set(outcomes) == set(TARGETS)

    def test_a_graph_that_is_right(self, fake_runner: Any, chain: Case) -> None:
        assert _is_well(*examine_cases(fake_runner(targets=TARGETS), [chain], TARGETS))

    def test_a_graph_that_raises_is_located(self, fake_runner: Any, chain: Case) -> None:
        checked, _ = examine_case(fake_runner(targets=TARGETS, raising={TORCH: ["d23"]}), chain, TARGETS)
        (suspicion,) = checked.suspicions
        assert (suspicion.kind, suspicion.exception) == (Kind.ERROR, "NodeError")
        assert (suspicion.diagnosis.node, suspicion.diagnosis.api) == ("d23#0", "keras.layers.Dense")

    def test_only_when_fused(self, fake_runner: Any, chain: Case) -> None:
        checked, _ = examine_case(fake_runner(targets=TARGETS, whole={TORCH: wrong}), chain, TARGETS)
        (suspicion,) = checked.suspicions
        assert suspicion.diagnosis.suspects == (TORCH,)
        assert suspicion.diagnosis.fused

    def test_layers_are_replayed_as_the_whole_is_run(self, fake_runner: Any, chain: Case) -> None:
        runner = fake_runner(targets=TARGETS)
        half = replace(chain, procedure=Procedure(training=True, dtype="float16"))
        examine_case(runner, half, TARGETS)
        replayed = [ran.case.procedure for ran in runner.ran if ran.case.procedure.goal is Goal.REPLAY]
        assert replayed
        assert {(procedure.training, procedure.dtype) for procedure in replayed} == {(True, "float16")}

    def test_one_target_alone(self, fake_runner: Any, chain: Case) -> None:
        wrong_alone = fake_runner(targets=TARGETS, planted={TORCH: {"d23": wrong}})
        assert "d23 is not as the reference says" in examine_case(wrong_alone, chain, [TORCH])[0].undecided
        (suspicion,) = examine_case(wrong_alone, chain, [TORCH], convicted=[TORCH])[0].suspicions
        assert (suspicion.diagnosis.node, suspicion.diagnosis.suspects) == ("d23#0", (TORCH,))
        assert _is_well(examine_case(fake_runner(targets=TARGETS), chain, [TORCH])[0])

    def test_an_infinite_input_is_no_breakage(self, fake_runner: Any, chain: Case) -> None:
        """What the case itself gives is the same everywhere; only what a layer made of it hides those behind."""
        inputs = {name: np.full_like(array, np.inf) for name, array in chain.inputs.items()}
        checked, _ = examine_case(
            fake_runner(targets=TARGETS, planted={TORCH: {"e0": np.zeros_like}}), replace(chain, inputs=inputs), TARGETS
        )
        (suspicion,) = checked.suspicions
        assert (suspicion.diagnosis.node, suspicion.diagnosis.suspects) == ("e0#0", (TORCH,))

    def test_a_step_excuses_its_own_output_alone(self, fake_runner: Any) -> None:
        build = GraphBuilder()
        dense = build.add("Dense", build.input("x", (3,)), name="dense", units=3)
        elu, level = build.add("ELU", dense, name="elu"), build.add("Discretization", dense, name="level", **LEVELS)
        both = case_of(build.build(elu, level))
        runner = fake_runner(targets=TARGETS, whole={TORCH: wrong})
        (suspicion,) = examine_case(runner, both, TARGETS)[0].suspicions
        assert suspicion.diagnosis.suspects == (TORCH,)
        stepped = replace(both, subject=replace(both.subject, outputs=(level,)))  # type: ignore[type-var]
        assert _is_well(*examine_cases(runner, [stepped], TARGETS))

    def test_several_cases_in_one_round_trip(self, runner: Any, chain: Case) -> None:
        single = reduce_suspicion(
            examiner(runner), examine_case(runner, chain, TARGETS)[0].suspicions[0], ReductionBudget()
        ).case
        right = replace(single, inputs={name: array + 1 for name, array in single.inputs.items()})
        runner.ran.clear()
        checked = examine_cases(runner, [single, right], TARGETS)
        assert [len(item.suspicions) for item in checked] == [1, 1]
        assert len(runner.ran) == 6


@dataclass(frozen=True)
class AnswersFromMemory:
    """A runner that holds everything to hang on one target, unless it is told to ask."""

    inner: Any

    @property
    def targets(self) -> Any:
        return self.inner.targets

    def run_pairs(self, pairs: Any, **how: Any) -> list[Outcome]:
        hung = Failure("Deadline", "no answer, and no CPU time used for 5 s")
        outcomes = self.inner.run_pairs(pairs, **how)
        return [Outcome(TORCH, Status.TIMED_OUT, failure=hung) if o.target == TORCH else o for o in outcomes]

    def asking_all(self) -> Any:
        return self.inner


class TestReducing:
    def test_what_is_known_to_hang_is_asked_all_the_same(self, fake_runner: Any, chain: Case) -> None:
        """A layer that hangs on some numbers and raises on others keeps the second finding's reduction."""
        runner = fake_runner(targets=TARGETS, raising={TORCH: ["d23"]})
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        remembering = AnswersFromMemory(runner)
        settings = ReducingSettings(scripts=False, descending=0.0)
        (item,) = Preparation(runner, examiner(remembering), settings).prepare([suspicion])
        assert item.is_reduced, item.suspicion.not_reduced
        assert item.suspicion.key == suspicion.key

    def test_the_chain_in_few_checks(self, runner: Any, chain: Case) -> None:
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        reduction = reduce_suspicion(examiner(runner), suspicion, ReductionBudget())
        assert isinstance(reduction.case.subject, LayerGraph)
        (node,) = reduction.case.subject.nodes
        assert (node.name, dict(node.params)) == ("d23", {"units": 1})
        assert reduction.checks < 11
        assert {array.shape for array in reduction.case.arrays().values()} == {(1, 1), (1,)}

    def test_where_the_one_that_is_right_cannot_run_it_the_others_are_asked(
        self, fake_runner: Any, chain: Case
    ) -> None:
        runner = fake_runner(targets=TARGETS, raising={TORCH: ["d23"]}, ends={TF: Status.UNSUPPORTED})
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        assert needed_targets(suspicion, traits_of(TARGETS)) == [TORCH, TF]
        reduction = reduce_suspicion(examiner(runner), suspicion, ReductionBudget())
        assert reduction.suspicion is not None
        assert reduction.suspicion.diagnosis.suspects == (TORCH,)

    def test_who_answers_by_chance_is_reduced_as_wrong_whatever_it_answers(self, fake_runner: Any, chain: Case) -> None:
        answers = itertools.cycle([np.nan, 7.0, np.nan])

        def by_chance(output: Any) -> Any:
            return np.full_like(output, next(answers))

        runner = fake_runner(targets=TARGETS, planted={TORCH: {"d23": by_chance}})
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        (note,) = two_answers((TORCH,), {}, {TORCH: answering(1.0)}, {TORCH: answering(2.0)})
        wavering = replace(suspicion, diagnosis=unsteady(suspicion.diagnosis, note))
        reduction = reduce_suspicion(examiner(runner), wavering, ReductionBudget())
        assert reduction.suspicion is not None
        assert reduction.suspicion.kind is Kind.INCONSISTENCY
        assert len(reduction.case.subject.nodes) == 1  # type: ignore[union-attr]

    def test_only_needed_targets_are_asked(self, runner: Any, chain: Case) -> None:
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        assert needed_targets(suspicion, traits_of(TARGETS)) == [TORCH, TF]
        backward = replace(suspicion, case=replace(chain, procedure=Procedure(goal=Goal.GRADIENTS)))
        assert needed_targets(backward, traits_of(TARGETS)) == list(TARGETS)
        shared = replace(suspicion, diagnosis=replace(suspicion.diagnosis, suspects=("keras",)))
        assert needed_targets(shared, traits_of(TARGETS)) == [TORCH, TF]

    def test_the_others_must_say_the_same(self, fake_runner: Any, chain: Case) -> None:
        """A reduction that would blame more than before is done again with everybody."""

        def sometimes(output: Any) -> Any:
            return wrong(output) if output.size == 1 else output

        planted = {TORCH: {"d23": wrong}, JAX: {"d23": sometimes}}
        runner = fake_runner(targets=TARGETS, planted=planted)
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        reduction = reduce_suspicion(examiner(runner), suspicion, ReductionBudget())
        assert reduction.suspicion is not None
        assert reduction.suspicion.diagnosis.suspects == (TORCH,)
        assert len(reduction.case.inputs["e22"]) * reduction.case.subject.nodes[0].params["units"] > 1  # type: ignore[union-attr]

    def test_another_defect_on_the_way_is_filed(self, fake_runner: Any) -> None:
        build = GraphBuilder()
        x = build.add("Dense", build.input("x", (3,)), name="d", units=3)
        case = case_of(build.build(build.add("ELU", x, name="e")))
        runner = fake_runner(targets=TARGETS, planted={TORCH: {"d": wrong}, JAX: {"e": wrong}})
        first = next(s for s in examine_case(runner, case, TARGETS)[0].suspicions if s.diagnosis.node == "d#0")
        preparation = preparing(runner, ReducingSettings(scripts=False))
        prepared = preparation.prepare([first])
        assert [item.suspicion.diagnosis.suspects for item in prepared] == [(TORCH,)]
        both = preparing(runner, ReducingSettings(scripts=False)).prepare([replace(first, targets=TARGETS)])
        assert len(both) == len(prepared)

    def test_what_does_not_show_alone_is_filed_as_it_was(self, fake_runner: Any, chain: Case) -> None:
        healthy = fake_runner(targets=TARGETS)
        suspicion = Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.DEFECT, (TORCH,), api="x.y"), chain, TARGETS)
        prepared = prepared_alone(healthy, suspicion)
        assert prepared.suspicion.case is chain
        assert sentences(prepared.suspicion.diagnosis) == ("not reduced: alone, it does not fail in the same way",)
        finding = make_finding(prepared.suspicion, "cradle", {}, "m")
        assert (finding.reduced, finding.not_reduced) == (False, "alone, it does not fail in the same way")

    def test_an_exporter_is_shown_by_the_whole_file(self, fake_runner: Any, chain: Case) -> None:
        runner = fake_runner(targets=TARGETS)
        suspicion = Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.DEFECT, ("exporter:torch.onnx",)), chain, TARGETS)
        prepared = prepared_alone(runner, suspicion)
        assert runner.ran == []
        assert prepared.suspicion.case is chain
        said = "not reduced, shown by the model file: torch.onnx takes no layers of ours"
        assert sentences(prepared.suspicion.diagnosis)[-1] == said

    def test_classes_that_blame_nobody_are_not_reduced(self, fake_runner: Any, chain: Case) -> None:
        runner = fake_runner(targets=TARGETS)
        suspicion = Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.PRECISION), chain, TARGETS)
        preparing(runner, ReducingSettings(scripts=False)).prepare([suspicion])
        assert not runner.ran

    def test_a_bug_of_ours_costs_one_finding_its_reduction(
        self, fake_runner: Any, chain: Case, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def breaks(*args: Any) -> Any:
            raise ZeroDivisionError("by none")

        monkeypatch.setattr("tensorparity.triage.reduction.preparation.reduce_suspicion", breaks)
        runner = fake_runner(targets=TARGETS)
        suspicion = Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.DEFECT, (TORCH,), api="x.y"), chain, TARGETS)
        (prepared,) = preparing(runner, ReducingSettings(scripts=False)).prepare([suspicion])
        assert prepared.suspicion.case is chain
        (remark,) = sentences(prepared.suspicion.diagnosis)
        assert remark.startswith("not reduced: a bug in tensorparity (test_reducing.py, line ")
        assert remark.endswith("): ZeroDivisionError: by none")

    def test_a_crash_keeps_its_key(self, fake_runner: Any, chain: Case) -> None:
        runner = fake_runner(targets=TARGETS, raising={TORCH: ["d23"]})
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        reduction = reduce_suspicion(examiner(runner), suspicion, ReductionBudget())
        assert reduction.suspicion is not None
        assert reduction.suspicion.key == suspicion.key
        assert len(reduction.case.subject.nodes) == 1  # type: ignore[union-attr]


class TestMetOnTheWay:
    def met(self, runner: Any, chain: Case) -> Suspicion:
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        return suspicion

    def test_what_shows_again_is_a_defect(self, runner: Any, chain: Case) -> None:
        found = self.met(runner, chain)
        runner.ran.clear()
        assert [s.diagnosis.klass for s in confirm_suspicions(examiner(runner), [found])] == [Class.DEFECT]
        assert all(ran.fresh for ran in runner.ran)

    def test_what_does_not_is_flaky(self, fake_runner: Any, chain: Case) -> None:
        runner = fake_runner(targets=TARGETS, planted={TORCH: {"d23": wrong}}, only_once=True)
        (again,) = confirm_suspicions(examiner(runner), [self.met(runner, chain)])
        assert again.diagnosis.klass is Class.FLAKY
        assert sentences(again.diagnosis)[-1] == "did not fail again in fresh processes"

    def test_a_hang_is_left_out(self, fake_runner: Any, chain: Case) -> None:
        runner = fake_runner(targets=TARGETS, ends={TORCH: Status.TIMED_OUT})
        hang = self.met(runner, chain)
        assert hang.kind is Kind.HANG
        assert confirm_suspicions(examiner(runner), [hang]) == []


class TestFiling:
    def prepared(self, runner: Any, chain: Case) -> Any:
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        return prepared_alone(runner, suspicion)

    def test_identity_is_of_the_sighting_and_signature_of_the_reduced_case(self, runner: Any, chain: Case) -> None:
        item = self.prepared(runner, chain)
        found = make_finding(item.suspicion, "cradle", {}, "m", item.original)
        assert found.id == make_finding(item.original, "cradle", {}, "m").id
        assert found.signature == item.suspicion.signature
        assert found.diagnosis.node == "d23#0"
        assert any(sentence.startswith("reduced from 40 nodes and ") for sentence in sentences(found.diagnosis))
        assert (found.reduced, found.not_reduced) == (True, "")
        assert make_finding(item.original, "cradle", {}, "m").reduced is None

    def test_seeds_and_shapes_make_no_other_defect(self, fake_runner: Any) -> None:
        signatures = set()
        for seed, size in ((0, 5), (1, 7), (2, 4)):
            build = GraphBuilder()
            x = build.add("Dense", build.input("x", (size,)), name="d", units=size + 1, activation="tanh")
            case = case_of(build.build(build.add("ReLU", x)), seed)
            runner = fake_runner(targets=TARGETS, planted={TORCH: {"Dense": wrong}})
            (suspicion,) = examine_case(runner, case, TARGETS)[0].suspicions
            signatures.add(
                prepare_one(runner, examiner(runner), suspicion, ReductionBudget(), scripts=False).suspicion.signature
            )
        assert len(signatures) == 1

    def test_accusations_of_one_defect_are_one_once_they_are_reduced(self, fake_runner: Any) -> None:
        build = GraphBuilder()
        x = build.add("Dense", build.input("x", (5,)), name="one", units=4, activation="tanh")
        case = case_of(build.build(build.add("Dense", x, name="two", units=3)))
        runner = fake_runner(targets=TARGETS, planted={TORCH: {"Dense": wrong}})
        suspicions = examine_case(runner, case, TARGETS)[0].suspicions
        assert len({suspicion.signature for suspicion in suspicions}) == 2
        prepared = preparing(runner, ReducingSettings(scripts=False)).prepare(suspicions)
        findings = [make_finding(item.suspicion, "cradle", {}, "m", item.original) for item in prepared]
        assert len({finding.id for finding in findings}) == 2, "each is kept as it was seen"
        assert len(distinct(findings)) == 1

    def test_two_accusations_of_one_layer_type_are_seen_again(self, fake_runner: Any) -> None:
        build = GraphBuilder()
        x = build.add("Dense", build.input("x", (5,)), name="one", units=4, activation="tanh")
        case = case_of(build.build(build.add("Dense", x, name="two", units=3)))
        runner = fake_runner(targets=TARGETS, planted={TORCH: {"Dense": wrong}})
        suspicions = examiner(runner).agree([look(runner, case, TARGETS) for _ in range(2)])
        assert [suspicion.diagnosis.klass for suspicion in suspicions] == [Class.DEFECT, Class.DEFECT]

    def test_one_reduction_for_two_sightings(self, runner: Any, chain: Case) -> None:
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        preparation = preparing(runner, ReducingSettings(scripts=False))
        (first,) = preparation.prepare([suspicion])
        runner.ran.clear()
        (second,) = preparation.prepare([replace(suspicion)])
        assert not runner.ran
        assert second.suspicion.signature == first.suspicion.signature

    def test_figures_of_one_class_are_reduced_once(self, fake_runner: Any) -> None:
        runner = fake_runner(targets=TARGETS, planted={TORCH: {"Dense": wrong}})
        suspicions = []
        for units in (2, 10, 3):
            build = GraphBuilder()
            case = case_of(build.build(build.add("Dense", build.input("x", (4,)), name="d", units=units)))
            suspicions += examine_case(runner, case, TARGETS)[0].suspicions
        ids = [make_finding(suspicion, "muffin", {}, "keras.layers.Dense").id for suspicion in suspicions]
        assert ids[0] == ids[1] != ids[2], "two even numbers are one finding, an odd one another"
        prepared = preparing(runner, ReducingSettings(scripts=False)).prepare(suspicions)
        assert [item.reduction is not None for item in prepared] == [True, False, False]
        assert len({item.explained_by or item.suspicion.signature for item in prepared}) == 1

    def test_the_script_of_the_first_sighting_stays(self, runner: Any, chain: Case) -> None:
        item = self.prepared(runner, chain)
        finding = make_finding(item.suspicion, "cradle", {}, "m", item.original)
        first, second = (replace(item, reproducer=Reproducer(text, True)) for text in ("# first\n", "# second\n"))
        assert "first" in scripts_of([finding, finding], [first, second])[finding.id]

    def test_the_time_for_all_is_bounded(self, runner: Any, chain: Case) -> None:
        (suspicion,) = examine_case(runner, chain, TARGETS)[0].suspicions
        (item,) = preparing(runner, ReducingSettings(seconds=0.0)).prepare([suspicion])
        *_, why, parameters = sentences(item.suspicion.diagnosis)
        assert why == "not reduced: the time for reducing was used up"
        assert parameters.startswith("no single parameter is guilty"), "which are guilty is said all the same"


class TestSeveralAtATime:
    def suspicions(self, fake_runner: Any) -> tuple[Any, list[Suspicion]]:
        """Of six layers, of which none says anything about another."""
        ops = ("ReLU", "ELU", "LeakyReLU", "Softmax", "Flatten", "LayerNormalization")
        return self.of_layers(fake_runner, [(op, {}) for op in ops])

    def sightings(self, fake_runner: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Suspicion]]:
        """Six of one layer, none of which is explained."""
        monkeypatch.setattr(Explanations, "of", lambda self, suspicions: [])
        activations = ("relu", "tanh", "sigmoid", "elu", "softplus", "selu")
        return self.of_layers(fake_runner, [("Dense", {"units": 3, "activation": name}) for name in activations])

    def of_layers(self, fake_runner: Any, layers: Sequence[tuple[str, dict[str, Any]]]) -> tuple[Any, list[Suspicion]]:
        runner = fake_runner(targets=TARGETS, planted={TORCH: {op: wrong for op, _ in layers}})
        found: list[Suspicion] = []
        for index, (op, params) in enumerate(layers):
            build = GraphBuilder()
            x = build.add(op, build.input("x", (4,)), name=f"d{index}", **params)
            found += examine_case(runner, case_of(build.build(x)), TARGETS)[0].suspicions
        assert len(found) == len(layers)
        return runner, found

    def test_they_come_back_in_their_order(self, fake_runner: Any) -> None:
        runner, suspicions = self.suspicions(fake_runner)
        prepared = preparing(runner, ReducingSettings(scripts=False)).prepare(suspicions)
        assert [item.original for item in prepared] == suspicions
        assert all(item.reduction is not None for item in prepared)

    def test_all_are_reduced_before_any_is_finished(self, fake_runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        runner, suspicions = self.sightings(fake_runner, monkeypatch)
        preparation, done = preparing(runner, ReducingSettings(scripts=False)), []
        finish = "tensorparity.triage.reduction.preparation.finish_one"
        monkeypatch.setattr(finish, lambda local, examiner, item, *_: done.append(item) or replace(item, open=False))
        reduced = preparation.reduce(suspicions, finish=False)
        assert (len(reduced), done) == (len(suspicions), [])
        assert all(item.is_reduced and item.open for item in reduced)
        finished = preparation.finished(reduced)
        assert len({item.suspicion.signature for item in reduced}) == len(done) == 1, "one script for one defect"
        assert [item.open for item in finished] == [False, *(True for _ in suspicions[1:])]
        preparation.finished(reduced[1:])
        assert len(done) == 1

    def test_what_was_reduced_has_a_script_that_nobody_ran_where_time_ends(self, fake_runner: Any) -> None:
        runner, suspicions = self.suspicions(fake_runner)
        limit = TimeLimit()
        preparation = Preparation(runner, examiner(runner), ReducingSettings(), time_limit=limit)
        reduced = preparation.reduce(suspicions[:1], finish=False)
        limit.at = time.monotonic()
        (item,) = preparation.finished(reduced)
        assert item.is_reduced
        assert item.reproducer is not None
        assert (item.reproducer.verified, "import keras" in item.reproducer.text) == (False, True)
        said = "reproducer not verified: it was not run, for the time was used up"
        assert sentences(item.suspicion.diagnosis)[-1] == said

    def test_they_overlap(self, fake_runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        runner, suspicions = self.suspicions(fake_runner)
        met = threading.Barrier(2, timeout=30)  # one alone would wait for ever

        def reduce(*given: Any) -> Any:
            met.wait()
            return reduce_suspicion(*given)

        monkeypatch.setattr("tensorparity.triage.reduction.preparation.reduce_suspicion", reduce)
        prepared = preparing(runner, ReducingSettings(scripts=False)).prepare(suspicions)
        assert all(item.reduction is not None for item in prepared)

    def test_an_interruption_stops_what_is_under_way(self, fake_runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        runner, suspicions = self.suspicions(fake_runner)
        interrupted, ended = threading.Event(), threading.Event()

        def reduce(stoppable: Any, suspicion: Suspicion, budget: ReductionBudget) -> Any:
            if suspicion is suspicions[0]:
                raise KeyboardInterrupt
            interrupted.wait(30)
            try:
                return stoppable.runner.run_pairs([(suspicion.case, TORCH)])
            except RuntimeError:
                ended.set()
                raise

        monkeypatch.setattr("tensorparity.triage.reduction.preparation.reduce_suspicion", reduce)
        with pytest.raises(KeyboardInterrupt):
            preparing(runner, ReducingSettings(scripts=False)).prepare(suspicions)
        interrupted.set()
        assert ended.wait(30)

    def test_what_is_met_by_several_is_confirmed_once_for_all(self, fake_runner: Any) -> None:
        build = GraphBuilder()
        x = build.add("Dense", build.input("x", (3,)), name="d", units=3)
        case = case_of(build.build(build.add("ELU", x, name="e")))
        runner = fake_runner(targets=TARGETS, planted={TORCH: {"d": wrong, "e": wrong}})
        first = next(s for s in examine_case(runner, case, TARGETS)[0].suspicions if s.diagnosis.node == "d#0")
        preparation = preparing(runner, ReducingSettings(scripts=False))
        runner.ran.clear()
        preparation.reduce([first])
        assert not any(ran.fresh for ran in runner.ran)
        met = preparation.met()
        assert [item.suspicion.diagnosis.api for item in met] == ["keras.layers.ELU"]
        assert any(ran.fresh for ran in runner.ran)
        assert preparation.met() == []


def test_what_ends_a_process_is_checked_less_often(fake_runner: Any, chain: Case) -> None:
    runner = fake_runner(targets=TARGETS, ends={TORCH: Status.CRASHED})
    suspicion = next(iter(examine_case(runner, chain, TARGETS)[0].suspicions))
    assert suspicion.kind is Kind.CRASH
    assert reduce_suspicion(examiner(runner), suspicion, ReductionBudget(checks=1000)).checks <= 30


class TestRepeats:
    def checked(self, runner: Any, chain: Case) -> Examined:
        return look(runner, chain, TARGETS)

    def test_what_fails_each_time(self, runner: Any, chain: Case) -> None:
        suspicions = examiner(runner).agree([self.checked(runner, chain)] * 2)
        assert [s.diagnosis.klass for s in suspicions] == [Class.DEFECT]

    def test_what_fails_once_is_flaky(self, runner: Any, chain: Case) -> None:
        nothing = Examined(Ask(chain), ({},), Judged())
        for looks in ([self.checked(runner, chain), nothing], [nothing, self.checked(runner, chain)]):
            (suspicion,) = examiner(runner).agree(looks)
            assert suspicion.diagnosis.klass is Class.FLAKY
            assert suspicion.diagnosis.observations[-1].code == "sometimes"

    def test_another_key_is_another_failure(self, runner: Any, chain: Case) -> None:
        first = self.checked(runner, chain)
        (defect,) = first.judged.suspicions
        other = replace(defect, kind=Kind.SHAPE)
        second = replace(first, judged=replace(first.judged, suspicions=(other,)))
        found = examiner(runner).agree([first, second])
        assert [(s.kind, s.diagnosis.klass) for s in found] == [
            (defect.kind, Class.FLAKY),
            (Kind.SHAPE, Class.FLAKY),
        ]

    def test_other_parameters_are_the_same_failure(self, runner: Any, chain: Case) -> None:
        first = self.checked(runner, chain)
        (defect,) = first.judged.suspicions
        other = replace(defect, diagnosis=replace(defect.diagnosis, parameters={"units": 1}))
        assert other.signature != defect.signature
        second = replace(first, judged=replace(first.judged, suspicions=(other,)))
        assert examiner(runner).agree([first, second]) == [defect]


def test_hangs_are_asked_again_at_ten_times_their_deadline(fake_runner: Any, chain: Case) -> None:
    runner = fake_runner(targets=TARGETS, ends={TORCH: Status.TIMED_OUT})
    examine_case(runner, chain, TARGETS, fresh=True)
    assert [ran.deadline_factor for ran in runner.ran if ran.target == TORCH][:2] == [1.0, 10.0]
