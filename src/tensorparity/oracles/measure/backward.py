"""Who is wrong about a gradient: the vote says that the targets differ, the reference's derivatives say who may not.

The rule of ``kinks`` is asked whether the targets agree or not: all of them may be wrong alike. Only of a network the
gradients are left to the vote as long as it is undisputed, because rounding adds up from layer to layer, and the
reference's bound is of one. Where the catalogue has no reference, the vote stands as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name, is_floating, unit_roundoff
from ...core.case import Case
from ...core.channels import distance
from ...core.errors import TensorParityError
from ...core.evidence import Evidence, observed
from ...core.finding import Class
from ...core.graph import LayerGraph, Node, output_name
from ...core.outcome import Outcome
from ...core.policies import PLAIN, Policy, as_computed, coarser, holds, in_range, policy_named
from ...core.procedure import Recipe
from ...core.suspicion import WorstElement
from ...core.traits import Traits
from ...core.verdict import Kind
from ...operators.catalogue import has_reference, layer
from ...operators.losses.catalogue import loss, told_twice
from ...operators.losses.spec import REDUCTION
from ...operators.masks_and_states import MasksAndStates
from ...operators.reference.directional import Terms
from ...operators.reference.evaluate import constants, evaluate, evaluate_node
from ...operators.reference.penalties import Factors, output_factors, penalty_terms
from ...operators.reference.rounding import K, underflow
from ...operators.spec import Evaluation, Mask, ShapeError
from .diagnose import Accusation, accusation_of, blame
from .documented_freedoms import GRADIENTS_AT_KINKS
from .node_errors import NodeErrors
from .subgradients import Gradients, Slope, SubgradientTest, examine_gradients
from .votes import judge_by_vote
from .without_activations import without_activations

#: Layers whose formula in training is not the reference's in a graph.
_OTHERWISE_IN_TRAINING = frozenset(["BatchNormalization", "SpectralNormalization"])
#: One-sided differences of a larger layer take too long; where nobody disagrees, they are worth less.
_MOST_NUMBERS, _MOST_UNDISPUTED = 200_000, 20_000
_INPUT = "input:"

Answers = Mapping[str, Mapping[str, Array]]


@dataclass(frozen=True)
class Differentiated:
    """A function under the gradients: its terms, and the arrays by the names that targets give their gradients.

    Args:
        otherwise: its terms in another way that is right, too.
    """

    terms: Terms
    arguments: Mapping[str, Array]
    otherwise: Terms | None = None

    def of(self, answers: Answers) -> Differentiated:
        """By those arguments only that any target answers for; moving statistics, for one, have no gradient."""
        given = {name for arrays in answers.values() for name in arrays}
        inputs = any(name.startswith(_INPUT) for name in given)
        kept = {
            name: array
            for name, array in self.arguments.items()
            if name in given or (inputs and name.startswith(_INPUT))
        }

        def of_these(terms: Terms) -> Terms:
            return lambda arrays: terms(list({**self.arguments, **dict(zip(kept, arrays, strict=True))}.values()))

        return Differentiated(of_these(self.terms), kept, of_these(self.otherwise) if self.otherwise else None)


def layer_function(
    node: Node,
    inputs: Sequence[Array],
    weights: Arrays,
    cotangent: Array,
    *,
    training: bool,
    policy: Policy = PLAIN,
    penalized: bool = False,
) -> Differentiated | None:
    """A cotangent pulled back through one layer, as the catalogue's reference defines it; None where it does not.

    Args:
        penalized: together with what the layer adds to the loss for its outputs.
        policy: what the layer runs under: the derivative is that at the point where its casts have led.
    """
    inputs, weights = [coarser(array, policy) for array in inputs], as_computed(weights, policy)
    if not has_reference(node.op) or _differs_in_training(node, training, alone=True):
        return None
    named = {f"input:{node.key}/{index}": array for index, array in enumerate(inputs)}
    named |= {f"weight:{name}": array for name, array in weights.items() if name.startswith(f"{node.layer}/")}
    moved = {name: array for name, array in named.items() if is_floating(dtype_name(array))}

    pulled = cotangent.astype(np.float64)
    held = constants(node, inputs, weights) if training else {}

    def terms(arrays: Sequence[Array]) -> Evaluation:
        at = {**named, **dict(zip(moved, arrays, strict=True))}
        given = [at[f"input:{node.key}/{index}"] for index in range(len(inputs))]
        own = {name: at.get(f"weight:{name}", array) for name, array in weights.items()}
        outputs = evaluate_node(node, given, own, training=training, held=held)
        rounded = outputs[0].kappa + _straight(node, given, own, training, outputs[0].value.shape)
        found = Evaluation(pulled * outputs[0].value, np.abs(pulled) * rounded)
        added = output_factors(node) if penalized else Factors()
        return joined_terms([found, *(added.of_output(output.value) for output in outputs)]) if added else found

    return _usable(terms, moved)


def _straight(
    node: Node, given: Sequence[Array], weights: Arrays, training: bool, shape: tuple[int, ...]
) -> Array | float:
    """The sizes of the outputs without activations; what is not finite there says nothing."""
    bare = without_activations(node)
    if bare is None:
        return 0.0
    try:
        value = evaluate_node(bare, given, weights, training=training)[0].value
    except (TensorParityError, ShapeError, KeyError, ValueError):
        return 0.0
    return np.where(np.isfinite(value), np.abs(value), 0.0) if value.shape == shape else 0.0


def joined_terms(parts: Sequence[Evaluation]) -> Evaluation:
    """The terms of a sum of functions."""
    return Evaluation(
        np.concatenate([np.ravel(part.value) for part in parts]),
        np.concatenate([np.ravel(np.broadcast_to(part.kappa, part.value.shape)) for part in parts]),
    )


def pulled_back(case: Case) -> Differentiated | None:
    """The function whose gradients a replay of one layer gives; None of a layer in a file."""
    if not isinstance(case.subject, LayerGraph) or len(case.subject.nodes) != 1:
        return None
    (node,) = case.subject.nodes
    inputs = [case.inputs[f"{node.key}/{index}"] for index in range(len(node.inputs))]
    cotangent = case.cotangents[node.key]
    policy = policy_named(case.procedure.dtype)
    return layer_function(node, inputs, case.weights, cotangent, training=case.procedure.training, policy=policy)


def loss_function(case: Case) -> Differentiated | None:
    """The loss of a graph and what its layers add to it, by the graph's inputs and weights.

    None where the catalogue cannot say it.
    """
    graph, recipe = case.subject, case.procedure.loss
    if not isinstance(graph, LayerGraph) or recipe is None:
        return None
    training = case.procedure.training
    if any(not has_reference(node.op) or _differs_in_training(node, training) for node in graph.nodes):
        return None
    if training and any(layer(node.op).training is not None for node in graph.nodes):
        return None  # a whole graph is evaluated as in inference
    policy = policy_named(case.procedure.dtype)
    named = {f"input:{name}": array for name, array in as_computed(case.inputs, policy).items()}
    named |= {f"weight:{name}": array for name, array in as_computed(case.weights, policy).items()}
    moved = {name: array for name, array in named.items() if is_floating(dtype_name(array))}

    def terms(arrays: Sequence[Array], otherwise: bool = False) -> Evaluation:
        at = {**named, **dict(zip(moved, arrays, strict=True))}
        beside = MasksAndStates()
        values = evaluate(
            graph,
            {name: at[f"input:{name}"] for name in case.inputs},
            {name: at[f"weight:{name}"] for name in case.weights},
            beside=beside,
        )
        predictions, masks = {}, {}
        for ref in graph.outputs:
            name = output_name(ref)
            if name in case.labels:
                predictions[name] = values[graph.node(ref.node).key][ref.index].value
                masks[name] = beside.mask_of(ref)
        given = {key: [output.value for output in outputs] for key, outputs in values.items()}
        weights = {name: at[f"weight:{name}"] for name in case.weights}
        own = loss_terms(recipe, case.labels, predictions, masks, otherwise=otherwise)
        return joined_terms([own, *penalty_terms(graph, weights, given)])

    usable = _usable(terms, moved)
    return replace(usable, otherwise=partial(terms, otherwise=True)) if usable and told_twice(recipe) else usable


def loss_terms(
    recipe: Recipe,
    labels: Arrays,
    predictions: Arrays,
    masks: Mapping[str, Mask] | None = None,
    *,
    otherwise: bool = False,
) -> Evaluation:
    """What is summed up to the loss: of every sample of every output, its share of that output's mean or sum."""
    hidden = masks or {}
    parts = [
        loss(recipe.name).each(recipe.params, labels[name], array, hidden.get(name), otherwise=otherwise)
        for name, array in predictions.items()
    ]
    whole = recipe.params.get(REDUCTION.name) == "sum"
    counts = [1 if whole else max(1, part.value.size) for part in parts]
    return Evaluation(
        np.concatenate([np.ravel(part.value) / count for part, count in zip(parts, counts, strict=True)]),
        np.concatenate(
            [
                np.ravel(np.broadcast_to(part.kappa, part.value.shape)) / count
                for part, count in zip(parts, counts, strict=True)
            ]
        ),
    )


