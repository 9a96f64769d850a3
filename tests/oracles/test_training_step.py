"""``fuzz`` without any library: targets that compute by the references, one of them wrong in one layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.jsontext import canonical
from tensorparity.core.model import node_inputs
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.policies import cast, policy_named
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.core.signature import value_classes
from tensorparity.core.verdict import Judgement, Kind, Stage
from tensorparity.engines.muffin.tables import NetworkTally
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.operators.masks_and_states import MasksAndStates
from tensorparity.operators.reference.evaluate import draw_weights, evaluate_node
from tensorparity.oracles.measure.steps import loss_of
from tensorparity.reporting.words import sentences
from tensorparity.triage.confirm import HANG_FACTOR

from ..stepping import ExaminedSteps

TARGETS = ("keras:one", "keras:two", "keras:three")
FAMILIES = dict.fromkeys(TARGETS, "keras")
Spoil = Callable[[str, str, np.ndarray], np.ndarray]


class ReferenceRunner:
    """Targets compute in float64 and round to the dtype of the policy; ``spoil`` may change what a layer gives."""

    targets = TARGETS

    def __init__(self, spoil: Spoil = lambda target, op, value: value, flaky: bool = False) -> None:
        self._spoil = spoil
        self._flaky = flaky
        self.fresh_runs = 0

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], *, fresh=False, deadline_factor=1.0, on_outcome=None):
        self.fresh_runs += fresh
        return [self._run(case, target, fresh) for case, target in pairs]

    def steady(self) -> None:
        """From now on fresh workers do as the others."""
        self._flaky = False

    def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
        nodes: dict[str, np.ndarray] = {}
        by_name: dict[str, np.ndarray] = {}
        beside = MasksAndStates()
        for node in case.subject.nodes:
            given = node_inputs(case.subject, node, case.inputs, nodes)
            procedure = case.procedure
            outputs = evaluate_node(
                node, given, case.weights, training=procedure.training, dtype=procedure.dtype, beside=beside
            )
            for index, output in enumerate(outputs):
                value = cast(output.value, policy_named(procedure.dtype).compute)
                if not (fresh and self._flaky):
                    try:
                        value = self._spoil(target, node.op, value)
                    except ArithmeticError as error:
                        failure = Failure("ArithmeticError", str(error), node.key)
                        return Outcome(target, Status.RAISED, failure=failure)
                suffix = f".{index}" if index else ""
                nodes[node.key + suffix] = by_name[node.name + suffix] = value
        names = [ref.node + (f".{ref.index}" if ref.index else "") for ref in case.subject.outputs]
        outputs = {name: by_name[name] for name in names}
        outcome = Outcome(target, Status.COMPLETED, outputs, Trace(nodes))
        reference = loss_of(case, outcome) if case.procedure.loss else None
        return outcome if reference is None else replace(outcome, trace=Trace(nodes, float(reference.value)))


def generated(count: int, goal: Goal = Goal.FORWARD) -> list[Case]:
    generator = NetworkGenerator(1, NetworkSettings(max_vertices=6, goal=goal))
    return [generator.next().case for _ in range(count)]


def examined(spoil: Spoil, *, flaky: bool = False, oracle: str = "parity", count: int = 14):
    runner = ReferenceRunner(spoil, flaky)
    examiner = ExaminedSteps(runner, TARGETS, FAMILIES, oracle=oracle)
    steps = examiner.examine(generated(count))
    return steps, examiner.confirm(), runner


def dense_off(target: str, op: str, value: np.ndarray) -> np.ndarray:
    return value * np.float32(1.5) if (target, op) == ("keras:two", "Dense") else value


def test_nothing_is_found_where_nothing_is_wrong():
    steps, found, runner = examined(lambda target, op, value: value)
    assert found == []
    assert {verdict.judgement for step in steps for verdict in step.verdicts} == {Judgement.PASS}
    assert runner.fresh_runs == 0


def test_a_wrong_layer_is_found_blamed_and_confirmed_once():
    steps, found, runner = examined(dense_off)
    assert {(s.diagnosis.klass, s.diagnosis.suspects, s.diagnosis.api, s.stage) for s in found} == {
        (Class.DEFECT, ("keras:two",), "keras.layers.Dense", Stage.FORWARD)
    }
    assert runner.fresh_runs == 1, "all convictions are confirmed by one set of fresh workers"
    seen = Counter(canonical(value_classes(s.diagnosis.parameters)) for s in found)
    assert max(seen.values()) <= 2, "what is known is not tried again and again"
    assert len(found) <= 8, "not even with other parameters"
    failed = [v for step in steps for v in step.verdicts if v.failed]
    assert failed
    assert all("keras:two" in verdict.targets for verdict in failed)


def test_one_defect_of_a_layer_does_not_hide_another():
    """All pooling is wrong by a little; with strides it is NaN besides."""
    nodes = [("plain", {}), ("plain again", {}), ("plain once more", {}), ("strides", {"strides": 1})]
    cases = []
    for name, params in nodes:
        builder = GraphBuilder(name)
        y = builder.add("AveragePooling1D", builder.input("x", (6, 2)), name="pool", pool_size=2, **params)
        cases.append(Case(builder.build(y), inputs={"x": np.ones((1, 6, 2), np.float32)}))

    def wrong(target, op, value):
        if (target, op) != ("keras:two", "AveragePooling1D"):
            return value
        return value * np.float32(np.nan if value.shape[1] == 5 else 1.5)

    examiner = ExaminedSteps(ReferenceRunner(wrong), TARGETS, FAMILIES)
    steps = [examiner.examine([case])[0] for case in cases]
    found = examiner.confirm()
    assert [s.kind for s in found] == [Kind.INCONSISTENCY, Kind.INCONSISTENCY, Kind.NAN]
    assert steps[2].known


def test_a_layer_that_all_have_wrong_is_the_shared_code():
    _, found, _ = examined(lambda target, op, value: value + 1 if op == "Dense" else value)
    assert {s.diagnosis.suspects for s in found} == {("keras",)}


def test_what_does_not_fail_again_is_flaky():
    _, found, _ = examined(dense_off, flaky=True)
    assert {s.diagnosis.klass for s in found} == {Class.FLAKY}


def test_noise_that_is_always_wrong_says_so():
    rng = np.random.default_rng(0)

    def noisy(target, op, value):
        return (
            value + rng.uniform(1, 2, value.shape).astype(np.float32)
            if (target, op) == ("keras:two", "Dense")
            else value
        )

    _, found, _ = examined(noisy)
    assert {s.diagnosis.klass for s in found} == {Class.DEFECT}
    assert {sentences(s.diagnosis)[-1] for s in found} == {"keras:two gives two different answers on the same case"}


def test_a_suspect_that_recovers_is_not_blamed():
    def recovering(target, op, value):
        if op == "Activation" and (target == "keras:three" or (target == "keras:two" and runner.fresh_runs == 0)):
            raise ArithmeticError("cannot")
        return value

    runner = ReferenceRunner(recovering)
    examiner = ExaminedSteps(runner, TARGETS, FAMILIES)
    examiner.examine(generated(14))
    found = examiner.confirm()
    assert found
    assert {s.diagnosis.klass for s in found} == {Class.FLAKY}


def test_a_hang_is_confirmed_at_ten_times_its_deadline():
    factors = []

    class Slow(ReferenceRunner):
        """The dense layer takes too long for the deadline, and not for ten of them."""

        def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None):
            factors.append((fresh, deadline_factor))
            self._patient = deadline_factor > 1
            return super().run_pairs(pairs, fresh=fresh, deadline_factor=deadline_factor)

        def _run(self, case, target, fresh):
            dense = next((node for node in case.subject.nodes if node.op == "Dense"), None)
            if target == "keras:two" and dense and not self._patient:
                return Outcome(target, Status.TIMED_OUT, failure=Failure("Deadline", "too slow", dense.key))
            return super()._run(case, target, fresh)

    examiner = ExaminedSteps(Slow(), TARGETS, FAMILIES)
    examiner.examine(generated(14))
    found = examiner.confirm()
    assert {(s.kind, s.diagnosis.klass) for s in found} == {(Kind.HANG, Class.FLAKY)}
    assert (True, HANG_FACTOR) in factors


def percentages() -> Case:
    """Predictions around 1 for labels of 1e-5: a last bit of a prediction is a whole percent."""
    builder = GraphBuilder("percentages")
    graph = builder.build(builder.add("Activation", builder.input("x", (2,)), name="y", activation="linear"))
    procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanAbsolutePercentageError"))
    x = np.array([[1.0, 1.5], [0.75, 1.25]], np.float32)
    return Case(graph, procedure, {"x": x}, {"y": np.full((2, 2), 1e-5, np.float32)})


def last_bit(target: str, op: str, value: np.ndarray) -> np.ndarray:
    return np.nextafter(value, np.float32(9)) if target == "keras:two" else value


def test_the_papers_false_positive_is_not_reported():
    examiner = ExaminedSteps(ReferenceRunner(last_bit), TARGETS, FAMILIES)
    (step,) = examiner.examine([percentages()])
    assert any(item.stage is Stage.LOSS and item.distance > 0.15 for item in step.inconsistent), "by the paper's rule"
    assert {verdict.judgement for verdict in step.verdicts} == {Judgement.PASS}
    assert examiner.confirm() == []


def with_nan(op: str) -> Case:
    builder = GraphBuilder("edges")
    graph = builder.build(builder.add(op, builder.input("x", (3, 2)), name="y"))
    x = np.array([[[np.nan, 1.0], [3.0, 2.0], [0.0, 5.0]]], np.float32)
    return Case(graph, Procedure(trace=True), {"x": x})


def test_a_layer_that_loses_nan_is_found_unless_all_do():
    def loses(guilty):
        return lambda target, op, value: np.nan_to_num(value, nan=3.0) if target in guilty else value

    for guilty, blamed in ((("keras:two",), {("keras:two",)}), (TARGETS, set())):
        examiner = ExaminedSteps(ReferenceRunner(loses(guilty)), TARGETS, FAMILIES)
        examiner.examine([with_nan("GlobalMaxPooling1D")])
        assert {s.diagnosis.suspects for s in examiner.confirm() if s.kind is Kind.NAN} == blamed


def test_the_papers_oracle_votes():
    _, found, runner = examined(dense_off, oracle="muffin")
    assert {(s.diagnosis.klass, s.diagnosis.suspects) for s in found} == {(Class.DEFECT, ("keras:two",))}
    assert {s.diagnosis.measure.name for s in found} == {"chebyshev"}
    assert runner.fresh_runs == 1


def test_the_papers_inconsistencies_are_seen_again_or_flaky():
    _, found, _ = examined(dense_off, oracle="muffin", flaky=True)
    assert found
    assert {s.diagnosis.klass for s in found} == {Class.FLAKY}


def test_what_was_flaky_by_the_papers_rule_is_counted_like_anything_else():
    """When it is confirmed depends on timing, so that what comes next must not depend on it."""
    runner = ReferenceRunner(dense_off, flaky=True)
    examiner = ExaminedSteps(runner, TARGETS, FAMILIES, oracle="muffin")
    cases = generated(14)
    examiner.examine(cases)
    assert {s.diagnosis.klass for s in examiner.confirm()} == {Class.FLAKY}
    runner.steady()
    assert not examiner.examine(cases)[-1].convicted
    assert examiner.confirm() == []


@pytest.mark.parametrize("again", ["keras:one", "keras:three"])
def test_another_vote_is_no_confirmation(again):
    """Whoever is odd when the network is run again, the first was not confirmed."""

    def moving(target, op, value):
        guilty = again if runner.fresh_runs else "keras:two"
        return value * np.float32(1.5) if (target, op) == (guilty, "Dense") else value

    runner = ReferenceRunner(moving)
    examiner = ExaminedSteps(runner, TARGETS, FAMILIES, oracle="muffin")
    examiner.examine(generated(14))
    assert {s.diagnosis.klass for s in examiner.confirm()} == {Class.FLAKY}


def test_without_a_majority_the_papers_oracle_blames_nobody():
    runner = ReferenceRunner(dense_off)
    examiner = ExaminedSteps(runner, TARGETS[:2], FAMILIES, oracle="muffin")
    steps = examiner.examine(generated(14))
    found = examiner.confirm()
    assert {(s.diagnosis.klass, s.diagnosis.suspects) for s in found} == {(Class.PRECISION, ())}
    assert {sentences(s.diagnosis)[-1] for s in found} == {"there is no majority to say which of them is wrong"}
    assert any(verdict.failed for step in steps for verdict in step.verdicts), "the pair is inconsistent all the same"


def test_the_whole_network_is_run_again_only_as_far_as_a_target_can():
    goals = []

    class Watched(ReferenceRunner):
        def _run(self, case, target, fresh):
            goals.append((fresh, target, case.procedure.goal))
            spoiled = super()._run(case, {"keras:tensorflow": "keras:two"}.get(target, target), fresh)
            return replace(spoiled, target=target)

    targets = ("keras:tensorflow", "keras:torch", "keras:jax", "onnxruntime")
    examiner = ExaminedSteps(Watched(dense_off), targets, {}, oracle="muffin")
    examiner.examine(generated(8, Goal.GRADIENTS))
    assert {found.diagnosis.klass for found in examiner.confirm()} == {Class.DEFECT}
    assert {goal for fresh, target, goal in goals if fresh and target == "onnxruntime"} == {Goal.FORWARD}
    assert {goal for fresh, target, goal in goals if fresh and target == "keras:torch"} == {Goal.GRADIENTS}


def test_a_layer_that_raises_is_found_alone():
    def raises(target, op, value):
        if (target, op) == ("keras:three", "Activation"):
            raise ArithmeticError("cannot do 12 of 'x'")
        return value

    steps, found, _ = examined(raises)
    assert {(s.kind, s.diagnosis.suspects, s.diagnosis.api) for s in found} == {
        (Kind.ERROR, ("keras:three",), "keras.layers.Activation")
    }
    assert all(len(s.case.subject.nodes) == 1 for s in found)
    assert any(step.known for step in steps)


class AfterRescaling(ReferenceRunner):
    """Its third target cannot run Dense behind Rescaling; alone it can."""

    def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
        dense = next((node for node in case.subject.nodes if node.op == "Dense"), None)
        behind = any(node.op == "Rescaling" for node in case.subject.nodes)
        if target == "keras:three" and dense is not None and behind:
            return Outcome(target, Status.RAISED, failure=Failure("ValueError", "no such mask", dense.key))
        if case.procedure.goal is Goal.REPLAY:
            return Outcome(target, Status.COMPLETED)
        return super()._run(case, target, fresh)


def test_a_layer_that_raises_behind_another_only_is_named_and_cut_out():
    builder = GraphBuilder("behind")
    scaled = builder.add("Rescaling", builder.input("x", (3,)), scale=0.5)
    dense = builder.add("Dense", scaled, name="guilty", units=2)
    graph = builder.build(builder.add("ReLU", builder.add("Flatten", dense)))
    x = np.ones((2, 3), np.float32)
    case = Case(graph, Procedure(trace=True), {"x": x}, weights=draw_weights(graph, np.random.default_rng(0)))
    examiner = ExaminedSteps(AfterRescaling(), TARGETS, FAMILIES)
    examiner.examine([case])
    (found,) = examiner.confirm()
    assert (found.kind, found.diagnosis.suspects, found.diagnosis.api, found.diagnosis.node) == (
        Kind.ERROR,
        ("keras:three",),
        "keras.layers.Dense",
        "guilty#0",
    )
    assert [node.op for node in found.case.subject.nodes] == ["Rescaling", "Dense"]


def test_a_documented_lack_is_counted_and_not_reported():
    def lacks(target, op, value):
        if (target, op) == ("keras:one", "Dense"):
            raise ArithmeticError("Current implementations do not yet support 3 of these")
        return value

    steps, found, _ = examined(lacks)
    assert found == []
    tally = NetworkTally(TARGETS)
    for step in steps:
        tally.add(step.facts, step.verdicts, "palette", 3, 3)
    assert tally.stats()["unsupported_share"] > 0
    assert list(tally.stats()["unsupported_reasons"]) == [
        "keras:one: Current implementations do not yet support N of these"
    ]


def test_tables_count_a_layer_once():
    steps, _, _ = examined(dense_off)
    tally = NetworkTally(TARGETS)
    for step in steps:
        tally.add(step.facts, step.verdicts, "palette", 3, 3)
    tables = tally.tables()
    totals = {row["pair"]: row["forward"] for row in tables["inconsistencies"] if row["data"] == "total"}
    assert totals == {
        "keras:one / keras:two": 1,
        "keras:one / keras:three": 0,
        "keras:two / keras:three": 1,
    }
    assert tables["voted"][1]["forward"] == ["Dense"]
    counts = list(tables["thresholds"].values())
    assert counts == sorted(counts, reverse=True)


class OnlyInNetworks(ReferenceRunner):
    """Its second target has Dense wrong, but not in a graph of Dense alone, or only in the mode of networks."""

    def __init__(self, mode: Mode | None = None) -> None:
        super().__init__()
        self._mode = mode

    def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
        wrong = len(case.subject.nodes) > 1 or case.procedure.mode is self._mode
        self._spoil = dense_off if wrong else lambda target, op, value: value
        return super()._run(case, target, fresh)


def behind_an_activation(mode: Mode) -> Case:
    builder = GraphBuilder("pair")
    x = builder.add("Activation", builder.input("x", (3,)), name="a", activation="tanh")
    graph = builder.build(builder.add("Dense", x, name="d", units=2))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((2, 3)).astype(np.float32)}
    return Case(graph, Procedure(trace=True, mode=mode), inputs, weights=draw_weights(graph, rng))


def test_what_differs_in_the_network_only_is_not_passed():
    examiner = ExaminedSteps(OnlyInNetworks(), TARGETS, FAMILIES)
    (step,) = examiner.examine([behind_an_activation(Mode.EAGER)])
    assert examiner.confirm() == []
    assert {v.judgement for v in step.verdicts if "keras:two" in v.targets} == {Judgement.UNDECIDED}
    assert [v.judgement for v in step.verdicts if "keras:two" not in v.targets] == [Judgement.PASS]


def test_a_layer_is_tried_in_the_mode_of_its_network_too():
    examiner = ExaminedSteps(OnlyInNetworks(Mode.EAGER), TARGETS, FAMILIES)
    examiner.examine([behind_an_activation(Mode.EAGER)])
    (found,) = examiner.confirm()
    assert (found.diagnosis.klass, found.diagnosis.suspects) == (Class.DEFECT, ("keras:two",))
    assert found.case.procedure.mode is Mode.EAGER


def test_a_layer_that_gives_another_dtype_is_found():
    def narrow(target, op, value):
        return value.astype(np.float16) if (target, op) == ("keras:two", "Flatten") else value

    builder = GraphBuilder("flat")
    graph = builder.build(builder.add("Flatten", builder.input("x", (2, 3)), name="y"))
    case = Case(graph, Procedure(trace=True), {"x": np.arange(12, dtype=np.float32).reshape(2, 2, 3)})
    examiner = ExaminedSteps(ReferenceRunner(narrow), TARGETS, FAMILIES)
    (step,) = examiner.examine([case])
    (found,) = examiner.confirm()
    assert (found.kind, found.diagnosis.klass, found.diagnosis.suspects) == (Kind.DTYPE, Class.DEFECT, ("keras:two",))
    assert {v.judgement for v in step.verdicts if "keras:two" in v.targets} == {Judgement.FAIL}
