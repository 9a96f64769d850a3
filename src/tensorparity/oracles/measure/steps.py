"""The judges of a training step: the value of its loss, the loss' own gradient, the weights after the step.

There is one judge per stage. Trials of what a campaign doubts and cases that are replayed or reduced ask the same
one, so whatever is convicted here is convicted again there. Each asks the reference, on every target's own numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from ...core.arrays import Array, dtype_name
from ...core.case import Case
from ...core.channels import is_finite
from ...core.errors import DataError
from ...core.graph import LayerGraph, Node
from ...core.jsontext import Json
from ...core.outcome import Outcome
from ...core.policies import cast, coarser, policy_named
from ...core.traits import Traits
from ...operators.losses.alone import is_loss_alone
from ...operators.losses.catalogue import LOSSES, evaluate_loss, told_twice
from ...operators.optimizers.catalogue import OPTIMIZERS, evaluate_step, surroundings
from ...operators.reference.constraints import constrained, constraint_on, has_unknown_constraint
from ...operators.reference.rounding import K, error_units
from ...operators.spec import Evaluation, Mask, ShapeError
from .backward import Differentiated, GradientErrors, judge_gradients, loss_function, loss_terms
from .node_errors import NodeErrors, absolute_error
from .output_masks import output_masks
from .penalties import penalties_of

Outcomes = Mapping[str, Outcome]

#: Squares of larger gradients overflow, and optimizers are made of squares.
_LARGEST_GRADIENT = 1e15
#: Errors this share of their size apart are the same error.
_AS_FAR = 0.01


#: A constraint of which there is no formula.
UNKNOWN = "unknown"

# The value of the loss


def loss_of(case: Case, outcome: Outcome, *, otherwise: bool = False) -> Evaluation | None:
    """The sum over the outputs and what layers add, as our adapters take it.

    None where what a mask does to it, or what a layer adds, is not known.

    Args:
        otherwise: in the other way that is right, where there is one.
    """
    recipe, outputs = case.procedure.loss, outcome.outputs
    assert recipe is not None
    try:
        masks = output_masks(case, outcome.trace.nodes)
        parts = [
            evaluate_loss(recipe, labels, outputs[name], masks.get(name), otherwise=otherwise)
            for name, labels in case.labels.items()
        ]
        added = penalties_of(case, outcome.trace.nodes)
    except (DataError, ShapeError):
        return None
    parts += [added] if added else []
    value, kappa = sum(part.value for part in parts), sum(part.kappa + np.abs(part.value) for part in parts)
    return Evaluation(np.asarray(value), np.asarray(kappa))


def loss_error(case: Case, outcome: Outcome, value: float, traits: Traits) -> float:
    """Decision 5's e of a loss against its reference on the target's very outputs."""
    measured = _measure_loss(case, outcome, value, traits)
    return measured.error if measured else 0.0


def loss_truth(case: Case, outcome: Outcome, traits: Traits) -> Evaluation | None:
    """What the loss should be on the target's very outputs; None where there is no formula, or no loss."""
    recipe = case.procedure.loss
    if recipe is None or recipe.name not in LOSSES or not case.labels or outcome.trace.loss is None:
        return None
    if not set(case.labels) <= set(outcome.outputs):
        return None
    measured = _measure_loss(case, outcome, outcome.trace.loss, traits)
    return measured.truth if measured else None


@dataclass(frozen=True)
class _Measured:
    """A loss beside the nearer of the formulas that are right."""

    observed: Array
    truth: Evaluation
    error: float


def loss_formulas(case: Case, outcome: Outcome, traits: Traits) -> frozenset[str]:
    """Which formulas of a loss that is told twice explain what a target gave: none, one or both of them."""
    value = outcome.trace.loss
    if value is None or case.procedure.loss is None or not set(case.labels) <= set(outcome.outputs):
        return frozenset()
    names = ("declared", "otherwise")
    return frozenset(
        n for n, found in zip(names, _by_each_formula(case, outcome, value, traits), strict=False) if found.error <= K
    )