def _differs_in_training(node: Node, training: bool, *, alone: bool = False) -> bool:
    """There is no formula of the layer in training; ``alone``, a layer may have one of its own for that."""
    spec = layer(node.op)
    told = alone and spec.training is not None
    otherwise = node.op in _OTHERWISE_IN_TRAINING and not told
    return training and (otherwise or spec.draws(spec.complete(node.params)))


def _usable(terms: Terms, moved: Mapping[str, Array]) -> Differentiated | None:
    if sum(array.size for array in moved.values()) > _MOST_NUMBERS:
        return None
    try:
        terms([array.astype(np.float64) for array in moved.values()])
    except (TensorParityError, ShapeError, KeyError, ValueError):
        return None  # a configuration the reference does not cover is no reference
    return Differentiated(terms, moved)


@dataclass(frozen=True)
class GradientErrors:
    """What is known of one layer's gradients: errors as for any node, and what the rule for kinks said.

    Args:
        differ: the targets do, by more than rounding.
    """

    errors: NodeErrors
    test: SubgradientTest | None = None
    differ: bool = False

    @property
    def free(self) -> bool:
        """The targets differ, and all of them are right."""
        test = self.test
        right = test is not None and all(error <= K for error in test.errors.values())
        return right and self.differ and test is not None and (test.kink or test.otherwise)


