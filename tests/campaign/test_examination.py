"""An examination from the first forward pass to the verdict, on targets that err on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.whole_models import ExaminedModel as Examined
from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.errors import DataError
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph, Node
from tensorparity.core.model import Model
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.masks_and_states import MasksAndStates
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.whole import layers
from tensorparity.reporting.words import sentences

from ..judging import judge

Examine = Callable[..., Examined]
A, B, C = "fake:a", "fake:b", "fake:c"


def bump(array: Array) -> Array:
    return array + np.float32(0.05)


def judgements(examined: Examined) -> dict[tuple[str, str], Judgement]:
    return {(c.a, c.b): c.verdict.judgement for c in examined.comparisons}


def _nobody(*_: Any) -> Iterator[Any]:
    """Of pairs of layers, nothing is known."""
    return []
    yield


class TestAgreement:
    def test_all_pass_and_nothing_is_traced(self, examine: Examine, fake_runner: Any) -> None:
        runner = fake_runner()
        examined = examine(runner)
        assert judgements(examined) == dict.fromkeys([(A, B), (A, C), (B, C)], Judgement.PASS)
        assert examined.suspicions == []
        assert {ran.case.procedure.goal for ran in runner.ran} == {Goal.FORWARD}
        assert not any(ran.case.procedure.trace for ran in runner.ran)
        assert set(examined.phases) == {"extract", "compare", "localize"}

    def test_localize_always_maps_the_layers_anyway(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(), localize="always")
        for comparison in examined.comparisons:
            assert [layer.name for layer in comparison.layers] == ["conv1", "conv2", "flat", "logits", "classes"]
            assert all(layer.isolated_error is not None for layer in comparison.layers)
        assert examined.suspicions == []


class TestGuiltyLayer:
    @pytest.fixture(scope="class")
    @classmethod
    def examined(cls, examine: Examine, fake_runner: Any) -> Examined:
        return examine(fake_runner(planted={B: {"conv2": bump}}))

    def test_suspect_layer_and_class(self, examined: Examined) -> None:
        (suspicion,) = examined.suspicions
        diagnosis = suspicion.diagnosis
        assert (diagnosis.klass, diagnosis.suspects, diagnosis.node) == (Class.DEFECT, (B,), "conv2#0")
        assert suspicion.targets == (A, B, C)

    def test_verdicts_follow_the_suspect(self, examined: Examined) -> None:
        expected = {(A, B): Judgement.FAIL, (A, C): Judgement.PASS, (B, C): Judgement.FAIL}
        assert judgements(examined) == expected
        assert examined.comparisons[0].verdict.reason == f"conv2 is wrong on {B}"

    def test_the_map_shows_it(self, examined: Examined) -> None:
        layers = {layer.name: layer for layer in examined.comparisons[0].layers}
        assert layers["conv1"].deviation == 0.0
        assert layers["conv2"].highlighted
        assert layers["conv2"].isolated_error is not None
        assert layers["conv2"].isolated_error > 16

    def test_its_case_is_the_layer_alone_and_fails_by_itself(self, examined: Examined, fake_runner: Any) -> None:
        case = examined.suspicions[0].case
        assert isinstance(case.subject, LayerGraph)
        assert [node.op for node in case.subject.nodes] == ["Conv2D"]
        assert set(case.weights) == {"conv2/kernel", "conv2/bias"}
        for planted, suspects in (({B: {"conv2": bump}}, [(B,)]), ({}, [])):
            runner = fake_runner(planted=planted)
            outcomes = dict(zip(runner.targets, runner.run_pairs([(case, t) for t in runner.targets]), strict=True))
            suspicion, undecided = _judged(case, outcomes)
            assert undecided == ""
            assert ([suspicion.diagnosis.suspects] if suspicion else []) == suspects


def _judged(case: Case, outcomes: Any) -> Any:
    """Judge a replay; the fake targets are in no table, so that they go by the names of real ones."""
    real = dict(zip((A, B, C), ("keras:jax", "keras:tensorflow", "keras:torch"), strict=True))
    renamed = {real[name]: replace(outcome, target=real[name]) for name, outcome in outcomes.items()}
    suspicion, undecided = judge(case, renamed)
    if suspicion:
        back = {value: name for name, value in real.items()}
        suspects = tuple(back[name] for name in suspicion.diagnosis.suspects)
        suspicion = replace(suspicion, diagnosis=replace(suspicion.diagnosis, suspects=suspects))
    return suspicion, undecided


@pytest.mark.parametrize(
    ("room", "traced"), [(1 << 20, 8), (1500, 8), (700, 4), (600, 1)], ids=["much", "enough", "some", "little"]
)
def test_up_to_eight_inputs_are_traced(
    examine: Examine, fake_runner: Any, monkeypatch: pytest.MonkeyPatch, room: int, traced: int
) -> None:
    """A trace of this model has 632 bytes per input; fewer inputs are traced where memory is short."""
    monkeypatch.setattr(layers, "_TRACE_BYTES", room)
    monkeypatch.setattr(layers, "_ALL_TRACES", 4 * room)
    runner = fake_runner(planted={B: {"conv2": lambda y: -y}})
    examine(runner)
    assert {len(ran.case.inputs["x"]) for ran in runner.ran if ran.case.procedure.trace} == {traced}


class TestDecisions:
    def test_two_may_be_wrong_together(self, examine: Examine, fake_runner: Any) -> None:
        families = {A: "keras", B: "keras", C: "onnx"}
        examined = examine(fake_runner(planted={A: {"conv2": bump}, B: {"conv2": bump}}), families=families)
        assert examined.suspicions[0].diagnosis.suspects == (A, B)
        assert judgements(examined)[A, B] is Judgement.PASS
        assert judgements(examined)[A, C] is judgements(examined)[B, C] is Judgement.FAIL

    def test_flaky_is_undecided(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(planted={B: {"conv2": bump}}, only_once=True))
        assert examined.suspicions[0].diagnosis.klass is Class.FLAKY
        assert judgements(examined)[A, B] is Judgement.UNDECIDED
        assert "flaky" in examined.comparisons[0].verdict.reason

    def test_never_localizing_leaves_a_difference_undecided(self, examine: Examine, fake_runner: Any) -> None:
        runner = fake_runner(planted={B: {"conv2": bump}})
        examined = examine(runner, localize="never")
        assert judgements(examined)[A, B] is Judgement.UNDECIDED
        assert examined.suspicions == []
        assert all(ran.case.procedure.goal is Goal.FORWARD for ran in runner.ran)

    def test_rounding_carried_along_passes(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(whole={B: lambda y: y * np.float32(1 + 1e-4)}))
        assert judgements(examined)[A, B] is Judgement.PASS
        assert examined.comparisons[0].verdict.reason == (
            "every layer agrees alone; the difference is rounding, carried along"
        )
        assert examined.suspicions == []

    def test_only_when_fused(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(whole={B: lambda y: y * np.float32(1.5)}))
        (suspicion,) = examined.suspicions
        assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.DEFECT, (B,))
        assert suspicion.diagnosis.fused
        assert judgements(examined) == {(A, B): Judgement.FAIL, (A, C): Judgement.PASS, (B, C): Judgement.FAIL}
        assert suspicion.case.subject.name == "classifier"  # type: ignore[union-attr]

    def test_what_the_documentation_leaves_open_fails_nobody(self, examine: Examine, fake_runner: Any) -> None:
        build = GraphBuilder("words")
        x = build.add("Embedding", build.input("x", (2,), "int32"), name="words", input_dim=4, output_dim=2)
        graph = build.build(build.add("Flatten", x, name="flat"))
        model = Model("words", graph, draw_weights(graph, np.random.default_rng(0)))

        def outside(output: Array) -> Array:
            """What this library has for indices beyond its table."""
            return np.where(np.array([[[False], [True]]]), np.float32(7), output)

        inputs = {"x": np.array([[1, 9]], np.int32)}
        runner = fake_runner(planted={B: {"words": outside}}, tame={"words": lambda x: np.clip(x, 0, 3)})
        examined = examine(runner, model, inputs)
        (suspicion,) = examined.suspicions
        assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.SPECIFICATION, ())
        assert set(judgements(examined).values()) == {Judgement.PASS}

    def test_a_reference_that_is_alone_is_doubted_and_nothing_passes(self, examine: Examine, fake_runner: Any) -> None:
        everywhere = {target: {"conv2": bump} for target in (A, B, C)}
        runner = fake_runner(planted=everywhere, whole={B: lambda y: y * np.float32(1 + 1e-4)})
        examined = examine(runner, families={A: "a", B: "b", C: "c"})
        assert examined.suspicions == []
        assert judgements(examined)[A, B] is Judgement.UNDECIDED
        assert examined.comparisons[0].verdict.reason.startswith("undecided: in conv2 (Conv2D)")
        assert examined.doubts == [note for note in examined.notes if note.startswith("undecided")] != []

    def test_behind_a_step_a_large_difference_is_rounding(self, examine: Examine, fake_runner: Any) -> None:
        build = GraphBuilder("stepping")
        x = build.add("Dense", build.input("x", (4,)), name="dense", units=3)
        graph = build.build(build.add("Discretization", x, name="bins", bin_boundaries=[-0.5, 0.0, 0.5]))
        model = Model("stepping", graph, draw_weights(graph, np.random.default_rng(3)))
        inputs = {"x": np.random.default_rng(4).standard_normal((6, 4)).astype(np.float32)}
        examined = examine(fake_runner(whole={B: lambda y: y + y.dtype.type(1)}), model, inputs)
        assert examined.suspicions == []
        assert judgements(examined)[A, B] is Judgement.PASS
        assert "steps on values that carry rounding" in examined.comparisons[0].verdict.reason

    def test_nan_is_a_kind_of_its_own(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(planted={B: {"conv2": lambda y: y * np.float32(np.nan)}}))
        (suspicion,) = examined.suspicions
        assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.NAN, (B,))
        assert examined.comparisons[0].verdict.kind is Kind.NAN
        assert judgements(examined)[A, B] is Judgement.FAIL

    def test_an_unknown_layer_needs_three(self, examine: Examine, fake_runner: Any) -> None:
        build = GraphBuilder("mystery")
        model = Model("mystery", build.build(build.add("Mystery", build.input("x", (6, 6, 2)), name="mystery")))
        runner = fake_runner(targets=(A, B), custom={"Mystery": np.abs}, planted={B: {"mystery": bump}})
        examined = examine(runner, model)
        assert judgements(examined) == {(A, B): Judgement.UNDECIDED}
        assert examined.comparisons[0].verdict.reason.endswith("nothing can judge Mystery: give three targets or more")

    def test_cradle_decides_alone(self, examine: Examine, fake_runner: Any) -> None:
        def turned(array: Array) -> Array:
            return np.roll(array, 1, axis=1)

        labels = {"": np.zeros(12, np.int64)}
        examined = examine(fake_runner(whole={B: turned}), labels=labels, oracle="cradle", localize="never")
        assert judgements(examined)[A, B] is Judgement.FAIL
        assert judgements(examined)[A, C] is Judgement.PASS


class TestInsensitiveModels:
    """Equal outputs say little where the outputs hardly depend on the inputs."""

    @pytest.fixture(scope="class")
    @classmethod
    def faded(cls, classifier: Model) -> Model:
        return replace(classifier, weights={**classifier.weights, "logits/kernel": np.zeros((16, 3), np.float32)})

    def test_the_layers_are_compared_one_by_one(self, examine: Examine, fake_runner: Any, faded: Model) -> None:
        examined = examine(fake_runner(planted={B: {"conv1": bump}}), faded)
        assert examined.notes == ["the outputs hardly depend on the inputs, so the layers were compared one by one"]
        assert [s.diagnosis.node for s in examined.suspicions] == ["conv1#0"]

    def test_and_blame_nobody_where_all_is_well(self, examine: Examine, fake_runner: Any, faded: Model) -> None:
        assert examine(fake_runner(), faded).suspicions == []


class TestSlices:
    @pytest.fixture(scope="class")
    @classmethod
    def many(cls) -> dict[str, Array]:
        return {"x": np.random.default_rng(3).standard_normal((2100, 6, 6, 2)).astype(np.float32)}

    def test_many_inputs_go_in_slices_and_come_back_in_order(
        self, examine: Examine, fake_runner: Any, many: dict[str, Array]
    ) -> None:
        runner = fake_runner()
        examined = examine(runner, inputs=many)
        assert [len(ran.case.inputs["x"]) for ran in runner.ran if ran.target == A] == [1024, 1024, 52]
        (whole,) = runner.run_pairs([(replace(runner.ran[0].case, inputs=many), A)])
        np.testing.assert_array_equal(examined.outcomes[A].outputs["classes"], whole.outputs["classes"])
        assert examined.comparisons[0].instances == 2100

    def test_who_fails_at_once_is_not_asked_again(
        self, examine: Examine, fake_runner: Any, many: dict[str, Array]
    ) -> None:
        runner = fake_runner(ends={B: Status.RAISED})
        examine(runner, inputs=many, localize="never")
        forward = [ran for ran in runner.ran if not ran.fresh and not ran.case.procedure.trace]
        assert [ran.target for ran in forward].count(B) == 1
        assert [ran.target for ran in forward].count(A) == 3

    def test_who_fails_later_is_confirmed_on_what_it_failed_on(
        self, examine: Examine, fake_runner: Any, many: dict[str, Array]
    ) -> None:
        inputs = {"x": many["x"].copy()}
        inputs["x"][2000, 0, 0, 0] = 1e6
        runner = fake_runner(ends={B: Status.CRASHED}, fails_on=lambda case: case.inputs["x"].max() > 1e5)
        (suspicion,) = examine(runner, inputs=inputs, localize="never").suspicions
        assert (suspicion.kind, suspicion.diagnosis.klass) == (Kind.CRASH, Class.DEFECT)
        assert suspicion.case.inputs["x"].max() == np.float32(1e6)


class TestEndings:
    @pytest.mark.parametrize(
        ("status", "kind", "said"),
        [
            (Status.RAISED, Kind.ERROR, " raised FakeError"),
            (Status.CRASHED, Kind.CRASH, ": the process died (FakeError)"),
            (Status.TIMED_OUT, Kind.HANG, ": no answer"),
        ],
    )
    def test_a_bad_end_where_others_complete_is_a_defect(
        self, examine: Examine, fake_runner: Any, status: Status, kind: Kind, said: str
    ) -> None:
        (suspicion,) = examine(fake_runner(ends={B: status})).suspicions
        assert (suspicion.kind, suspicion.exception) == (kind, "FakeError")
        assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.DEFECT, (B,))
        assert sentences(suspicion.diagnosis) == (
            f"{B}{said}: {B} does not feel like it",
            f"{A} and {C} completed the same model on the same inputs",
        )

    def test_running_out_of_memory_is_our_limit_and_nobodys_defect(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(ends={B: Status.OUT_OF_MEMORY}))
        assert examined.suspicions == []
        assert judgements(examined)[A, B] is Judgement.UNDECIDED

    def test_a_bad_end_that_does_not_come_again_fails_no_pair(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(ends={B: Status.CRASHED}, only_once=True))
        assert judgements(examined)[A, B] is Judgement.UNDECIDED

    def test_a_bad_end_that_does_not_come_again_is_flaky(self, examine: Examine, fake_runner: Any) -> None:
        (suspicion,) = examine(fake_runner(ends={B: Status.CRASHED}, only_once=True)).suspicions
        assert suspicion.diagnosis.klass is Class.FLAKY

    def test_the_others_are_still_compared(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(ends={B: Status.CRASHED}))
        expected = {(A, B): Judgement.FAIL, (A, C): Judgement.PASS, (B, C): Judgement.FAIL}
        assert judgements(examined) == expected

    def test_unsupported_is_nobodys_fault(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(ends={B: Status.UNSUPPORTED}))
        assert examined.suspicions == []
        assert judgements(examined)[A, B] is Judgement.UNDECIDED

    def test_the_failing_node_is_named(self, examine: Examine, fake_runner: Any) -> None:
        (suspicion,) = examine(fake_runner(raising={B: ["conv2"]})).suspicions
        assert suspicion.diagnosis.node == "conv2#0"

    def test_nobody_completes(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(ends=dict.fromkeys([A, B, C], Status.RAISED)))
        assert examined.suspicions == []
        assert examined.notes == ["no target completed, so nothing could be compared"]
        assert set(judgements(examined).values()) == {Judgement.UNDECIDED}


class TestLabels:
    def test_labels_without_a_name_belong_to_the_only_output(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(), labels={"": np.zeros(12, np.int64)})
        assert examined.comparisons[0].accuracy is not None
        assert [distance.name for distance in examined.comparisons[0].distances] == ["class", "mad"]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ({"": np.full(12, 3)}, "labels hold classes 3 to 3, but output 'classes' has 3 classes"),
            ({"": np.zeros(11, np.int64)}, "has 12 instances, the labels have 11"),
            ({"other": np.zeros(12, np.int64)}, "labels for 'other', but the outputs are classes"),
        ],
    )
    def test_labels_that_do_not_fit(
        self, examine: Examine, fake_runner: Any, labels: dict[str, Array], message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            examine(fake_runner(), labels=labels)

    def test_one_array_for_two_outputs(self, examine: Examine, fake_runner: Any) -> None:
        build = GraphBuilder()
        x = build.input("x", (6, 6, 2))
        graph = build.build(build.add("ReLU", x, name="one"), build.add("ELU", x, name="two"))
        with pytest.raises(DataError, match="the model has outputs one, two; one array of labels is not enough"):
            examine(fake_runner(), Model("two", graph), labels={"": np.zeros(12, np.int64)})


class TestModelFiles:
    def test_a_file_nobody_can_read_is_noted_and_gives_no_answer(self, examine: Examine, fake_runner: Any) -> None:
        model = Model("m.keras", file=ModelFile("m.keras", "0" * 64))
        examined = examine(fake_runner(), model)
        said = "m.keras could not be read: none of the targets reads .keras files"
        assert examined.notes[0] == f"the layers could not be read: {said}"
        assert {outcome.status for outcome in examined.outcomes.values()} == {Status.UNSUPPORTED}
        assert set(judgements(examined).values()) == {Judgement.UNDECIDED}


class TestNothingIsLostInSilence:
    """A pair that fails, or that nobody could judge, is never a pass and never without a finding."""

    def test_another_shape_is_a_finding_that_names_the_odd_one(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(whole={B: lambda array: array[:, :2]}))
        assert judgements(examined)[A, B] is Judgement.FAIL
        suspicion = examined.suspicions[0]
        assert (suspicion.kind, suspicion.diagnosis.klass) == (Kind.SHAPE, Class.DEFECT)
        assert suspicion.diagnosis.suspects == (B,)

    def test_an_output_without_instances_is_another_shape(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(whole={B: lambda array: array[:0]}), localize="always")
        assert examined.suspicions[0].kind is Kind.SHAPE
        assert [bool(comparison.example) for comparison in examined.comparisons] == [False, True, False]

    def test_a_form_that_does_not_show_again_is_flaky(self, examine: Examine, fake_runner: Any) -> None:
        examined = examine(fake_runner(whole={B: lambda array: array[:, :2]}, only_once=True))
        assert {suspicion.diagnosis.klass for suspicion in examined.suspicions} == {Class.FLAKY}

    def test_by_the_papers_rule_alone_nobody_is_accused(self, examine: Examine, fake_runner: Any) -> None:
        flipped = fake_runner(whole={B: lambda array: array[:, ::-1]})
        labels = {"": np.zeros(12, np.int64)}
        examined = examine(flipped, labels=labels, oracle="cradle", localize="never")
        assert {suspicion.diagnosis.suspects for suspicion in examined.suspicions} == {()}
        assert {suspicion.diagnosis.klass for suspicion in examined.suspicions} == {Class.DEFECT}

    def test_by_the_papers_rule_no_layer_is_replayed_and_the_map_explains(
        self, examine: Examine, fake_runner: Any
    ) -> None:
        runner = fake_runner(planted={B: {"classes": lambda array: array[:, ::-1]}})
        examined = examine(runner, oracle="cradle")
        assert all(case.procedure.goal is not Goal.REPLAY for case in (ran.case for ran in runner.ran))
        assert judgements(examined) == {(A, B): Judgement.FAIL, (A, C): Judgement.PASS, (B, C): Judgement.FAIL}
        assert [s.diagnosis.node for s in examined.suspicions] == ["classes#0", "classes#0"]
        assert [s.diagnosis.suspects for s in examined.suspicions] == [(), ()]
        assert f"there are no labels: what {A} answers stands for those of classes" in examined.notes

    @pytest.mark.parametrize("oracle", ["cradle", "parity"])
    def test_each_unique_inconsistency_is_mapped_on_its_own_input(
        self, examine: Examine, fake_runner: Any, monkeypatch: pytest.MonkeyPatch, oracle: str
    ) -> None:
        """Of a large model one input is traced at a time: two patterns, two inputs."""
        monkeypatch.setattr(layers, "_TRACE_BYTES", 0)

        def last(array: Array) -> Array:
            array = array.copy()
            array[-1] = array[-1][::-1]
            return array

        runner = fake_runner(planted={B: {"classes": lambda array: array[:, ::-1]}, C: {"classes": last}})
        examined = examine(runner, oracle=oracle, labels={"": np.zeros(12, np.int64)})
        worst = {c.worst_input for c in examined.comparisons if c.verdict.judgement is not Judgement.PASS}
        mapped = {c.example.index for c in examined.comparisons if c.example is not None}
        assert len(worst) > 1
        assert mapped == worst
        traced = [ran.case for ran in runner.ran if ran.case.procedure.trace]
        assert {len(next(iter(case.inputs.values()))) for case in traced} == {1}

    def test_the_papers_rule_says_nothing_of_a_regression_without_labels(
        self, examine: Examine, fake_runner: Any
    ) -> None:
        build = GraphBuilder("line")
        graph = build.build(build.add("ReLU", build.input("x", (3, 2)), name="out"))
        runner = fake_runner(planted={B: {"out": bump}})
        examined = examine(runner, Model("line", graph), oracle="cradle")
        assert set(judgements(examined).values()) == {Judgement.UNDECIDED}
        assert "there are no labels, and out is no class: CRADLE's rule says nothing of it" in examined.notes
        assert examined.suspicions == []

    def test_another_dtype_of_two_targets_blames_both(self, examine: Examine, fake_runner: Any) -> None:
        runner = fake_runner(targets=(A, B), whole={B: lambda array: array.astype(np.float64)})
        (suspicion,) = examine(runner).suspicions
        assert suspicion.kind is Kind.DTYPE
        assert set(suspicion.diagnosis.suspects) == {A, B}

    def test_the_papers_rule_alone_gives_a_finding_too(self, examine: Examine, fake_runner: Any) -> None:
        labels = {"": np.zeros(12, np.int64)}
        flipped = fake_runner(whole={B: lambda array: array[:, ::-1]})
        examined = examine(flipped, labels=labels, oracle="cradle")
        assert any(c.verdict.failed for c in examined.comparisons)
        assert examined.suspicions

    @pytest.mark.parametrize(
        ("planted", "judgement"),
        [({B: {"conv2": lambda array: array * np.float32(1 + 1e-4)}}, Judgement.UNDECIDED), ({}, Judgement.PASS)],
        ids=["wrong in its own run", "right in its own run"],
    )
    def test_a_layer_that_one_side_cannot_run_alone(
        self, examine: Examine, fake_runner: Any, planted: Any, judgement: Judgement
    ) -> None:
        runner = fake_runner(
            planted=planted,
            whole={B: lambda array: array * np.float32(1 + 1e-4)},
            ends={B: Status.UNSUPPORTED},
            fails_on=lambda case: "conv2#0" in case.procedure.nodes,
        )
        examined = examine(runner)
        assert examined.suspicions == []
        assert judgements(examined)[A, B] is judgement
        if planted:
            assert "conv2" in examined.comparisons[0].verdict.reason


class TestWhatTravelsBesideTheValues:
    """Masks, and what only shows in two layers together."""

    @pytest.fixture
    @staticmethod
    def masked() -> tuple[Model, dict[str, Array]]:
        build = GraphBuilder("sequence")
        hidden = build.add("Masking", build.input("x", (4, 3)), name="masking")
        graph = build.build(build.add("LSTM", hidden, name="lstm", units=2))
        x = np.random.default_rng(0).standard_normal((3, 4, 3)).astype(np.float32)
        x[:, 2:] = 0.0
        return Model("sequence", graph, draw_weights(graph, np.random.default_rng(3))), {"x": x}

    def test_a_layer_that_ignores_its_mask_is_found_alone(
        self, examine: Examine, fake_runner: Any, masked: tuple[Model, dict[str, Array]]
    ) -> None:
        class Deaf(fake_runner):  # type: ignore[misc]
            """One target whose LSTM reads every step, hidden or not."""

            def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
                if target == B and isinstance(case.subject, LayerGraph):
                    case = replace(case, subject=_without_masks(case.subject))
                return super()._run(case, target, fresh)  # type: ignore[no-any-return]

        model, inputs = masked
        examined = examine(Deaf(), model, inputs)
        (suspicion,) = examined.suspicions
        assert (suspicion.diagnosis.node, suspicion.diagnosis.suspects) == ("lstm#0", (B,))
        assert isinstance(suspicion.case.subject, LayerGraph)
        assert [node.op for node in suspicion.case.subject.nodes] == ["Masking", "LSTM"]
        assert judgements(examined)[A, B] is Judgement.FAIL

    def test_agreeing_without_a_mask_clears_nobody(
        self, examine: Examine, fake_runner: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every number that could mark a hidden step is that of one that counts, so that no graph makes this mask."""

        class Odd(fake_runner):  # type: ignore[misc]
            """One target whose LSTM is wrong behind a mask; a replay hands no mask on."""

            def _layer(self, node: Node, given: Any, case: Case, target: str, *rest: Any) -> Array:
                if case.procedure.goal is Goal.REPLAY:
                    rest = (rest[0], MasksAndStates())
                output: Array = super()._layer(node, given, case, target, *rest)
                wrong = case.procedure.goal is not Goal.REPLAY and (target, node.name) == (B, "lstm")
                return output + np.float32(0.1) if wrong else output

        build = GraphBuilder("sequence")
        hidden = build.add("Masking", build.input("x", (5, 1)), name="masking", mask_value=5.0)
        graph = build.build(build.add("LSTM", hidden, name="lstm", units=2))
        model = Model("sequence", graph, draw_weights(graph, np.random.default_rng(3)))
        inputs = {"x": np.tile(np.array([[0.0], [-1.0], [1.0], [2.0], [5.0]], np.float32), (3, 1, 1))}
        monkeypatch.setattr("tensorparity.oracles.whole.layers.blame_adjacent_layers", _nobody)
        examined = examine(Odd(), model, inputs)
        assert [errors.node.op for errors in examined.measured if errors.unmasked] == ["LSTM"]
        assert judgements(examined)[A, B] is Judgement.UNDECIDED
        assert "lstm (LSTM) could not be run alone behind its mask" in examined.comparisons[0].verdict.reason
        assert any("lstm (LSTM) ran alone without a mask" in note for note in examined.notes)

    def test_right_behind_a_mask_is_right(
        self, examine: Examine, fake_runner: Any, masked: tuple[Model, dict[str, Array]]
    ) -> None:
        examined = examine(fake_runner(), *masked, localize="always")
        assert {errors.node.op: max(errors.errors.values()) <= 1.0 for errors in examined.measured} == {
            "Masking": True,
            "LSTM": True,
        }

    def test_two_layers_that_are_wrong_only_together_are_found(self, examine: Examine, fake_runner: Any) -> None:
        class Interacting(fake_runner):  # type: ignore[misc]
            """One target that errs in a Flatten wherever it runs behind the convolution, traced or not."""

            def _layer(self, node: Node, given: Any, case: Case, target: str, *rest: Any) -> Array:
                output: Array = super()._layer(node, given, case, target, *rest)
                assert isinstance(case.subject, LayerGraph)
                together = {"conv2", "flat"} <= {other.name for other in case.subject.nodes}
                wrong = together and case.procedure.goal is not Goal.REPLAY
                return output[:, ::-1] if wrong and (target, node.name) == (B, "flat") else output

        examined = examine(Interacting())
        (suspicion,) = examined.suspicions
        assert (suspicion.diagnosis.suspects, suspicion.diagnosis.api) == ((B,), "keras.layers.Flatten")
        assert isinstance(suspicion.case.subject, LayerGraph)
        assert [node.name for node in suspicion.case.subject.nodes] == ["conv2", "flat"]
        assert any(
            "each layer is right on its own, but conv2 followed by flat is wrong" in text
            for text in sentences(suspicion.diagnosis)
        )


def _without_masks(graph: LayerGraph) -> LayerGraph:
    nodes = [
        replace(node, params={**node.params, "mask_value": 99.0}) if node.op == "Masking" else node
        for node in graph.nodes
    ]
    return replace(graph, nodes=tuple(nodes))
