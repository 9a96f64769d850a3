"""A LayerGraph in float64: shapes, weights, and the true value of every node.

The ``kappa`` of an Evaluation is local: it is the rounding of that one node on the inputs it was given,
and knows nothing of what earlier nodes did to them. That is what an isolated replay is judged by.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.errors import DataError
from ...core.graph import LayerGraph, Node, Ref
from ...core.jsontext import Json
from ...core.policies import Policy, cast, policy_named
from ..catalogue import layer
from ..masks_and_states import MasksAndStates, is_stateful
from ..spec import Evaluation, LayerSpec, Shape, ShapeError, WeightSpec
from .carried import concatenate
from .rounding import K

#: No variance that ``calibrate`` sets is smaller: a channel that is constant on the batch stays usable.
LEAST_VARIANCE = 1e-3

_BIAS_SPREAD = 0.1


# Shapes and weights


def infer_shapes(graph: LayerGraph, batch: int | None) -> dict[str, tuple[Shape, ...]]:
    """The shapes of every input and every node's outputs, by name, batch axis included.

    Raises:
        ShapeError: naming the node whose inputs or parameters do not fit.
        UsageError: if the catalogue does not know a layer.
    """
    found: dict[str, tuple[Shape, ...]] = {item.name: ((batch, *item.shape),) for item in graph.inputs}
    for node in graph.nodes:
        found[node.name] = _node_shapes(node, [_output(found[ref.node], ref) for ref in node.inputs])
    return found


def _output(shapes: tuple[Shape, ...], ref: Ref) -> Shape:
    if not 0 <= ref.index < len(shapes):
        raise ShapeError(f"{ref.node!r}: expected an output index below {len(shapes)}. Received: {ref.index}")
    return shapes[ref.index]


def _node_shapes(node: Node, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    spec = layer(node.op)
    try:
        _check_inputs(spec, shapes)
        return spec.shape(_params(spec, node), shapes)
    except ShapeError as error:
        raise ShapeError(f"node {node.name!r} ({node.op}): {error}") from error
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        # a rule that stumbles over odd parameters refuses them
        raise ShapeError(f"node {node.name!r} ({node.op}): {type(error).__name__}: {error}") from error


def _params(spec: LayerSpec, node: Node) -> dict[str, Json]:
    """Arguments of the constructor and of the call, with the defaults."""
    declared = {parameter.name for parameter in spec.call_parameters}
    for name in node.call_params:
        if name not in declared:
            raise ShapeError(
                f"Argument `{name}` of the call is not declared. Received: {name}={node.call_params[name]!r}"
            )
    return spec.complete({**node.params, **node.call_params})


def _check_inputs(spec: LayerSpec, shapes: Sequence[Shape]) -> None:
    least, most = spec.arity
    if len(shapes) < least or (most is not None and len(shapes) > most):
        wanted = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
        raise ShapeError(f"expected {wanted} inputs. Received: {len(shapes)}")


def declare_weights(graph: LayerGraph) -> dict[str, WeightSpec]:
    """Every weight by ``layer/weight``, in the order of the graph and of each layer; shared layers once."""
    shapes = infer_shapes(graph, None)
    found: dict[str, WeightSpec] = {}
    for node in graph.nodes:
        spec = layer(node.op)
        declared = spec.weights(_params(spec, node), [_output(shapes[ref.node], ref) for ref in node.inputs])
        for name, weight in declared.items():
            first = found.setdefault(f"{node.layer}/{name}", weight)
            if first.shape != weight.shape:
                raise ShapeError(
                    f"layer {node.layer!r} is shared by inputs that need different weights: expected {name} of shape "
                    f"{first.shape}. Received: {weight.shape}"
                )
    return found


def count_products(graph: LayerGraph) -> int:
    """Products of weights and values in one forward pass of one instance, roughly: what a reference run costs.

    A kernel is applied once per position between the batch axis and the last, before or after the layer,
    whichever are more; so a recurrent layer counts its time steps.

    Raises:
        ShapeError: if inputs or parameters do not fit.
        UsageError: if the catalogue does not know a layer.
    """
    shapes = infer_shapes(graph, 1)
    total = 0
    for node in graph.nodes:
        given = [_output(shapes[ref.node], ref) for ref in node.inputs]
        positions = max(math.prod(size or 1 for size in shape[1:-1]) for shape in [*given, *shapes[node.name]])
        spec = layer(node.op)
        declared = spec.weights(_params(spec, node), given).values()
        total += positions * sum(math.prod(weight.shape) for weight in declared if weight.role == "kernel")
    return total


def draw_weights(graph: LayerGraph, rng: np.random.Generator, dtype: str = "float32") -> dict[str, Array]:
    """Values for every weight: activations keep their scale, and no term of a formula is switched off.

    A bias of zero, a scale of one and a mean of zero would hide a layer that ignores them.
    """
    return {name: cast(_draw(spec, rng), dtype) for name, spec in declare_weights(graph).items()}


def _draw(spec: WeightSpec, rng: np.random.Generator) -> Array:
    if spec.role == "kernel":
        return rng.normal(0.0, np.sqrt(2.0 / max(1, spec.fan_in)), spec.shape)
    if spec.role in ("scale", "variance"):
        return rng.uniform(0.5, 1.5, spec.shape)
    drawn = rng.normal(0.0, _BIAS_SPREAD, spec.shape)
    return np.where(np.abs(drawn) < 1e-3, 1e-3, drawn)


# Values


def evaluate_node(
    node: Node,
    inputs: Sequence[Array],
    weights: Arrays,
    *,
    training: bool = False,
    dtype: str | None = None,
    beside: MasksAndStates | None = None,
    held: Arrays | None = None,
) -> tuple[Evaluation, ...]:
    """One node alone, on inputs and weights of the dtype under test, which are promoted to float64.

    Args:
        weights: by ``layer/weight``; those of other layers are ignored.
        training: the layer is called with ``training=True``.
        dtype: the policy it runs under, which casts inputs and weights first.
        beside: what travels beside the values of a graph, and is told of this node: masks, and states of stateful
            layers. Without it there is no mask, and every call starts anew.
        held: what ``constants`` found at the point where a derivative is taken.

    Raises:
        ShapeError: if inputs or parameters do not fit the layer, or nobody says what it computes with them.
        DataError: if a weight is missing or has another shape.
    """
    shapes: list[Shape] = [x.shape for x in inputs]
    _node_shapes(node, shapes)
    if unsaid := layer(node.op).unsaid(_params(layer(node.op), node)):
        raise ShapeError(f"node {node.name!r} ({node.op}): {unsaid}")
    own = {**_own_weights(node, shapes, weights), **(held or {})}
    policy = policy_named(dtype)
    if policy.half:
        return _evaluate_in_half(node, inputs, own, training, policy, beside)
    return _evaluate(node, [_promote(x) for x in inputs], own, training, beside)


def constants(node: Node, inputs: Sequence[Array], weights: Arrays) -> dict[str, Array]:
    """What the layer computes from its inputs while it trains, and no gradient flows through."""
    spec = layer(node.op)
    if spec.held is None:
        return {}
    own = _own_weights(node, [x.shape for x in inputs], weights)
    return spec.held(_params(spec, node), [_promote(x) for x in inputs], own)


def _evaluate_in_half(
    node: Node,
    inputs: Sequence[Array],
    weights: Arrays,
    training: bool,
    policy: Policy,
    beside: MasksAndStates | None,
) -> tuple[Evaluation, ...]:
    """On what the policy's casts leave of inputs and weights.

    Some layers cast nothing and compute in float32 throughout, which is no less right: what casting does to the
    result is within the bound.
    """
    exact = [_promote(x) for x in inputs], weights
    rounded = (
        [_rounded_to_policy(x, policy) for x in inputs],
        {name: _rounded_to_policy(w, policy) for name, w in weights.items()},
    )
    same = beside.copy() if beside is not None else None  # both start from the same masks and states
    found = _evaluate(node, *rounded, training, beside)
    if all(map(_equal, exact[0], rounded[0])) and all(_equal(w, rounded[1][name]) for name, w in weights.items()):
        return found
    return tuple(map(_either, found, _evaluate(node, *exact, training, same), [policy.roundoff] * len(found)))


def _rounded_to_policy(x: Array, policy: Policy) -> Array:
    return _promote(cast(x, policy.compute))


def _equal(a: Array, b: Array) -> bool:
    return a is b or np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _either(rounded: Evaluation, exact: Evaluation, roundoff: float) -> Evaluation:
    """The first, with a bound that the second is inside of."""
    if rounded.value.dtype.kind != "f" or rounded.value.shape != exact.value.shape:
        return rounded
    with np.errstate(all="ignore"):
        apart = np.abs(rounded.value - exact.value) / (K * roundoff)
        kappa = np.maximum(rounded.kappa, exact.kappa)
    return Evaluation(rounded.value, kappa + np.where(np.isfinite(apart), apart, 0.0))


def _evaluate(
    node: Node, inputs: Sequence[Array], weights: Arrays, training: bool, beside: MasksAndStates | None
) -> tuple[Evaluation, ...]:
    spec = layer(node.op)
    params = _params(spec, node)
    with np.errstate(all="ignore"):  # overflow and NaN are answers here, not accidents
        if beside is not None:
            return beside.evaluate(node, spec, params, inputs, weights, training)
        reference = spec.training or spec.reference if training else spec.reference
        return reference(params, inputs, weights)


def _promote(x: Array) -> Array:
    return x if x.dtype == np.float64 else x.astype(np.float64)


def _own_weights(node: Node, shapes: Sequence[Shape], weights: Arrays) -> dict[str, Array]:
    spec = layer(node.op)
    found = {}
    for name, declared in spec.weights(_params(spec, node), shapes).items():
        key = f"{node.layer}/{name}"
        if key not in weights:
            raise DataError(f"weight {key!r} of node {node.name!r} is missing")
        if weights[key].shape != declared.shape:
            raise DataError(f"weight {key!r}: expected shape {declared.shape}. Received: {weights[key].shape}")
        found[name] = _promote(weights[key])
    return found


def evaluate(
    graph: LayerGraph,
    inputs: Arrays,
    weights: Arrays,
    *,
    keep: Collection[str] | None = None,
    training: bool = False,
    dtype: str | None = None,
    beside: MasksAndStates | None = None,
) -> dict[str, tuple[Evaluation, ...]]:
    """The float64 forward pass: every node's outputs by node key. Masks and states are carried along.

    Args:
        beside: filled with the masks and states; one of an earlier pass has the states to start from.
        keep: the keys to return; all by default. Whatever is not kept is freed after its last use, so
            ``keep`` bounds the memory of a large model.
        dtype: the policy it runs under; what flows is not rounded, inputs and weights are.

    Raises:
        ShapeError: if inputs or parameters do not fit.
        DataError: if an input or weight is missing or has another shape.
    """
    walk = _EvaluationWalk(graph, inputs)
    beside = beside or MasksAndStates()
    found: dict[str, tuple[Evaluation, ...]] = {}
    for node in graph.nodes:
        evaluations = evaluate_node(node, walk.arguments(node), weights, training=training, dtype=dtype, beside=beside)
        walk.settle(node, [evaluation.value for evaluation in evaluations])
        if keep is None or node.key in keep:
            found[node.key] = evaluations
    return found


def evaluate_batches(
    graph: LayerGraph,
    inputs: Arrays,
    weights: Arrays,
    batch_size: int | None,
    *,
    training: bool = False,
    dtype: str | None = None,
) -> dict[str, tuple[Evaluation, ...]]:
    """The forward pass in slices of ``batch_size``, one after another, as stateful layers tell them apart."""
    rows = min((len(array) for array in inputs.values()), default=0)
    if not batch_size or batch_size >= rows or not is_stateful(graph):
        return evaluate(graph, inputs, weights, training=training, dtype=dtype)
    beside, parts = MasksAndStates(), []
    for start in range(0, rows, batch_size):
        few = {name: array[start : start + batch_size] for name, array in inputs.items()}
        beside = beside.next_batch()
        parts.append(evaluate(graph, few, weights, training=training, dtype=dtype, beside=beside))
    return {
        key: tuple(
            concatenate([_whole(part[key][index]) for part in parts], axis=0) for index in range(len(parts[0][key]))
        )
        for key in parts[0]
    }


def _whole(evaluation: Evaluation) -> Evaluation:
    return Evaluation(evaluation.value, np.broadcast_to(evaluation.kappa, evaluation.value.shape))


class _EvaluationWalk:
    """The values alive at one point of a forward pass; each is dropped after its last use."""

    def __init__(self, graph: LayerGraph, inputs: Arrays) -> None:
        self._uses = Counter(ref.node for node in graph.nodes for ref in node.inputs)
        self._alive: dict[str, Sequence[Array]] = {}
        for item in graph.inputs:
            if item.name not in inputs:
                raise DataError(f"input {item.name!r} is missing; there are {', '.join(sorted(inputs)) or 'none'}")
            self._alive[item.name] = (_promote(inputs[item.name]),)

    def arguments(self, node: Node) -> list[Array]:
        return [self._alive[ref.node][ref.index] for ref in node.inputs]

    def settle(self, node: Node, values: Sequence[Array]) -> None:
        if self._uses[node.name]:
            self._alive[node.name] = values
        for ref in node.inputs:
            self._uses[ref.node] -= 1
            if not self._uses[ref.node]:
                self._alive.pop(ref.node, None)


# Calibration


def calibrate(graph: LayerGraph, weights: Arrays, inputs: Arrays) -> dict[str, Array]:
    """Weights under which the graph behaves like a trained one on ``inputs``.

    Every BatchNormalization gets the statistics of its own input as moving mean and variance, and the
    last layer with a kernel before each output is scaled so that its pre-activation has a standard
    deviation of one: logits neither saturate nor vanish. Other weights are returned as they are; a
    layer that is called more than once is calibrated on its first call and never scaled, and one whose
    output does not scale with its kernel (recurrent layers, attention) is left alone.
    """
    calibrated = dict(weights)
    last = _last_kernels(graph)
    walk = _EvaluationWalk(graph, inputs)
    beside = MasksAndStates()
    for node in graph.nodes:
        arguments = walk.arguments(node)
        if node.op == "BatchNormalization" and node.call == 0:
            calibrated.update(_statistics(node, arguments[0], calibrated))
        if node.name in last:
            calibrated.update(_unit_logits(node, arguments, calibrated))
        walk.settle(node, [item.value for item in evaluate_node(node, arguments, calibrated, beside=beside)])
    return calibrated


def _statistics(node: Node, x: Array, weights: Arrays) -> dict[str, Array]:
    axis = layer(node.op).complete(node.params)["axis"] % x.ndim
    others = tuple(index for index in range(x.ndim) if index != axis)
    mean_key, variance_key = f"{node.layer}/moving_mean", f"{node.layer}/moving_variance"
    variance = np.maximum(np.var(x, axis=others), LEAST_VARIANCE)
    return {
        mean_key: np.mean(x, axis=others).astype(weights[mean_key].dtype),
        variance_key: variance.astype(weights[variance_key].dtype),
    }


def _last_kernels(graph: LayerGraph) -> set[str]:
    """Names of the nodes with a kernel that are met first on the way back from the outputs."""
    declared = declare_weights(graph)
    kernels = [key.split("/") for key, spec in declared.items() if spec.role == "kernel"]
    with_kernel = {parts[0] for parts in kernels}
    linear = {
        parts[0] for parts in kernels if len(parts) == 2
    }  # a nested kernel stands inside of a recurrence or a gate
    calls = Counter(node.layer for node in graph.nodes)
    by_name = {node.name: node for node in graph.nodes}
    found: set[str] = set()
    seen: set[str] = set()
    pending = [ref.node for ref in graph.outputs]
    while pending:
        name = pending.pop()
        node = by_name.get(name)
        if node is None or name in seen:
            continue
        seen.add(name)
        if node.layer in with_kernel:
            found |= {name} if calls[node.layer] == 1 and node.layer in linear else set()
        else:
            pending.extend(ref.node for ref in node.inputs)
    return found


def _unit_logits(node: Node, arguments: Sequence[Array], weights: Mapping[str, Array]) -> dict[str, Array]:
    """Kernel and bias divided by the standard deviation of the pre-activation; the bias stays non-zero."""
    plain = Node(node.name, node.op, node.inputs, {**node.params, "activation": None}, node.layer, node.call)
    spread = float(np.std(evaluate_node(plain, arguments, weights)[0].value))
    if not np.isfinite(spread) or spread == 0.0:
        return {}
    spec = layer(node.op)
    declared = spec.weights(_params(spec, node), [x.shape for x in arguments])
    kernel = [name for name, weight in declared.items() if weight.role == "kernel"][-1]
    names = [kernel, *(name for name, weight in declared.items() if weight.role == "bias")]
    keys = [f"{node.layer}/{name}" for name in names]
    return {key: (weights[key] / spread).astype(weights[key].dtype) for key in keys}