def _measure_loss(case: Case, outcome: Outcome, value: float, traits: Traits) -> _Measured | None:
    found = _by_each_formula(case, outcome, value, traits)
    return min(found, key=lambda measured: measured.error, default=None)


def _by_each_formula(case: Case, outcome: Outcome, value: float, traits: Traits) -> list[_Measured]:
    """Beside the declared formula first, then beside the other one that is right, where there is one."""
    assert case.procedure.loss is not None
    observed = observed_loss(case, outcome.target, value, traits)
    ways = (False, True) if told_twice(case.procedure.loss) else (False,)
    truths = [truth for way in ways if (truth := loss_of(case, outcome, otherwise=way)) is not None]
    errors = [float(error_units(observed, truth, dtype_name(observed)).max(initial=0.0)) for truth in truths]
    return [_Measured(observed, truth, error) for truth, error in zip(truths, errors, strict=True)]


def observed_loss(case: Case, target: str, value: float, traits: Traits) -> Array:
    """A loss as an array of the dtype that it is worth."""
    policy = policy_named(case.procedure.dtype)
    observed = np.asarray(value, policy.loss)
    return observed if policy.half else coarser(observed, policy, traits[target])  # losses are never of 16 bits


@dataclass(frozen=True)
class _FromFormula:
    """How far a loss is from its formula, in units of rounding: below it or above."""

    observed: float
    units: float

    def apart(self, other: _FromFormula) -> float:
        if np.isfinite(self.units) and np.isfinite(other.units):
            return abs(self.units - other.units)
        return 0.0 if np.array_equal(self.observed, other.observed, equal_nan=True) else float("inf")


def judge_loss(node: Node, case: Case, completed: Outcomes, traits: Traits) -> NodeErrors | None:
    """Each target's loss against the formula on its own outputs; None where there is no formula or no output."""
    recipe = case.procedure.loss
    if recipe is None or recipe.name not in LOSSES or not case.labels:
        return None
    errors: dict[str, float] = {}
    absolute: dict[str, float] = {}
    distances: list[_FromFormula] = []
    for target, outcome in completed.items():
        if outcome.trace.loss is None:
            continue  # it was run forward only, and has nothing to say
        if not set(case.labels) <= set(outcome.outputs):
            return None
        measured = _measure_loss(case, outcome, outcome.trace.loss, traits)
        if measured is None:
            return None
        observed, truth = measured.observed, measured.truth
        errors[target] = measured.error
        absolute[target] = absolute_error(observed, truth)
        below = bool(observed < truth.value)
        distances.append(_FromFormula(float(observed), -errors[target] if below else errors[target]))
    mutual = max((one.apart(other) for one, other in combinations(distances, 2)), default=0.0)
    return NodeErrors(node, errors, absolute, mutual) if errors else None


# The gradient of the loss


def judge_loss_gradient(case: Case, completed: Outcomes, traits: Traits) -> GradientErrors | None:
    """What the loss passes back to its predictions; None where they are not the same on all targets."""
    recipe = case.procedure.loss
    if recipe is None or recipe.name not in LOSSES or not completed:
        return None
    node = Node("loss", recipe.name, ())
    if is_loss_alone(case):
        function = loss_function(case)
        answers = _answers(completed, function.arguments) if function else {}
        return judge_gradients(node, answers, function, traits, of=case) if function else None
    outputs = _outputs(case)
    if not outputs or not _equal_outputs(completed, list(outputs)):
        return None
    names = {f"node:{key}": name for name, key in outputs.items()}
    first = next(iter(completed.values()))
    try:
        masks = output_masks(case, first.trace.nodes)
    except DataError:
        return None
    function = _loss_of_outputs(case, {at: first.outputs[name] for at, name in names.items()}, names, masks)
    return judge_gradients(node, _answers(completed, names), function, traits, of=case)


def _answers(completed: Outcomes, names: Mapping[str, object]) -> dict[str, dict[str, Array]]:
    return {
        target: {name: outcome.trace.gradients[name] for name in names if name in outcome.trace.gradients}
        for target, outcome in completed.items()
    }


