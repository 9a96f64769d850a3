"""What a training step leaves in a layer besides what the optimizer moved: moving statistics, frozen weights.

What has no gradient stays as it was, except what a layer moves itself while it trains. BatchNormalization does so by a
formula, which is asked on what flowed into it on each target; the rest is left to the vote.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array, dtype_name, unit_roundoff
from ...core.case import Case
from ...core.channels import is_finite
from ...core.errors import DataError
from ...core.graph import LayerGraph, Node
from ...core.model import node_inputs
from ...core.outcome import Outcome
from ...core.traits import Traits
from ...operators.catalogue import has_layer, layer
from ...operators.layers.normalization import mean_shown
from ...operators.layers.renormalization import after_call, towards
from ...operators.reference.evaluate import evaluate_node
from ...operators.reference.rounding import error_units, exact, growth
from ...operators.spec import Evaluation, ShapeError
from .node_errors import NodeErrors, absolute_error
from .output_masks import mask_into
from .steps import error_spread
from .votes import judge_by_vote

Outcomes = Mapping[str, Outcome]
Arrays = Mapping[str, Array]

_MOVES_ITSELF = frozenset(["BatchNormalization", "SpectralNormalization"])


def judge_states(case: Case, completed: Outcomes, traits: Traits) -> list[NodeErrors]:
    """One judgement per layer that holds something without a gradient; nothing where there is no graph."""
    if not isinstance(case.subject, LayerGraph):
        return []
    stepped = {target: outcome for target, outcome in completed.items() if outcome.trace.weights}
    first = {node.layer: node for node in reversed(case.subject.nodes)}
    found = [judge_state(case, node, stepped, traits) for node in reversed(first.values())]
    return [errors for errors in found if errors.errors]


def judge_state(case: Case, node: Node, completed: Outcomes, traits: Traits) -> NodeErrors:
    """What one layer holds after the step; without errors where it holds nothing of the kind."""
    states = {target: _states(node, outcome) for target, outcome in completed.items() if outcome.completed}
    names: set[str] = set().union(*states.values())
    # where one target has a gradient and another has none, the weight is not the same thing to them
    moved = {name for name in names for target in states if f"weight:{name}" in completed[target].trace.gradients}
    states = {target: {n: array for n, array in own.items() if n not in moved} for target, own in states.items()}
    states = {target: own for target, own in states.items() if own}
    errors: dict[str, float] = {}
    absolute: dict[str, float] = {}
    for target, own in states.items():
        truths = _truths(case, node, completed[target], own)
        if truths is None or set(own) != names - moved:
            return judge_by_vote(node, states, traits, complete=True)
        units = [_units(array, truths[name], completed[target], case) for name, array in own.items()]
        errors[target] = max(units, default=0.0)
        absolute[target] = max((absolute_error(own[name], truths[name]) for name in own), default=0.0)
    return NodeErrors(node, errors, absolute, error_spread(errors.values()))


def _states(node: Node, outcome: Outcome) -> dict[str, Array]:
    return {name: array for name, array in outcome.trace.weights.items() if name.startswith(f"{node.layer}/")}


def _truths(case: Case, node: Node, outcome: Outcome, states: Arrays) -> dict[str, Evaluation] | None:
    """By name, what the layer should hold on this target; None where nothing says so."""
    if not has_layer(node.op) or not all(name in case.weights for name in states):
        return None
    # a variable may be of integers, which drop the rest of what they are set to
    kept = {name: exact(case.weights[name].astype(array.dtype).astype(np.float64)) for name, array in states.items()}
    if not case.procedure.training or not _may_move(node):
        return kept
    moved = _moved_statistics(case, node, outcome)
    return None if moved is None else {**kept, **{name: moved[name] for name in moved if name in states}}


def _may_move(node: Node) -> bool:
    """Whether the layer, or a layer inside of it, moves something itself while it trains."""
    return node.op in _MOVES_ITSELF or any(name in repr(node.params) for name in _MOVES_ITSELF)


def _moved_statistics(case: Case, node: Node, outcome: Outcome) -> dict[str, Evaluation] | None:
    """BatchNormalization's moving statistics after one call; None for others, or more calls."""
    assert isinstance(case.subject, LayerGraph)
    calls = sum(other.layer == node.layer for other in case.subject.nodes)
    try:
        (x,) = node_inputs(case.subject, node, case.inputs, outcome.trace.nodes)
        evaluate_node(node, [x], case.weights, training=True)  # its parameters fit
        mask = mask_into(case, node, outcome.trace.nodes) if node.op == "BatchNormalization" else None
    except (KeyError, ValueError, ShapeError, DataError):
        return None
    fits = mask is None or mask.ndim == x.ndim - 1
    if node.op != "BatchNormalization" or calls > 1 or not is_finite(x).all() or not fits:
        return None
    params = layer(node.op).complete(node.params)
    axis = int(params["axis"]) % x.ndim
    others = tuple(index for index in range(x.ndim) if index != axis)
    values = x.astype(np.float64)
    grown = growth(x.size // max(1, x.shape[axis]))
    shown = None if mask is None else np.broadcast_to(mask[..., None], x.shape)
    centre = mean_shown(values, shown, others)
    mean = Evaluation(centre.reshape(-1), grown * mean_shown(np.abs(values), shown, others).reshape(-1))
    # some kernels subtract the square of the mean from the mean of the squares
    squares = mean_shown(np.square(values), shown, others).reshape(-1)
    variance = Evaluation(mean_shown(np.square(values - centre), shown, others).reshape(-1), 2.0 * grown * squares)
    before = {name: case.weights[f"{node.layer}/{name}"] for name in layer(node.op).weights(params, [x.shape])}
    if params["renorm"]:
        after = after_call(params, _deviation(variance, float(params["epsilon"])), mean, before)
    else:
        batch, momentum = {"moving_mean": mean, "moving_variance": variance}, float(params["momentum"])
        after = {name: towards(before[name], found, momentum) for name, found in batch.items()}
    return {f"{node.layer}/{name}": found for name, found in after.items()}


def _deviation(variance: Evaluation, epsilon: float) -> Evaluation:
    value = np.sqrt(variance.value + epsilon)
    return Evaluation(value, value + variance.kappa / (2.0 * np.where(value > 0.0, value, 1.0)))


def _units(after: Array, truth: Evaluation, outcome: Outcome, case: Case) -> float:
    """In roundoffs of the coarsest floats on the way, and never of float64, to which not all backends hold."""
    if after.shape != truth.value.shape:
        return float("inf")
    flowing = {dtype_name(array) for array in (*outcome.trace.nodes.values(), *case.inputs.values())}
    dtype = max({"float32", dtype_name(after), *flowing}, key=lambda name: unit_roundoff(name) or 0.0)
    return float(error_units(after, truth, dtype).max(initial=0.0))
