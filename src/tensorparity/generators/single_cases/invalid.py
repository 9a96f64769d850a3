"""What documentation rules out: whoever accepts it is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, Case
from ...core.graph import GraphBuilder, LayerGraph, Node, Ref
from ...core.jsontext import Json
from ...core.procedure import Goal, Procedure, Recipe
from ...operators.catalogue import layer, layer_names
from ...operators.functions.activation_calls import ACTIVATIONS, ActivationSpec
from ...operators.functions.text_layers import TEXT_LAYERS, TextLayerSpec
from ...operators.losses.catalogue import LOSSES
from ...operators.losses.spec import REDUCTION
from ...operators.metrics.catalogue import METRICS, metric_case
from ...operators.metrics.spec import MetricSpec
from ...operators.optimizers.catalogue import OPTIMIZERS
from ...operators.optimizers.options import OPTION_CONFLICTS, OPTIONS
from ...operators.reference.evaluate import draw_weights, infer_shapes
from ...operators.spec import Conflict, Parameter, Shape, ShapeError
from ..networks.networks import NetworkGenerator, NetworkSettings
from .activation_functions import activation_case
from .text_layers import text_case

#: Networks of one layer that are drawn for one that has it, and in which each of the wrong values alone is right.
_ATTEMPTS = 24


def invalid_cases(seed: int) -> Iterator[Case]:
    """One case for every value and combination that is ruled out, in an order drawn from the seed.

    For a loss or an optimizer a training step of one layer, for a layer the layer alone, for a metric or a function
    one call.
    """
    steps = (functools.partial(step_case, *recipes) for recipes in [*_losses(), *_optimizers()])
    makers: list[Callable[[], Case | None]] = [*_layers(seed), *steps, *_metrics(seed), *_functions(seed)]
    for index in np.random.default_rng([seed, 0xBAD]).permutation(len(makers)):
        case = makers[index]()
        if case is not None:
            yield case


def _layers(seed: int) -> Iterator[Callable[[], Case | None]]:
    for name in layer_names():
        for params in _ruled_out(layer(name).parameters, layer(name).conflicts):
            yield functools.partial(layer_case, name, params, seed)


def layer_case(name: str, wrong: dict[str, Json], seed: int) -> Case | None:
    """A use of the layer that is right, but for what is ruled out; None where none was drawn."""
    settings = NetworkSettings(layers=(name,), unit=True, goal=Goal.FORWARD, steered=False)
    generator = NetworkGenerator(seed, settings)
    best: tuple[int, Case] | None = None
    for _ in range(_ATTEMPTS):
        case = generator.next().case
        assert isinstance(case.subject, LayerGraph)
        used = next((node for node in case.subject.nodes if node.op == name), None)
        if used is None:
            continue
        shapes = _input_shapes(case.subject, used)
        right = sum(_fits(used, {key: value}, shapes) for key, value in wrong.items()) if len(wrong) > 1 else 1
        if best is None or right > best[0]:
            best = right, _with_wrong(case, case.subject, used, wrong, shapes)
        if right == len(wrong):
            break
    return None if best is None else best[1]


def _input_shapes(graph: LayerGraph, used: Node) -> list[Shape]:
    shapes = infer_shapes(graph, None)
    return [shapes[ref.node][ref.index] for ref in used.inputs]


def _fits(used: Node, other: dict[str, Json], shapes: Sequence[Shape]) -> bool:
    spec = layer(used.op)
    try:
        spec.shape(spec.complete({**used.params, **used.call_params, **other}), shapes)
    except ShapeError:
        return False
    return True


def _with_wrong(case: Case, graph: LayerGraph, used: Node, wrong: dict[str, Json], shapes: Sequence[Shape]) -> Case:
    """The layer with these values, and what leads to it: what stands behind it might refuse in its place."""
    other = replace(used, params={**used.params, **wrong})
    needed = graph.leading_to(used.name)
    nodes = tuple(other if node is used else node for node in graph.nodes if node.name in needed)
    inputs = tuple(item for item in graph.inputs if item.name in needed)
    return Case(
        LayerGraph(inputs, nodes, (Ref(used.name),), graph.name),
        Procedure(),
        inputs={item.name: case.inputs[item.name] for item in inputs},
        weights=_weights_of(case, [node for node in nodes if node is not other])
        | _fitting_weights(case, other, shapes),
        seed=case.seed,
    )


def _weights_of(case: Case, nodes: Sequence[Node]) -> dict[str, Array]:
    layers = {node.layer for node in nodes}
    return {name: weight for name, weight in case.weights.items() if name.partition("/")[0] in layers}


def _fitting_weights(case: Case, node: Node, shapes: Sequence[Shape]) -> dict[str, Array]:
    """Weights of the sizes that the wrong values ask for, or whoever accepts them would stumble over those."""
    spec = layer(node.op)
    own = _weights_of(case, [node])
    try:
        declared = spec.weights(spec.complete(node.params), shapes)
    except ShapeError:
        return own
    keys = {f"{node.layer}/{name}": weight.shape for name, weight in declared.items()}
    fitting = {key: weight for key, weight in own.items() if keys.get(key) == weight.shape}
    return {key: np.ones(shape, dtype=np.float32) for key, shape in keys.items()} | fitting


def _losses() -> Iterator[tuple[Recipe, Recipe]]:
    """Of all losses in turn, what one of them alone has, and by one of them what they share."""
    plain = Recipe("SGD")
    for params in _ruled_out([REDUCTION]):
        yield Recipe("MeanSquaredError", params), plain
    for spec in LOSSES.values():
        for params in _ruled_out(spec.parameters):
            yield Recipe(spec.name, {**_required_arguments(spec.parameters), **params}), plain


def _optimizers() -> Iterator[tuple[Recipe, Recipe]]:
    plain = Recipe("MeanSquaredError")
    for params in _ruled_out(OPTIONS, OPTION_CONFLICTS):
        yield plain, Recipe("SGD", params)
    for spec in OPTIMIZERS.values():
        for params in _ruled_out(spec.parameters):
            yield plain, Recipe(spec.name, {**_required_arguments(spec.parameters), **params})


def _metrics(seed: int) -> Iterator[Callable[[], Case | None]]:
    for spec in METRICS.values():
        for params in _ruled_out(spec.parameters):
            yield functools.partial(_metric, spec, params, seed)


def _metric(spec: MetricSpec, wrong: dict[str, Json], seed: int) -> Case:
    rng = np.random.default_rng([seed, 0xBAD])
    needed = _required_arguments(spec.parameters)
    case = metric_case(spec, needed, rng, weighted=False)
    assert isinstance(case.subject, ApiCall)
    return replace(case, subject=replace(case.subject, kwargs={**needed, **wrong}))


def _functions(seed: int) -> Iterator[Callable[[], Case | None]]:
    for spec in ACTIVATIONS.values():
        for params in _ruled_out(spec.parameters):
            yield functools.partial(_function, spec, params, seed)
    for layer_of_strings in TEXT_LAYERS.values():
        for params in _ruled_out(layer_of_strings.parameters, layer_of_strings.conflicts):
            yield functools.partial(_of_strings, layer_of_strings, params, seed)


def _of_strings(spec: TextLayerSpec, wrong: dict[str, Json], seed: int) -> Case:
    needed = _required_arguments(spec.parameters)
    case = text_case(spec, needed, np.random.default_rng([seed, 0xBAD]))
    assert isinstance(case.subject, ApiCall)
    return replace(case, subject=replace(case.subject, kwargs={**needed, **wrong}))


def _function(spec: ActivationSpec, wrong: dict[str, Json], seed: int) -> Case:
    rng = np.random.default_rng([seed, 0xBAD])
    return activation_case(spec, {**_required_arguments(spec.parameters), **wrong}, rng, dtype="float32")


def _required_arguments(parameters: Sequence[Parameter]) -> dict[str, Json]:
    return {parameter.name: parameter.valid[0] for parameter in parameters if parameter.required}


def _ruled_out(parameters: Sequence[Parameter], conflicts: Sequence[Conflict] = ()) -> Iterator[dict[str, Json]]:
    for parameter in parameters:
        for value in parameter.invalid:
            yield {parameter.name: value}
    for conflict in conflicts:
        yield dict(conflict.params)


def step_case(loss: Recipe, optimizer: Recipe) -> Case:
    build = GraphBuilder("step")
    graph = build.build(build.add("Dense", build.input("x", (3,)), name="out", units=2, activation="softmax"))
    rng = np.random.default_rng(0)
    procedure = Procedure(Goal.UPDATE, training=True, loss=loss, optimizer=optimizer)
    inputs = {"x": rng.standard_normal((2, 3)).astype(np.float32)}
    sparse = LOSSES[loss.name].sparse
    labels = {"out": np.arange(2, dtype=np.int32) if sparse else np.eye(2, dtype=np.float32)}
    return Case(graph, procedure, inputs=inputs, labels=labels, weights=draw_weights(graph, rng))