def _outputs(case: Case) -> dict[str, str]:
    """The key of the node behind each output that has labels; nothing where the subject is no graph."""
    graph = case.subject
    if not isinstance(graph, LayerGraph):
        return {}
    nodes = {node.name: node.key for node in graph.nodes}
    return {ref.node: nodes[ref.node] for ref in graph.outputs if ref.node in case.labels and ref.node in nodes}


def _equal_outputs(completed: Outcomes, names: Sequence[str]) -> bool:
    first, *others = completed.values()
    if not all(name in first.outputs for name in names):
        return False
    return all(
        name in other.outputs and np.array_equal(first.outputs[name], other.outputs[name])
        for other in others
        for name in names
    )


def _loss_of_outputs(
    case: Case, predictions: Mapping[str, Array], names: Mapping[str, str], masks: Mapping[str, Mask]
) -> Differentiated:
    recipe = case.procedure.loss
    assert recipe is not None

    def terms(arrays: Sequence[Array], otherwise: bool = False) -> Evaluation:
        given = {names[at]: array for at, array in zip(predictions, arrays, strict=True)}
        return loss_terms(recipe, case.labels, given, masks, otherwise=otherwise)

    return Differentiated(terms, predictions, partial(terms, otherwise=True) if told_twice(recipe) else None)


# The weights after the step


def judge_update(case: Case, completed: Outcomes) -> NodeErrors | None:
    """Every target's weights against the optimizer's formula on its own gradients; None without a formula.

    Weights that are held to something afterwards are left to ``judge_constraint``. A target that gave nothing to hold
    against it is not judged: that does not make it right.
    """
    recipe = case.procedure.optimizer
    if recipe is None or recipe.name not in OPTIMIZERS:
        return None
    stepped = {target: outcome for target, outcome in completed.items() if stepped_weights(case, outcome)}
    errors = {target: update_error(case, outcome) for target, outcome in stepped.items()}
    return NodeErrors(
        Node(recipe.name, recipe.name, ()), errors, dict.fromkeys(errors, 0.0), error_spread(errors.values())
    )


def error_spread(errors: Collection[float]) -> float:
    """How differently the targets err. On gradients of their own, those that make one mistake are about as far off."""
    least, most = min(errors, default=0.0), max(errors, default=0.0)
    return 0.0 if most == least or most - least <= _AS_FAR * most else most - least


def update_error(case: Case, outcome: Outcome) -> float:
    """The largest e of a weight after the step, given the target's own gradient of it.

    Steps in float64 have float32's digits: rates and decays pass through float32 on every backend.
    """
    held = governed_weights(case)
    return _stepped_error(case, outcome, {name: None for name in outcome.trace.weights if name not in held})


def worst_weight(case: Case, outcome: Outcome, *, held: bool = False) -> str | None:
    """The weight that is furthest from where the step should have led; None where none is judged.

    Args:
        held: also of those that a constraint holds.
    """
    truths = stepped_truths(case, outcome, held=held)
    errors = {name: _distance(outcome, name, truth) for name, truth in truths.items()}
    return max(errors, key=lambda name: errors[name]) if errors else None


def stepped_truths(case: Case, outcome: Outcome, *, held: bool = False) -> dict[str, Evaluation]:
    """Where the optimizer's formula leads on the target's own gradients, and then a constraint; arguments as above."""
    governed = governed_weights(case)
    free: dict[str, Json] = {name: None for name in outcome.trace.weights if name not in governed}
    known = {name: constraint for name, constraint in governed.items() if constraint != UNKNOWN}
    return _truths(case, outcome, {**free, **known} if held else free)


def _stepped_error(case: Case, outcome: Outcome, constraints: Mapping[str, Json]) -> float:
    """The largest e of the weights that are named, each held to its constraint after the step."""
    truths = _truths(case, outcome, constraints)
    return max((_distance(outcome, name, truth) for name, truth in truths.items()), default=0.0)


def stepped_to(outcome: Outcome, name: str) -> Array:
    """A weight after the step in the dtype that it is worth: steps in float64 have float32's digits."""
    after = outcome.trace.weights[name]
    return cast(after, "float32") if dtype_name(after) == "float64" else after


