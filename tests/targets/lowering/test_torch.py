"""Layer graphs as programs of torch's functions: what is refused, and what torch makes of every layer and loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, Case
from tensorparity.core.graph import GraphBuilder, LayerGraph, Node
from tensorparity.core.model import node_inputs
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.operators.catalogue import layer_names
from tensorparity.operators.functions.named_activations import FUNCTIONS
from tensorparity.operators.losses.catalogue import LOSSES, evaluate_loss
from tensorparity.operators.losses.spec import REDUCTION
from tensorparity.operators.reference.evaluate import draw_weights, evaluate
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.oracles.isolated_checks import IsolatedCheck, backward_check
from tensorparity.oracles.measure.backward import judge_pulled_back
from tensorparity.oracles.measure.isolated_nodes import node_outputs, reference_of
from tensorparity.oracles.measure.node_errors import reference_error
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.lowering import lower
from tensorparity.targets.lowering.pytorch.activations import ACTIVATIONS
from tensorparity.targets.lowering.pytorch.graph import lower_to_torch
from tensorparity.targets.lowering.pytorch.layers import LAYERS, REFUSED_LAYERS
from tensorparity.targets.lowering.pytorch.losses import REFUSED_LOSSES, TORCH_LOSSES
from tensorparity.targets.runner import open_runner

TRAITS = traits_of(TARGETS)

TARGET = "torch:eager"
#: Networks of one layer, drawn so that each has values of parameters that those before it have not.
DRAWN = 4
#: Gradients pulled back per layer; the references of recurrent ones take a while.
PULLED_BACK = 1
#: torch has no gradient here: trophies/torch-group-norm-bias-alone.
NO_GRADIENT = "tensor does not have a device"

Ask = Callable[[Sequence[Case]], list[Outcome]]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """One worker for all: importing is what costs."""
    with open_runner([TARGET]) as runner:
        yield lambda cases: runner.run_pairs([(case, TARGET) for case in cases])


# Every layer


def test_every_layer_and_activation_has_a_counterpart() -> None:
    assert sorted([*LAYERS, *REFUSED_LAYERS]) == sorted(layer_names())
    assert sorted(ACTIVATIONS) == sorted(FUNCTIONS)


def test_every_loss_and_each_of_its_parameters_has_a_counterpart() -> None:
    assert sorted([*TORCH_LOSSES, *REFUSED_LOSSES]) == sorted(LOSSES)
    for name, loss in TORCH_LOSSES.items():
        assert sorted(loss.reads) == sorted(parameter.name for parameter in LOSSES[name].parameters), name


@pytest.mark.torch
@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layer_computes_what_the_catalogue_says(name: str, ask: Ask) -> None:
    settings = NetworkSettings(layers=(name,), unit=True, goal=Goal.FORWARD)
    generator = NetworkGenerator(7, settings)
    cases = [generator.next().case for _ in range(DRAWN)]
    trials: list[IsolatedCheck] = []
    for case, outcome in zip(cases, ask(cases), strict=True):
        if outcome.status is Status.UNSUPPORTED:
            assert outcome.failure is not None
            assert "one value per" in outcome.failure.message
            continue
        trials += _measured(name, case, outcome)
    assert trials
    for trial, outcome in zip(trials, ask([trial.case for trial in trials[:PULLED_BACK]]), strict=False):
        if outcome.status is Status.UNSUPPORTED:
            assert outcome.failure is not None
            assert "adds to the loss" in outcome.failure.message
            continue
        _check_gradients(trial, outcome)


def _measured(name: str, case: Case, outcome: Outcome) -> Iterator[IsolatedCheck]:
    """Hold each use of the layer against the reference on its own inputs; yield a trial of its gradients."""
    assert outcome.completed, outcome.failure
    assert isinstance(case.subject, LayerGraph)
    training = case.procedure.training
    for node in case.subject.nodes:
        if node.op != name:
            continue
        given = node_inputs(case.subject, node, case.inputs, outcome.trace.nodes)
        outputs = node_outputs(node, outcome)
        reference = reference_of(node, given, case.weights, training=training)
        assert reference is not None
        error = reference_error(outputs, reference)
        assert error <= K, f"{dict(node.params)} on {[x.shape for x in given]}, training={training}: e = {error:.3g}"
        yield backward_check(node, given, outputs[0], case.weights, training, [TARGET], case.seed)


def _check_gradients(trial: IsolatedCheck, outcome: Outcome) -> None:
    if outcome.failure and NO_GRADIENT in outcome.failure.message:
        return
    assert outcome.completed, outcome.failure
    errors = judge_pulled_back(trial.case, {TARGET: outcome}, TRAITS).errors
    error = errors.errors.get(TARGET, 0.0)
    if errors.judged_by == "reference":
        assert error <= errors.limit, f"{dict(trial.node.params)}: e = {error:.3g}"


# Losses


@pytest.mark.torch
@pytest.mark.parametrize("name", sorted(TORCH_LOSSES))
def test_losses_are_those_of_the_catalogue(name: str, ask: Ask) -> None:
    cases = [_loss_case(name, params) for params in _loss_choices(name)]
    for case, outcome in zip(cases, ask(cases), strict=True):
        assert outcome.completed, outcome.failure
        assert outcome.trace.loss is not None
        recipe, labels, guess = case.procedure.loss, case.labels["end"], outcome.outputs["end"]
        assert recipe is not None
        full = Recipe(name, {**{p.name: p.default for p in LOSSES[name].parameters}, **recipe.params})
        truth = evaluate_loss(full, labels, guess)
        assert error_units(np.array([outcome.trace.loss]), truth, "float32").max() <= K, dict(recipe.params)
        slopes = _slopes(lambda y, full=full, labels=labels: float(evaluate_loss(full, labels, y).value), guess)
        np.testing.assert_allclose(outcome.trace.gradients["node:end#0"], slopes, 2e-3, 1e-4)


#: Parameters without effect unless another one is set.
_NEEDED: dict[tuple[str, str], dict[str, Any]] = {("BinaryFocalCrossentropy", "alpha"): {"apply_class_balancing": True}}


def _loss_choices(name: str) -> Iterator[dict[str, Any]]:
    yield {}
    for parameter in (REDUCTION, *LOSSES[name].parameters):
        for value in parameter.valid:
            if value != parameter.default:
                yield {parameter.name: value, **_NEEDED.get((name, parameter.name), {})}


def _loss_case(name: str, params: dict[str, Any]) -> Case:
    spec, rng = LOSSES[name], np.random.default_rng(3)
    takes = "values" if params.get("from_logits") else spec.predictions
    build = GraphBuilder("loss")
    rows = 4 if takes == "unit" else 3  # each of Circle's samples has another of its class, and one of the other
    shape = (5, 4) if spec.labels == "sequences" else (4,)
    x = build.input("x", shape)
    ends = {"probabilities": "softmax", "chances": "sigmoid", "positive": "softplus"}
    if takes == "unit":
        end = build.add("UnitNormalization", x, name="end")
    else:
        end = build.add("Activation", x, name="end", activation=ends.get(takes, "linear"))
    labels: Any = rng.normal(0, 1, (3, 4))
    if takes == "unit":
        labels = np.array([0, 1, 0, 1])
    elif spec.labels == "sequences":
        labels = np.array([[1, 2], [2, 0], [3, 3]])
    elif spec.labels == "classes":
        labels = rng.integers(0, 4, 3) if spec.sparse else np.eye(4)[rng.integers(0, 4, 3)]
    elif spec.labels == "binary":
        labels = rng.integers(0, 2, (3, 4))
    elif spec.labels == "distribution":
        labels = rng.dirichlet(np.ones(4), 3)
    elif spec.labels == "positive":
        labels = np.abs(labels) + 0.1
    procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe(name, params))
    dtype = np.int32 if spec.sparse else np.float32
    inputs = {"x": rng.normal(0, 1, (rows, *shape)).astype(np.float32)}
    return Case(build.build(end), procedure, inputs, {"end": np.asarray(labels).astype(dtype)})


def _slopes(function: Callable[[Any], float], point: Any) -> Any:
    point, found = point.astype(np.float64), np.zeros(point.shape)
    for index in np.ndindex(point.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = point.copy()
            moved[index] += step
            ends.append(function(moved))
        found[index] = (ends[0] - ends[1]) / 2e-6
    return found


# The program


def _graph() -> LayerGraph:
    build = GraphBuilder("small")
    x = build.input("x", (5, 6, 3))
    y = build.add("Conv2D", x, name="conv", filters=2, kernel_size=3, padding="same", strides=2)
    y = build.add("Flatten", y, name="flat")
    return build.build(build.add("Dense", y, name="dense", units=4, activation="relu"))


def _case(procedure: Procedure | None = None, batch: int = 3) -> Case:
    graph, rng = _graph(), np.random.default_rng(0)
    inputs = {"x": rng.normal(0, 1, (batch, 5, 6, 3)).astype(np.float32)}
    return Case(graph, procedure or Procedure(), inputs, weights=draw_weights(graph, rng))


def test_the_program_names_functions_and_tensors() -> None:
    found = lower("torch", _case(), "torch")
    assert isinstance(found, tuple)
    subject, arrays = found
    called = {key: [step[0] for step in steps] for key, steps in subject["nodes"]}
    assert called["conv#0"] == [
        "torch.permute",  # the kernel
        "torch.Tensor.contiguous",
        "torch.permute",  # channels first
        "torch.nn.functional.pad",  # an odd margin
        "torch.nn.functional.conv2d",
        "torch.permute",
    ]
    assert called["dense#0"] == ["torch.permute", "torch.nn.functional.linear", "torch.nn.functional.relu"]
    assert subject["weights"] == {"conv/kernel": True, "conv/bias": True, "dense/kernel": True, "dense/bias": True}
    assert "weights:conv/kernel" in arrays


@pytest.mark.torch
def test_slices_of_a_batch_give_the_whole(ask: Ask) -> None:
    whole, *sliced = ask([_case(Procedure(batch_size=size), 5) for size in (5, 2, 1)])
    assert whole.completed, whole.failure
    for outcome in sliced:
        assert outcome.completed, outcome.failure
        np.testing.assert_allclose(outcome.outputs["dense"], whole.outputs["dense"], 1e-5, 1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_dtypes(ask: Ask, dtype: str) -> None:
    case = _case(Procedure(dtype=dtype))
    (outcome,) = ask([case])
    assert outcome.completed, outcome.failure
    found = outcome.outputs["dense"]
    assert found.dtype.name == dtype
    truth = evaluate(_graph(), case.inputs, case.weights)["dense#0"][0].value
    tolerance = {"float64": 1e-12, "float16": 2e-2, "bfloat16": 1e-1}[dtype]
    np.testing.assert_allclose(found.astype(np.float64), truth, tolerance, 10 * tolerance)


@pytest.mark.torch
def test_what_torch_raises_names_the_node(ask: Ask) -> None:
    build = GraphBuilder("rows")
    rows = build.add("Embedding", build.input("x", (2,), "int32"), name="rows", input_dim=3, output_dim=2)
    graph = build.build(rows)
    weights = draw_weights(graph, np.random.default_rng(0))
    (outcome,) = ask([Case(graph, inputs={"x": np.array([[0, 9]], np.int32)}, weights=weights)])
    assert outcome.status is Status.RAISED
    assert outcome.failure is not None
    assert outcome.failure.node == "rows#0"


# Refusals


def _masked() -> LayerGraph:
    build = GraphBuilder("masked")
    masked = build.add("Masking", build.input("x", (4, 3)), name="mask")
    kept = build.add("Activation", masked, name="bent", activation="tanh")
    return build.build(build.add("LSTM", kept, name="lstm", units=2))


def _on(graph: LayerGraph, shape: tuple[int, ...]) -> Case:
    rng = np.random.default_rng(0)
    return Case(graph, inputs={"x": rng.normal(0, 1, shape).astype(np.float32)}, weights=draw_weights(graph, rng))


def _with(**params: Any) -> Case:
    case = _case()
    assert isinstance(case.subject, LayerGraph)
    first, *others = case.subject.nodes
    changed = Node(first.name, first.op, first.inputs, {**first.params, **params})
    return replace(case, subject=replace(case.subject, nodes=(changed, *others)))


def _layer_alone(name: str) -> Case:
    build = GraphBuilder("alone")
    graph = build.build(build.add(name, build.input("x", (4, 4, 3)), name="alone"))
    return Case(graph, inputs={"x": np.ones((2, 4, 4, 3), np.float32)})


def _row_of_labels() -> Case:
    case = _loss_case("MeanSquaredError", {})
    return replace(case, labels={"end": case.labels["end"][:1]})


REFUSED: dict[str, tuple[Case, str]] = {
    "call": (Case(ApiCall("torch.add")), "not 'api-call'"),
    "goal": (_case(Procedure(goal=Goal.FIT, loss=Recipe("MeanSquaredError"))), "the goal is 'fit'"),
    "mode": (_case(Procedure(mode=Mode.COMPILED)), "torch:compile"),
    "policy": (_case(Procedure(dtype="mixed_float16")), "dtype policy mixed_float16"),
    "mask": (_on(_masked(), (2, 4, 3)), "a mask reaches 'lstm' (LSTM)"),
    "parameter": (_with(virtual_batch_size=2), "virtual_batch_size=2 of node 'conv'"),
    "rules": (_with(groups=5), "the catalogue rules it out"),
    "weights": (replace(_case(), weights={}), "weight 'conv/kernel' is missing"),
    "inputs": (replace(_case(), inputs={}), "input 'x' is missing"),
    **{f"layer {name}": (_layer_alone(name), reason) for name, reason in REFUSED_LAYERS.items()},
    **{f"loss {name}": (_loss_case(name, {}), reason) for name, reason in REFUSED_LOSSES.items()},
    "parameter of a loss": (
        _loss_case("CosineSimilarity", {"dtype": "float64"}),
        "dtype='float64' of loss CosineSimilarity",
    ),
    "no reduction": (_loss_case("Hinge", {"reduction": None}), "reduction=None of loss Hinge"),
    "value of a loss": (_loss_case("CategoricalGeneralizedCrossEntropy", {"q": 1.5}), "q=1.5"),
    "type of a loss' parameter": (_loss_case("Huber", {"delta": "wide"}), "the catalogue rules it out"),
    "labels": (_row_of_labels(), "labels of shape (1, 4) do not fit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_names_its_reason(name: str) -> None:
    case, reason = REFUSED[name]
    found = lower_to_torch(case)
    assert isinstance(found, str)
    assert reason in found


def test_a_loss_takes_what_it_does_not_read_at_its_default_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TORCH_LOSSES, "Huber", replace(TORCH_LOSSES["Huber"], reads=()))
    assert isinstance(lower_to_torch(_loss_case("Huber", {"delta": 1.0})), tuple)
    found = lower_to_torch(_loss_case("Huber", {"delta": 2.0}))
    assert isinstance(found, str)
    assert "delta=2.0 of loss Huber" in found


@pytest.mark.torch
@pytest.mark.parametrize("params", [{}, {"tie_weights": False}, {"logit_soft_cap": 2.0}])
def test_rows_of_a_table_and_back(params: dict[str, Any], ask: Ask) -> None:
    build = GraphBuilder("back")
    x = build.input("x", (4, 3))
    end = build.add("ReversibleEmbedding", x, name="back", input_dim=5, output_dim=3, **params)
    graph = build.build(end)
    node = replace(graph.nodes[0], call_params={"reverse": True})
    case = replace(_on(replace(graph, nodes=(node,)), (2, 4, 3)), procedure=Procedure(trace=True))
    (outcome,) = ask([case])
    (trial,) = _measured("ReversibleEmbedding", case, outcome)
    (pulled_back,) = ask([trial.case])
    _check_gradients(trial, pulled_back)


def test_a_mask_that_nobody_reads_is_no_matter() -> None:
    build = GraphBuilder("masked")
    masked = build.add("Masking", build.input("x", (4, 3)), name="mask")
    graph = build.build(build.add("Flatten", masked, name="flat"))
    assert isinstance(lower_to_torch(_on(graph, (2, 4, 3))), tuple)


def test_random_layers_are_refused_in_training_alone() -> None:
    build = GraphBuilder("random")
    graph = build.build(build.add("Dropout", build.input("x", (4,)), name="drop", rate=0.5))
    case = _on(graph, (2, 4))
    assert isinstance(lower_to_torch(case), tuple)
    found = lower_to_torch(replace(case, procedure=Procedure(training=True)))
    assert isinstance(found, str)
    assert "draws random numbers" in found
