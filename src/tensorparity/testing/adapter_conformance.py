"""The suite an adapter must pass: inherit ``AdapterConformance`` in a test module and name the target.

.. code-block:: python

    from tensorparity.testing.adapter_conformance import AdapterConformance


    class TestMyTarget(AdapterConformance):
        target = "mylibrary:eager"

A target that is in no table yet overrides the fixture ``runner`` (``testing.external.external_runner`` makes
one). ``pytest.register_assert_rewrite`` with this module's name, in a conftest, makes failures tell more.
What an adapter does not list among its ABILITIES must answer ``unsupported`` with a reason; whatever
it lists is tested against the float64 references of ``tensorparity.operators``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ..core.arrays import Array, Arrays, dtype_named
from ..core.case import ApiCall, ArrayArg, Case
from ..core.graph import GraphBuilder, InputSpec, LayerGraph, Node
from ..core.outcome import Outcome, Status
from ..core.procedure import Goal, Mode, Procedure, Recipe
from ..operators.losses.catalogue import evaluate_loss
from ..operators.optimizers.catalogue import evaluate_step
from ..operators.reference.evaluate import draw_weights, evaluate, evaluate_node
from ..operators.reference.rounding import K, error_units
from ..targets.runner import LocalRunner, open_runner

LOSS = Recipe("MeanSquaredError")
SGD = Recipe("SGD", {"learning_rate": 0.5})
BATCH = 3

#: Relative and absolute tolerance of float32 results against float64 ones, over a few layers.
RTOL, ATOL = 1e-4, 1e-5

#: Step of the central differences in float64: their error is far below float32's.
STEP = 1e-5

#: Goals and variations of a procedure, with the ability that each needs.
_ASKED = {
    "gradients": Procedure(goal=Goal.GRADIENTS, loss=LOSS),
    "update": Procedure(goal=Goal.UPDATE, loss=LOSS, optimizer=SGD),
    "trace": Procedure(trace=True),
    "reload": Procedure(reload=True),
    "batch_size": Procedure(batch_size=1),
    "dtype": Procedure(dtype="float64"),
    "data_format": Procedure(data_format="channels_first"),
    "mode:eager": Procedure(mode=Mode.EAGER),
    "mode:compiled": Procedure(mode=Mode.COMPILED),
}


@dataclass(frozen=True)
class KnownCall:
    """One public function of the library and what NumPy says it gives for ``a`` and ``b``."""

    api: str
    expected: Callable[[Array, Array], Array]


# The cases


def smooth_graph() -> LayerGraph:
    """Two inputs, a layer called twice, two outputs, and no kink: finite differences are exact enough.

    ``main`` depends on the input ``x`` alone, ``aside`` on both: without a label for ``aside``, the gradient of
    what only leads there is unconnected.
    """
    build = GraphBuilder("smooth")
    x, z = build.input("x", (5,)), build.input("z", (2,))
    hidden = build.add("Dense", x, name="hidden", units=4, activation="tanh")
    once = build.add("Dense", hidden, name="shared", units=4, activation="sigmoid")
    twice = build.add("Dense", once, again="shared")
    summed = build.add("Add", hidden, twice, name="summed")
    main = build.add("Dense", summed, name="main", units=2)
    joined = build.add("Concatenate", summed, z, name="joined")
    aside = build.add("Dense", joined, name="aside", units=3, activation="tanh")
    return build.build(main, aside)


def smooth_case(procedure: Procedure | None = None, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    graph = smooth_graph()
    inputs = {item.name: _draw(rng, *[size or 1 for size in item.shape]) for item in graph.inputs}
    labels = {"main": _draw(rng, 2)}
    return Case(graph, procedure or Procedure(), inputs, labels, draw_weights(graph, rng))


def _draw(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=(BATCH, *shape)).astype(np.float32)


def _only_main(seed: int = 0) -> tuple[LayerGraph, Case]:
    case = smooth_case(Procedure(goal=Goal.GRADIENTS, loss=LOSS), seed)
    assert isinstance(case.subject, LayerGraph)
    return case.subject, case


def _replay_of(graph: LayerGraph, case: Case, values: Arrays) -> Case:
    """Every node alone, on the inputs it had when ``values`` were traced."""
    known = {**case.inputs, **{node.name: values[node.key] for node in graph.nodes}}
    inputs = {f"{node.key}/{index}": known[ref.node] for node in graph.nodes for index, ref in enumerate(node.inputs)}
    nodes = tuple(node.key for node in graph.nodes)
    return Case(graph, Procedure(goal=Goal.REPLAY, nodes=nodes), inputs, weights=case.weights)


# The reference


def _reference_loss(graph: LayerGraph, case: Case, inputs: Arrays, weights: Arrays) -> float:
    main = evaluate(graph, inputs, weights, keep={"main#0"})["main#0"][0].value
    return float(evaluate_loss(LOSS, case.labels["main"], main).value)


def _finite_differences(at: Array, loss: Callable[[Array], float]) -> Array:
    """The gradient of ``loss`` at ``at`` by central differences in float64."""
    point = at.astype(np.float64)
    gradient = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = point.copy()
            moved[index] += step
            ends.append(loss(moved))
        gradient[index] = (ends[0] - ends[1]) / (2 * STEP)
    return gradient


def _cut_at(graph: LayerGraph, node: Node, shape: tuple[int, ...]) -> LayerGraph:
    """The graph with the node's output as one more input."""
    inputs = (*graph.inputs, InputSpec(node.name, shape))
    return replace(graph, inputs=inputs, nodes=tuple(other for other in graph.nodes if other is not node))