def judge_pulled_back(case: Case, outcomes: Mapping[str, Outcome], traits: Traits) -> GradientErrors:
    """The one judge of a cotangent pulled back through one layer alone."""
    key = case.procedure.nodes[0]
    node = case.subject.nodes[-1] if isinstance(case.subject, LayerGraph) else Node(key.partition("#")[0], key, ())
    answers = {target: outcome.trace.gradients for target, outcome in outcomes.items() if outcome.completed}
    return judge_gradients(node, answers, pulled_back(case), traits, of=case)


def judge_gradients(
    node: Node,
    answers: Answers,
    function: Differentiated | None,
    traits: Traits,
    *,
    disputes_only: bool = False,
    of: Case | None = None,
) -> GradientErrors:
    """Errors of gradients: by the reference where there is one, else by the vote.

    Args:
        disputes_only: leave it to the vote where that is undisputed.
        of: the case; its policy says in what they were computed, whatever they were cast to in the end. Who has no room
            for its numbers is not judged.
    """
    policy = policy_named(of.procedure.dtype) if of else PLAIN
    judged = in_range(answers, policy, of.arrays().values(), traits) if of else answers
    judged = {target: arrays for target, arrays in judged.items() if not has_overflowed(target, judged, policy, traits)}
    found = _judge_gradients(
        node,
        {target: as_computed(arrays, policy, traits[target]) for target, arrays in judged.items()},
        function,
        traits,
        disputes_only,
    )
    return replace(found, errors=replace(found.errors, rough=policy.half))


def has_overflowed(target: str, answers: Answers, policy: Policy, traits: Traits) -> bool:
    """Whether a target gives infinities where somebody has numbers that it has no room for."""
    if all(np.isfinite(array).all() for array in answers[target].values()):
        return False
    return not holds(traits[target], policy, (array for arrays in answers.values() for array in arrays.values()))