def _distance(outcome: Outcome, name: str, truth: Evaluation) -> float:
    after = stepped_to(outcome, name)
    if after.shape != truth.value.shape:
        return float("inf")
    return float(error_units(after, truth, dtype_name(after)).max(initial=0.0))


def _truths(case: Case, outcome: Outcome, constraints: Mapping[str, Json]) -> dict[str, Evaluation]:
    recipe = case.procedure.optimizer
    pulls = {name[7:]: array for name, array in outcome.trace.gradients.items() if name.startswith("weight:")}
    found: dict[str, Evaluation] = {}
    for name, gradient in stepped_weights(case, outcome).items():
        if name not in constraints:
            continue
        assert recipe is not None
        around = surroundings(pulls, name)
        step = evaluate_step(recipe, case.weights[name], gradient, around=around).weight
        skipped = recipe.name == "LossScaleOptimizer" and not around.finite  # the step, and so what follows it
        found[name] = step if skipped else constrained(constraints[name], step)
    return found


# What weights are held to


def governed_weights(case: Case) -> dict[str, Json]:
    """The weights that a step holds to something, by ``layer/weight``; ``UNKNOWN`` where it is not known to what."""
    if not isinstance(case.subject, LayerGraph):
        return {}
    found: dict[str, Json] = {}
    for node in case.subject.nodes:
        own = [name for name in case.weights if name.startswith(f"{node.layer}/")]
        unknown = has_unknown_constraint(node)
        held = {name: UNKNOWN if unknown else constraint_on(node, name.partition("/")[2]) for name in own}
        found |= {name: constraint for name, constraint in held.items() if constraint is not None}
    return found


def holds_numbers(case: Case, node: Node, outcome: Outcome) -> bool:
    """Whether the weights that a layer holds to something are finite: what is not came from the optimizer."""
    own = [name for name in governed_weights(case) if name.startswith(f"{node.layer}/")]
    return all(is_finite(outcome.trace.weights[name]).all() for name in own if name in outcome.trace.weights)


def judge_constraints(case: Case, completed: Outcomes) -> list[NodeErrors]:
    """One judgement per layer that holds weights to something: on its own gradients, step and constraint together."""
    if not isinstance(case.subject, LayerGraph) or case.procedure.optimizer is None:
        return []
    first = {node.layer: node for node in reversed(case.subject.nodes)}
    found = [judge_constraint(case, node, completed) for node in reversed(first.values())]
    return [errors for errors in found if errors.errors]


def judge_constraint(case: Case, node: Node, completed: Outcomes) -> NodeErrors:
    """The weights of one layer that it holds to something; without errors where there are none.

    Norms in half precision may overflow on the way, which is nobody's fault.
    """
    own = {
        name: constraint
        for name, constraint in governed_weights(case).items()
        if name.startswith(f"{node.layer}/") and constraint != UNKNOWN
    }
    if not own or policy_named(case.procedure.dtype).half:
        return NodeErrors(node, {})
    stepped = {target: o for target, o in completed.items() if set(own) & set(stepped_weights(case, o))}
    try:
        errors = {target: _stepped_error(case, outcome, own) for target, outcome in stepped.items()}
    except ShapeError:
        return NodeErrors(node, {})
    return NodeErrors(node, errors, dict.fromkeys(errors, 0.0), error_spread(errors.values()))


def stepped_weights(case: Case, outcome: Outcome) -> dict[str, Array]:
    """The weights of an outcome that the optimizer's formula speaks of, and the gradient of each."""
    recipe = case.procedure.optimizer
    if recipe is None or recipe.name not in OPTIMIZERS:
        return {}
    gradients = {name: outcome.trace.gradients.get(f"weight:{name}") for name in outcome.trace.weights}
    return {
        name: gradient
        for name, gradient in gradients.items()
        if gradient is not None and name in case.weights and _can_be_squared(gradient)
    }


def _can_be_squared(gradient: Array) -> bool:
    return bool(np.isfinite(gradient).all()) and float(np.abs(gradient).max(initial=0.0)) < _LARGEST_GRADIENT