def _close(actual: Array, expected: Array, what: str = "") -> None:
    np.testing.assert_allclose(actual.astype(np.float64), expected, RTOL, ATOL, err_msg=what)


def _same(a: Mapping[str, Array], b: Mapping[str, Array]) -> None:
    """Equal names, shapes and bits."""
    assert sorted(a) == sorted(b)
    for name in a:
        assert a[name].dtype == b[name].dtype
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


class AdapterConformance:
    """Inherit it, set ``target``; override ``runner`` for a target that is in no table."""

    #: The target under test, by the name users give it.
    target: str = ""
    #: One call to try, for adapters that run single calls.
    known_call: KnownCall | None = None

    @pytest.fixture(scope="class")
    @classmethod
    def runner(cls) -> Iterator[LocalRunner]:
        """One worker for the whole class: imports are what costs."""
        with open_runner([cls.target]) as runner:
            yield runner

    @pytest.fixture(scope="class")
    @classmethod
    def abilities(cls, runner: LocalRunner) -> frozenset[str]:
        """What the adapter says of itself; asking anything starts it."""
        outcome = _ask(runner, smooth_case())
        name = runner.targets[0]
        assert name not in runner.broken, str(runner.broken.get(name))
        assert outcome.status in (Status.COMPLETED, Status.UNSUPPORTED), outcome.failure
        return runner.pool.abilities.get(name, frozenset())

    @pytest.fixture
    def able(self, abilities: frozenset[str]) -> Callable[..., None]:
        """Skips the test unless the adapter claims all of these."""

        def require(*names: str) -> None:
            for name in names:
                if name not in abilities:
                    pytest.skip(f"{self.target} does not claim {name!r}")

        return require

    # Forward

    def test_it_claims_something_to_run(self, abilities: frozenset[str]) -> None:
        assert abilities & {"layer-graph", "model-file", "api-call"}
        assert abilities & {goal.value for goal in Goal}

    def test_outputs_have_the_graph_s_names_shapes_and_dtype(
        self, runner: LocalRunner, able: Callable[..., None]
    ) -> None:
        able("layer-graph", "forward")
        outcome = _completed(runner, smooth_case())
        assert {name: array.shape for name, array in outcome.outputs.items()} == {
            "main": (BATCH, 2),
            "aside": (BATCH, 3),
        }
        assert {array.dtype for array in outcome.outputs.values()} == {np.dtype(np.float32)}

    def test_outputs_are_those_of_the_reference(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward")
        case = smooth_case()
        outcome = _completed(runner, case)
        truth = evaluate(smooth_graph(), case.inputs, case.weights)
        for name in ("main", "aside"):
            _close(outcome.outputs[name], truth[f"{name}#0"][0].value, name)

    def test_equal_cases_give_equal_bits(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        """Also with another case in between: no state of a case reaches the next."""
        able("layer-graph", "forward")
        case, other = smooth_case(), smooth_case(seed=1)
        first, between, second = (_completed(runner, item) for item in (case, other, case))
        _same(first.outputs, second.outputs)
        assert not np.array_equal(first.outputs["main"], between.outputs["main"])

    def test_a_fresh_worker_gives_equal_bits(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward")
        case = smooth_case()
        (fresh,) = runner.run_pairs([(case, runner.targets[0])], fresh=True)
        assert fresh.completed, fresh.failure
        _same(_completed(runner, case).outputs, fresh.outputs)

    def test_weights_are_set_and_not_drawn(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward")
        case = smooth_case()
        before = _completed(runner, case)
        for name in case.weights:
            changed = replace(case, weights={**case.weights, name: case.weights[name] + np.float32(0.5)})
            outputs = _completed(runner, changed).outputs
            assert not np.array_equal(outputs["aside"], before.outputs["aside"]) or name.startswith("main/")
            assert not np.array_equal(outputs["main"], before.outputs["main"]) or name.startswith("aside/")

    def test_a_missing_weight_is_never_made_up(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward")
        case = smooth_case()
        weights = {name: array for name, array in case.weights.items() if name != "hidden/bias"}
        outcome = _ask(runner, replace(case, weights=weights))
        assert not outcome.completed
        assert outcome.failure is not None
        assert "hidden/bias" in outcome.failure.message

    def test_the_case_is_not_modified(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward")
        case = smooth_case()
        copies = {name: array.copy() for name, array in case.arrays().items()}
        _completed(runner, case)
        _same(case.arrays(), copies)

    # Tracing and replay

    def test_the_trace_has_every_node_once(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "trace")
        outcome = _completed(runner, smooth_case(Procedure(trace=True)))
        assert sorted(outcome.trace.nodes) == sorted(node.key for node in smooth_graph().nodes)
        assert "shared#1" in outcome.trace.nodes

    def test_the_trace_agrees_with_the_outputs_and_the_reference(
        self, runner: LocalRunner, able: Callable[..., None]
    ) -> None:
        able("layer-graph", "trace")
        plain, traced = (_completed(runner, smooth_case(Procedure(trace=trace))) for trace in (False, True))
        case = smooth_case()
        for name in ("main", "aside"):
            np.testing.assert_array_equal(traced.outputs[name], traced.trace.nodes[f"{name}#0"])
            _close(traced.outputs[name], plain.outputs[name], name)
        for key, (truth,) in evaluate(smooth_graph(), case.inputs, case.weights).items():
            _close(traced.trace.nodes[key], truth.value, key)

    def test_without_trace_no_node_is_reported(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward")
        assert not _completed(runner, smooth_case()).trace.nodes

    def test_replayed_nodes_give_what_was_traced(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        """And each is what the reference says of that node alone, on those very inputs."""
        able("layer-graph", "trace", "replay")
        case = smooth_case()
        traced = _completed(runner, replace(case, procedure=Procedure(trace=True))).trace.nodes
        replay = _replay_of(smooth_graph(), case, traced)
        nodes = _completed(runner, replay).trace.nodes
        assert sorted(nodes) == sorted(traced)
        for node in smooth_graph().nodes:
            _close(nodes[node.key], traced[node.key], node.key)
            inputs = [replay.inputs[f"{node.key}/{index}"] for index in range(len(node.inputs))]
            (truth,) = evaluate_node(node, inputs, case.weights)
            assert error_units(nodes[node.key], truth, "float32").max() < K, node.key

    def test_only_the_nodes_asked_for_are_replayed(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "replay")
        case = smooth_case()
        procedure = Procedure(goal=Goal.REPLAY, nodes=("shared#1",))
        alone = Case(case.subject, procedure, {"shared#1/0": np.ones((BATCH, 4), np.float32)}, weights=case.weights)
        assert list(_completed(runner, alone).trace.nodes) == ["shared#1"]

    def test_errors_name_the_node(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "replay")
        case = smooth_case()
        procedure = Procedure(goal=Goal.REPLAY, nodes=("main#0",))
        wrong = Case(case.subject, procedure, {"main#0/0": np.ones((BATCH, 9), np.float32)}, weights=case.weights)
        outcome = _ask(runner, wrong)
        assert outcome.status in (Status.RAISED, Status.UNSUPPORTED)
        assert outcome.failure is not None
        assert outcome.failure.node == "main#0" or "main" in outcome.failure.message

    # Backward

    def test_the_loss_is_that_of_the_outputs(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "gradients")
        _, case = _only_main()
        outcome = _completed(runner, case)
        assert outcome.trace.loss is not None
        truth = evaluate_loss(LOSS, case.labels["main"], outcome.outputs["main"])
        assert error_units(np.array([outcome.trace.loss]), truth, "float32").max() < K

    def test_gradients_of_inputs_and_weights_are_the_slopes(
        self, runner: LocalRunner, able: Callable[..., None]
    ) -> None:
        able("layer-graph", "gradients")
        graph, case = _only_main()
        gradients = _completed(runner, case).trace.gradients

        def with_input(x: Array) -> float:
            return _reference_loss(graph, case, {**case.inputs, "x": x}, case.weights)

        _close(gradients["input:x"], _finite_differences(case.inputs["x"], with_input), "input:x")
        for name in (name for name in case.weights if not name.startswith("aside/")):
            _close(gradients[f"weight:{name}"], _weight_slopes(graph, case, name), name)

    def test_gradients_of_nodes_are_the_slopes(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "gradients")
        graph, case = _only_main()
        outcome = _completed(runner, case)
        for node in graph.nodes:
            if node.name not in ("joined", "aside"):
                slopes = _node_slopes(graph, case, node, outcome.trace.nodes[node.key])
                _close(outcome.trace.gradients[f"node:{node.key}"], slopes, node.key)

    def test_unconnected_gradients_are_absent(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "gradients")
        graph, case = _only_main()
        expected = {"input:x"}
        expected |= {f"node:{node.key}" for node in graph.nodes if node.name not in ("joined", "aside")}
        expected |= {f"weight:{name}" for name in case.weights if not name.startswith("aside/")}
        assert set(_completed(runner, case).trace.gradients) == expected

    def test_a_replayed_node_pulls_back_its_cotangent(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        """On the inputs and the gradient of the whole run, so the parts must be those of the whole."""
        able("layer-graph", "gradients", "replay")
        graph, case = _only_main()
        whole = _completed(runner, case).trace
        procedure = Procedure(goal=Goal.REPLAY, nodes=("main#0",))
        inputs, cotangents = {"main#0/0": whole.nodes["summed#0"]}, {"main#0": whole.gradients["node:main#0"]}
        part = _completed(runner, Case(graph, procedure, inputs, weights=case.weights, cotangents=cotangents)).trace
        assert sorted(part.gradients) == ["input:main#0/0", "weight:main/bias", "weight:main/kernel"]
        _close(part.nodes["main#0"], whole.nodes["main#0"])
        _close(part.gradients["input:main#0/0"], whole.gradients["node:summed#0"])
        for name in ("weight:main/bias", "weight:main/kernel"):
            _close(part.gradients[name], whole.gradients[name], name)

    def test_one_step_of_gradient_descent(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "update")
        _, case = _only_main()
        case = replace(case, procedure=_ASKED["update"])
        outcome = _completed(runner, case)
        assert sorted(outcome.trace.weights) == sorted(case.weights)
        for name, weight in case.weights.items():
            gradient = outcome.trace.gradients.get(f"weight:{name}")
            if gradient is None:
                np.testing.assert_array_equal(outcome.trace.weights[name], weight, err_msg=name)
            else:
                truth = evaluate_step(SGD, weight, gradient).weight
                assert error_units(outcome.trace.weights[name], truth, "float32").max() < K, name

    def test_a_step_leaves_nothing_behind(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "update", "forward")
        _, case = _only_main()
        stepping, plain = replace(case, procedure=_ASKED["update"]), replace(case, procedure=Procedure())
        before, first, second, after = (_completed(runner, item) for item in (plain, stepping, stepping, plain))
        _same(first.trace.weights, second.trace.weights)
        _same(before.outputs, after.outputs)

    # What is asked and cannot be

    @pytest.mark.parametrize("ability", sorted(_ASKED))
    def test_what_is_not_claimed_is_unsupported_with_a_reason(
        self, runner: LocalRunner, abilities: frozenset[str], ability: str
    ) -> None:
        """And what is claimed is not refused in this plainest of cases, other dtypes excepted."""
        outcome = _ask(runner, smooth_case(_ASKED[ability]))
        if {ability, "layer-graph"} <= abilities and ability != "dtype":
            assert outcome.completed, outcome.failure
        elif outcome.completed:
            assert ability == "dtype"
            assert ability in abilities
        else:
            _assert_unsupported(outcome)

    def test_a_call_is_no_goal_for_a_graph(self, runner: LocalRunner) -> None:
        _assert_unsupported(_ask(runner, smooth_case(Procedure(goal=Goal.CALL))))

    def test_another_library_s_function_is_unsupported(self, runner: LocalRunner) -> None:
        call = ApiCall("no_such_library.add", (1, 2))
        _assert_unsupported(_ask(runner, Case(call, Procedure(goal=Goal.CALL))))

    # Variations that must not matter

    @pytest.mark.parametrize("variation", ["batch_size", "reload", "mode:eager"])
    def test_variations_give_the_same_outputs(
        self, runner: LocalRunner, able: Callable[..., None], variation: str
    ) -> None:
        able("layer-graph", "forward", variation)
        plain, varied = (_completed(runner, smooth_case(item)) for item in (Procedure(), _ASKED[variation]))
        assert sorted(plain.outputs) == sorted(varied.outputs)
        for name, array in plain.outputs.items():
            _close(varied.outputs[name], array, name)

    def test_another_dtype_shows_in_the_outputs(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward", "dtype")
        outcome = _ask(runner, smooth_case(_ASKED["dtype"]))
        if outcome.completed:
            assert outcome.outputs["main"].dtype == np.float64
        else:
            _assert_unsupported(outcome)

    # Single calls

    def test_a_known_call(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("api-call", "call")
        if self.known_call is None:
            pytest.skip("the class names no known_call")
        a, b = np.array([1.5, -2.0], np.float32), np.array([0.25, 4.0], np.float32)
        call = ApiCall(self.known_call.api, (ArrayArg("a"), ArrayArg("b")))
        outcome = _completed(runner, Case(call, Procedure(goal=Goal.CALL), {"a": a, "b": b}))
        assert list(outcome.outputs) == ["0"]
        _close(outcome.outputs["0"], self.known_call.expected(a, b))

    def test_arrays_of_extension_dtypes_are_not_widened(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("api-call", "call")
        if self.known_call is None:
            pytest.skip("the class names no known_call")
        bfloat16 = dtype_named("bfloat16")
        a, b = np.array([1.5, -2.0]).astype(bfloat16), np.array([0.25, 4.0]).astype(bfloat16)
        call = ApiCall(self.known_call.api, (ArrayArg("a"), ArrayArg("b")))
        outcome = _completed(runner, Case(call, Procedure(goal=Goal.CALL), {"a": a, "b": b}))
        assert outcome.outputs["0"].dtype == bfloat16
        expected = self.known_call.expected(a.astype(np.float64), b.astype(np.float64))
        np.testing.assert_array_equal(outcome.outputs["0"].astype(np.float64), expected)

    def test_a_function_this_version_lacks_is_unsupported(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("api-call", "call")
        if self.known_call is None:
            pytest.skip("the class names no known_call")
        call = ApiCall(self.known_call.api + "_that_nobody_wrote")
        _assert_unsupported(_ask(runner, Case(call, Procedure(goal=Goal.CALL))))

    # Circumstances

    def test_every_outcome_records_its_circumstances(self, runner: LocalRunner, able: Callable[..., None]) -> None:
        able("layer-graph", "forward")
        record = _completed(runner, smooth_case()).record
        spec = runner.desk(runner.targets[0]).spec
        assert {"numpy", *spec.distributions} <= set(record.versions)
        assert all(record.versions.values())
        assert record.python
        assert record.build.get("mode")
        assert record.device
        assert record.dtype_policy
        assert record.flags.get("OMP_NUM_THREADS") == "1"
        assert record.threads == 1
        assert record.fault is None


def _ask(runner: LocalRunner, case: Case) -> Outcome:
    (outcome,) = runner.run_pairs([(case, runner.targets[0])])
    return outcome


def _completed(runner: LocalRunner, case: Case) -> Outcome:
    outcome = _ask(runner, case)
    assert outcome.completed, outcome.failure
    return outcome


def _assert_unsupported(outcome: Outcome) -> None:
    assert outcome.status is Status.UNSUPPORTED, outcome.failure
    assert outcome.failure is not None
    assert outcome.failure.message


def _weight_slopes(graph: LayerGraph, case: Case, name: str) -> Array:
    def with_weight(weight: Array) -> float:
        return _reference_loss(graph, case, case.inputs, {**case.weights, name: weight})

    return _finite_differences(case.weights[name], with_weight)


def _node_slopes(graph: LayerGraph, case: Case, node: Node, value: Array) -> Array:
    """With respect to the node's own output, which is an input of the rest of the graph."""
    if node.name == "main":
        return _finite_differences(value, lambda y: float(evaluate_loss(LOSS, case.labels["main"], y).value))
    rest = _cut_at(graph, node, value.shape[1:])
    return _finite_differences(
        value, lambda y: _reference_loss(rest, case, {**case.inputs, node.name: y}, case.weights)
    )