def _judge_gradients(
    node: Node, answers: Answers, function: Differentiated | None, traits: Traits, disputes_only: bool
) -> GradientErrors:
    vote = judge_by_vote(node, answers, traits)
    differ = vote.mutual > vote.limit
    answered = {target: arrays for target, arrays in answers.items() if arrays}
    if function is None or not answered or (disputes_only and not differ):
        return GradientErrors(vote, differ=differ)
    function = function.of(answered)
    if not differ and sum(array.size for array in function.arguments.values()) > _MOST_UNDISPUTED:
        return GradientErrors(vote, differ=differ)
    given: dict[str, Gradients] = {
        target: [arrays.get(name) for name in function.arguments] for target, arrays in answered.items()
    }
    if any(_has_wrong_shapes(gradients, function) for gradients in given.values()):
        return GradientErrors(vote, differ=differ)
    at = [array.astype(np.float64) for array in function.arguments.values()]
    rng = np.random.default_rng(0)
    dtype = _coarsest(answered)
    roundoff, tiny = unit_roundoff(dtype), underflow(dtype)
    examine = partial(examine_gradients, at=at, gradients=given, roundoff=roundoff, rng=rng, disputed=differ, tiny=tiny)
    test = examine(function.terms)
    if function.otherwise is not None and any(error > K for error in test.errors.values()):
        test = test.or_else(examine(function.otherwise))
    if not test.measured:
        return GradientErrors(vote, differ=differ)
    # who is right may be as far from what was voted as another slope is
    absolute = {target: vote.absolute.get(target, 0.0) if error > K else 0.0 for target, error in test.errors.items()}
    errors = replace(vote, errors=test.errors, absolute=absolute, judged_by="reference", unsettled=False)
    return GradientErrors(errors, test, differ)


def _has_wrong_shapes(gradients: Gradients, function: Differentiated) -> bool:
    return any(
        gradient is not None and gradient.shape != array.shape
        for gradient, array in zip(gradients, function.arguments.values(), strict=True)
    )


def _coarsest(answers: Answers) -> str:
    """The coarsest dtype among the answers."""
    names = [dtype_name(array) for arrays in answers.values() for array in arrays.values()]
    return max(names, key=unit_roundoff, default="float32")


def accuse_gradients(found: GradientErrors, families: Mapping[str, str], how: str = "backward") -> Accusation | None:
    """An accusation, or a specification where all are right and differ; None where there is nothing to say.

    Args:
        how: the gradients came about, as for ``accusation_of``.
    """
    errors = found.errors
    klass, suspects = blame(errors, families)
    if klass is None:
        return _freedom_accusation(found) if found.free else None
    accusation = accusation_of(klass, suspects, [errors], how)
    outside = found.test.outside if found.test else {}
    said = [observed("outside-slopes", target=target, **slope) for target, slope in outside.items()]
    diagnosis = accusation.diagnosis
    far = [share for slope in outside.values() if (share := _beyond(slope)) is not None]
    relative = max(far, default=diagnosis.relative)
    return replace(accusation, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, *said), relative=relative))


def _beyond(slope: Slope) -> float | None:
    """How far a slope is outside of what the formula allows, as a share of the larger of them."""
    if "slope" not in slope:
        return None
    low, high = slope["low"], slope["high"]
    size = max(abs(low), abs(high), abs(slope["slope"]))
    return max(low - slope["slope"], slope["slope"] - high, 0.0) / size if size else None


def worst_gradient(answers: Answers, suspects: Sequence[str]) -> WorstElement | None:
    """The number by which a suspect's gradient of an input differs most from the first of the others."""
    accused = next((answers[target] for target in suspects if target in answers), {})
    other = next((arrays for target, arrays in answers.items() if target not in suspects and arrays), {})
    found: tuple[float, WorstElement] | None = None
    for name, gradient in accused.items():
        place = name.rpartition("/")[2]
        if not name.startswith("input:") or name not in other or not place.isdigit():
            continue
        if gradient.shape != other[name].shape or not gradient.size:
            continue
        apart = np.nan_to_num(distance(gradient, other[name]), nan=np.inf)
        index = tuple(int(part) for part in np.unravel_index(int(np.argmax(apart)), apart.shape))
        if apart[index] > 0 and (found is None or apart[index] > found[0]):
            found = float(apart[index]), WorstElement(index, argument=int(place))
    return found[1] if found else None


def _freedom_accusation(found: GradientErrors) -> Accusation:
    errors = found.errors
    accusation = accusation_of(Class.SPECIFICATION, (), [errors])
    targets, op = list(errors.errors), errors.node.op
    evidence: tuple[Evidence, ...] = (
        observed("kink", targets=targets, op=op),
        observed("between-slopes"),
        observed("freedom", words=GRADIENTS_AT_KINKS.words, source=GRADIENTS_AT_KINKS.source),
    )
    if found.test is not None and found.test.otherwise:
        evidence = (observed("guard", targets=targets, op=op), observed("guard-formula"))
    return replace(
        accusation, kind=Kind.INCONSISTENCY, diagnosis=replace(accusation.diagnosis, evidence=evidence, measure=None)
    )
