"""From the outcomes of one training step to doubts, without running anything.

Every target is first asked to be true to itself: each node's output against the reference on that target's own inputs,
the loss on its own outputs, the weights after the step on its own gradients. Gradients are compared between targets,
node by node; where they part, whoever pulled them back is doubted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from ..core.arrays import Array, Arrays, dtype_name
from ..core.case import Case
from ..core.channels import is_finite, magnitude
from ..core.errors import TensorParityError
from ..core.graph import LayerGraph, Node
from ..core.model import node_inputs, ref_key
from ..core.outcome import Outcome
from ..core.policies import PLAIN, cast, coarser, holds, policy_named
from ..core.traits import Traits
from ..core.verdict import Stage
from ..operators.losses.catalogue import LOSSES
from ..operators.masks_and_states import MasksAndStates, keeps_states
from ..operators.reference.evaluate import evaluate_node
from ..operators.reference.penalties import adds_penalties
from ..operators.reference.rounding import K
from ..operators.spec import Evaluation, ShapeError
from .isolated_checks import (
    IsolatedCheck,
    backward_check,
    check_without_numbers,
    forward_check,
    held_trial,
    loss_checks,
    next_call_check,
    penalty_check,
    update_check,
)
from .measure.backward import has_overflowed
from .measure.diagnose import public_name
from .measure.forms import Forms, as_announced
from .measure.isolated_nodes import node_outputs, odd_dtype, reference_of
from .measure.node_errors import VOTE_MARGIN, reference_error
from .measure.own_gradients import is_right, loss_is_right, own_error
from .measure.states import judge_states
from .measure.steps import holds_numbers, judge_constraints, loss_error, update_error

#: Gradients closer than this share of their size are not looked at: rounding alone may part them so far. What is small
#: beside the largest number of its gradient is therefore seen where it is looked at for another reason only.
_GRADIENTS_APART = 1e-3
_NEGLIGIBLE = 1e-6
#: ... which in half precision is at least so many units of roundoff.
_IN_ROUNDOFFS = 64.0
#: The squares of numbers beyond them, or of smaller ones than their inverse, are not normal in float32.
_EXTREME = 1e18
#: Gradients that are held against the reference though nobody differs: all may be wrong alike. Each takes about a
#: hundred evaluations of what reads the tensor, so it is a few, drawn by the case's seed; more if nobody could differ.
_SAMPLED, _SAMPLED_ALONE = 3, 12
_MOST_SAMPLED = 2_000
#: What nobody disputes must be wrong by more than what is disputed.
_UNDISPUTED = K * VOTE_MARGIN


class Screening:
    """One case and the targets that completed it."""

    def __init__(self, case: Case, outcomes: Mapping[str, Outcome], traits: Traits) -> None:
        assert isinstance(case.subject, LayerGraph)
        self._case = case
        self._traits = traits
        self._graph = case.subject
        self._training = case.procedure.training
        self._mode = case.procedure.mode
        self._dtype = case.procedure.dtype
        self._policy = policy_named(self._dtype)
        self._done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
        self._beside = {target: MasksAndStates() for target in self._done}

    def checks(self) -> Iterator[IsolatedCheck]:
        """One trial per doubt, in the order of the stages."""
        doubted: set[str] = set()
        for trial in self.forward():
            doubted.add(trial.node.layer)
            yield trial
        yield from self.loss()
        for trial in self.backward():
            if trial.node.layer not in doubted:  # a wrong output has a wrong gradient
                yield trial
        yield from self.update()

    def forward(self) -> Iterator[IsolatedCheck]:
        for node in self._graph.nodes:
            known: list[tuple[list[Array], list[Evaluation] | None]] = []
            wrong: dict[str, list[Array]] = {}
            judged = 0
            at_edge = self._reads_extremes(node)
            for target, outcome in self._done.items():
                given = (
                    [self._case.inputs[ref.node] for ref in node.inputs] if at_edge else self._inputs_of(node, outcome)
                )
                outputs = node_outputs(node, outcome)
                if given is None or not outputs:
                    self._beside[target].lose(node)
                    continue
                judged += 1
                reference = self._reference(node, given, known, self._beside[target])
                if reference is not None and not self._is_right(target, outputs, reference):
                    wrong[target] = given
            if at_edge and len(wrong) == judged:  # what becomes of NaN, or of a square, is seldom documented
                wrong = {}
            suspected = wrong or self._targets_of_wrong_form(node)
            if suspected:
                yield self._forward_check(node, suspected)
            elif keeps_states(node):
                yield from self._next_call_check(node)

    def _forward_check(self, node: Node, wrong: Mapping[str, list[Array]]) -> IsolatedCheck:
        first = next(iter(wrong))
        masks, given = tuple(self._beside[first].masks_into(node)), wrong[first]
        weights, seed, training = self._case.weights, self._case.seed, self._training
        try:
            return forward_check(node, given, weights, training, list(wrong), seed, self._dtype, masks, self._mode)
        except ValueError:  # the mask is one that no graph of one layer has
            return check_without_numbers(Stage.FORWARD, self._case, node, public_name(node.op), list(wrong))

    def _targets_of_wrong_form(self, node: Node) -> dict[str, list[Array]]:
        """Targets whose shape or dtype is doubted though nothing of the kind flows in, and what flows in."""
        given: dict[str, list[Array]] = {}
        for target, outcome in self._done.items():
            keys = [ref_key(self._graph, ref) for ref in node.inputs]
            own = self._inputs_of(node, outcome)
            if own is not None and all(as_announced(key, outcome) is None for key in keys):
                given[target] = own
        forms = Forms(node, {target: self._done[target] for target in given}, self._traits)
        fed = {tuple(dtype_name(array) for array in own) for own in given.values()}
        if forms.kind is None or (not forms.announced and len(fed) > 1):
            return {}
        return {target: given[target] for target in forms.wrong or forms.targets}

    def _next_call_check(self, node: Node) -> Iterator[IsolatedCheck]:
        """What a layer keeps shows only in its next call, of which a training step has none."""
        given = next(filter(None, (self._inputs_of(node, outcome) for outcome in self._done.values())), None)
        if given is not None and node.call == 0:
            yield next_call_check(node, given, self._case.weights, list(self._done), self._case.seed, self._dtype)

    def _is_right(self, target: str, outputs: list[Array], reference: list[Evaluation]) -> bool:
        """In value and in dtype, or the numbers are beyond what the target is held to."""
        traits = self._traits[target]
        room = holds(traits, self._policy, [output.value for output in reference])
        computed = [coarser(output, self._policy, traits) for output in outputs]
        right = not room or reference_error(computed, reference) <= K
        return right and not odd_dtype(outputs, self._policy, traits)

    def _reads_extremes(self, node: Node) -> bool:
        """Whether it reads inputs of the case, the same for all targets, with something in them that is extreme."""
        own = [self._case.inputs.get(ref.node) for ref in node.inputs]
        known = [array for array in own if array is not None]
        return len(known) == len(own) and any(_extreme(array) for array in known)

    def _inputs_of(self, node: Node, outcome: Outcome) -> list[Array] | None:
        """A node's inputs on this target; None where they are not known, or not finite."""
        try:
            given = node_inputs(self._graph, node, self._case.inputs, outcome.trace.nodes)
        except KeyError:
            return None
        return given if all(is_finite(array).all() for array in given) else None

    def _reference(
        self,
        node: Node,
        given: list[Array],
        known: list[tuple[list[Array], list[Evaluation] | None]],
        beside: MasksAndStates,
    ) -> list[Evaluation] | None:
        """The reference on these inputs, or the one of another target that had the same, and no masks or states."""
        if beside.is_lost(node):
            beside.lose(node)
            return None
        if beside.concerns(node):
            reference = reference_of(
                node, given, self._case.weights, training=self._training, dtype=self._dtype, beside=beside
            )
            if reference is None:
                beside.lose(node)
            return reference
        for other, reference in known:
            if all(np.array_equal(a, b) for a, b in zip(given, other, strict=True)):
                return reference
        reference = reference_of(node, given, self._case.weights, training=self._training, dtype=self._dtype)
        known.append((given, reference))
        return reference

    def loss(self) -> Iterator[IsolatedCheck]:
        if not self._case.procedure.loss:
            return
        wrong = []
        for target, outcome in self._done.items():
            finite = all(np.isfinite(array).all() for array in outcome.outputs.values())
            if finite and outcome.trace.loss is not None:
                error = loss_error(self._case, outcome, outcome.trace.loss, self._traits)
                wrong += [target] if not error <= K else []
        outputs = {ref_key(self._graph, ref) for ref in self._graph.outputs}
        parted = list(
            dict.fromkeys(target for target, name in self._gradients_apart() if name.partition(":")[2] in outputs)
        )
        suspects = wrong or parted
        if not suspects:
            return
        if wrong:
            yield from self._penalty_checks(wrong)
        predictions = self._finite_predictions(suspects)
        if predictions is None:
            recipe = self._case.procedure.loss
            node = Node(recipe.name, recipe.name, ())
            yield check_without_numbers(Stage.LOSS, self._case, node, LOSSES[recipe.name].api, suspects)
            return
        value, gradient = loss_checks(self._case, predictions, suspects)
        yield replace(value, explained=lambda: not wrong)
        yield replace(gradient, explained=cache(lambda: self._loss_explained(parted)))

    def _penalty_checks(self, suspects: Sequence[str]) -> Iterator[IsolatedCheck]:
        """Each layer that adds something to a loss that is wrong, alone."""
        outcome = self._done[suspects[0]]
        for node in self._graph.nodes:
            given, outputs = self._inputs_of(node, outcome), node_outputs(node, outcome)
            if given is None or not outputs or not adds_penalties(node):
                continue
            trial = penalty_check(
                node, given, outputs[0], self._case.weights, self._training, suspects, self._case.seed
            )
            yield replace(trial, doubted=False)  # the doubt is that of the loss

    def _finite_predictions(self, suspects: Sequence[str]) -> Arrays | None:
        """Those of a suspect, else of any target; None where there is something not finite in all of them."""
        for target in self._suspects_first(suspects):
            outputs = self._done[target].outputs
            if all(np.isfinite(array).all() for array in outputs.values()):
                return outputs
        return None

    def _suspects_first(self, suspects: Sequence[str]) -> list[str]:
        return [*suspects, *(target for target in self._done if target not in suspects)]

    def _loss_explained(self, suspects: Sequence[str]) -> bool:
        return all(loss_is_right(self._case, self._done[target], self._traits) for target in suspects)

    def backward(self) -> Iterator[IsolatedCheck]:
        """The layers behind which gradients agree, and before which they do not."""
        parted: dict[str, list[str]] = {}
        for target, name in self._gradients_apart():
            parted.setdefault(name, []).append(target)
        for target, name in self._sampled_gradients(parted):
            parted[name] = [target]
        if not parted:
            return
        readers: dict[str, list[Node]] = {}
        for node in self._graph.nodes:
            for index in range(len(node.inputs)):
                readers.setdefault(self._gradient_name(node, index), []).append(node)
        for node in self._graph.nodes:
            names = [self._gradient_name(node, index) for index in range(len(node.inputs))]
            names += [name for name in parted if name.startswith(f"weight:{node.layer}/")]
            doubted: dict[str, list[str]] = {}
            for name in names:
                behind = [node] if name.startswith("weight:") else readers[name]
                after = {target for reader in behind for target in parted.get(f"node:{reader.key}", ())}
                left = [target for target in parted.get(name, ()) if target not in after]
                if left:  # of the others, it has parted behind the layer already
                    doubted[name] = left
            if doubted:
                yield self._backward_check(node, doubted)

    def _backward_check(self, node: Node, doubted: Mapping[str, Sequence[str]]) -> IsolatedCheck:
        """On the numbers of a suspect, else of any target, that are finite.

        Args:
            doubted: whose gradients are doubted, by their name.
        """
        suspects = sorted({target for targets in doubted.values() for target in targets})
        for target in self._suspects_first(suspects):
            outcome = self._done[target]
            given, outputs = self._inputs_of(node, outcome), node_outputs(node, outcome)
            if given is None or not outputs:
                continue
            pulled = outcome.trace.gradients.get(f"node:{node.key}")
            if pulled is not None and not is_finite(pulled).all():
                pulled = None
            weights, seed = self._case.weights, self._case.seed
            masks = tuple(self._beside[target].masks_into(node))
            try:
                trial = backward_check(
                    node,
                    given,
                    outputs[0],
                    weights,
                    self._training,
                    suspects,
                    seed,
                    self._dtype,
                    masks,
                    pulled=pulled,
                    mode=self._mode,
                )
            except ValueError:  # the mask is one that no graph of one layer has
                continue
            return replace(trial, explained=cache(lambda: self._backward_explained(doubted)))
        return check_without_numbers(Stage.BACKWARD, self._case, node, public_name(node.op), suspects)

    def _backward_explained(self, doubted: Mapping[str, Sequence[str]]) -> bool:
        return all(
            is_right(
                self._case,
                name,
                self._done[target],
                self._others_gave(name, target),
                self._nodes_with_masks_or_states(target),
            )
            for name, targets in doubted.items()
            for target in targets
        )

    def _nodes_with_masks_or_states(self, target: str) -> frozenset[str]:
        """The nodes that masks or states flow into besides their inputs."""
        beside = self._beside[target]
        return frozenset(n.key for n in self._graph.nodes if beside.concerns(n) or beside.is_lost(n))

    def _others_gave(self, name: str, target: str) -> list[Array]:
        others = (outcome.trace.gradients.get(name) for own, outcome in self._done.items() if own != target)
        return [array for array in others if array is not None]

    def _sampled_gradients(self, parted: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """(target, gradient) of those nobody disputes that the reference does, of a few."""
        done = self._outcomes_with_loss()
        if not done or self._policy.name != PLAIN.name:
            return []
        target, outcome = next(iter(done.items()))
        names = [
            name
            for name, array in sorted(outcome.trace.gradients.items())
            if name not in parted and array.size <= _MOST_SAMPLED
        ]
        rng = np.random.default_rng([self._case.seed, 0x0E6])
        most = _SAMPLED if len(done) > 1 else _SAMPLED_ALONE
        known: dict[str, float] = {}
        veiled = self._nodes_with_masks_or_states(target)
        for index in rng.permutation(len(names)):
            if len(known) == most:
                break
            error = own_error(self._case, names[index], outcome, veiled=veiled)
            if error is not None:
                known[names[index]] = error
        return [(target, name) for name, error in known.items() if not error <= _UNDISPUTED]

    def _outcomes_with_loss(self) -> dict[str, Outcome]:
        """Who has no loss was run forward only, and has no gradients to be absent."""
        return {target: outcome for target, outcome in self._done.items() if outcome.trace.loss is not None}

    def _gradient_name(self, node: Node, index: int) -> str:
        key = ref_key(self._graph, node.inputs[index])
        return f"input:{key}" if key in self._case.inputs else f"node:{key}"

    def _gradients_apart(self) -> Iterator[tuple[str, str]]:
        """(target, gradient) where a target is far from what most of them say."""
        done = self._outcomes_with_loss()
        if len(done) < 2:
            return
        names = sorted({name for outcome in done.values() for name in outcome.trace.gradients})
        whole = max((_size(o.trace.gradients[name]) for o in done.values() for name in o.trace.gradients), default=0.0)
        ends = {f"node:{ref_key(self._graph, ref)}" for ref in self._graph.outputs}
        for name in names:
            arrays = {target: outcome.trace.gradients.get(name) for target, outcome in done.items()}
            if name in ends:  # Keras on TensorFlow takes logits from behind the last activation, past the output
                arrays = {target: array for target, array in arrays.items() if array is not None}
            present = {target: {name: array} for target, array in arrays.items() if array is not None}
            beyond = {target for target in present if has_overflowed(target, present, self._policy, self._traits)}
            arrays = {target: array for target, array in arrays.items() if target not in beyond}
            for target in _far(arrays, whole, max(_GRADIENTS_APART, _IN_ROUNDOFFS * self._policy.roundoff)):
                yield target, name

    def update(self) -> Iterator[IsolatedCheck]:
        wrong = [target for target, outcome in self._done.items() if not update_error(self._case, outcome) <= K]
        if wrong and self._case.procedure.optimizer:
            yield update_check(self._case, wrong)
        for errors in judge_constraints(self._case, self._done):
            others = [t for t, error in errors.errors.items() if not error <= errors.limit and t not in wrong]
            others = [t for t in others if holds_numbers(self._case, errors.node, self._done[t])]
            if others:  # where the optimizer is wrong, its steps are whatever is made of them
                yield held_trial(self._case, errors.node, others)
        for errors in judge_states(self._case, self._done, self._traits):
            wrong = [target for target, error in errors.errors.items() if not error <= errors.limit]
            if errors.disputed or (wrong and errors.judged_by != "nothing"):
                yield held_trial(self._case, errors.node, list(errors.errors) if errors.disputed else wrong)


def _far(arrays: Mapping[str, Array | None], whole: float, share: float) -> list[str]:
    """Targets whose array is not close to the one in the middle; an absent gradient is zero."""
    present = [array for array in arrays.values() if array is not None]
    like = present[0]
    filled = {target: np.zeros_like(like) if array is None else array for target, array in arrays.items()}
    if len({array.shape for array in filled.values()}) > 1:
        return list(filled)
    stacked = np.stack([array.astype(np.float64) for array in filled.values()])
    with np.errstate(all="ignore"):
        middle = np.sort(stacked, axis=0)[(len(stacked) - 1) // 2]
        limit = share * max(_size(middle), _NEGLIGIBLE * whole)
        apart = np.abs(stacked - middle)
    same = (stacked == middle) | (np.isnan(stacked) & np.isnan(middle)) | (apart <= limit)
    return [target for target, ok in zip(filled, same, strict=True) if not ok.all()]


def _extreme(array: Array) -> bool:
    """Whether something is not finite, or its square would leave float32's normal numbers."""
    if not is_finite(array).all():
        return True
    sizes = magnitude(array)
    return bool(((sizes > _EXTREME) | ((sizes > 0) & (sizes < 1 / _EXTREME))).any())


def _size(array: Array) -> float:
    values = np.abs(array[np.isfinite(array)]) if array.size else np.zeros(0)
    return float(values.max(initial=0.0))


def true_inputs(case: Case, key: str) -> list[Array] | None:
    """What flows into a node by the references, where no target got so far."""
    assert isinstance(case.subject, LayerGraph)
    policy = policy_named(case.procedure.dtype)
    values: dict[str, Array] = {}
    beside = MasksAndStates()
    for node in case.subject.nodes:
        try:
            given = node_inputs(case.subject, node, case.inputs, values)
            if node.key == key:
                return given
            procedure = case.procedure
            outputs = evaluate_node(
                node, given, case.weights, training=procedure.training, dtype=procedure.dtype, beside=beside
            )
        except (KeyError, ShapeError, TensorParityError):
            return None
        for index, output in enumerate(outputs):
            values[node.key if index == 0 else f"{node.key}.{index}"] = cast(output.value, policy.compute)
    return None


def first_given(case: Case, node: Node, outcomes: Sequence[Outcome]) -> list[Array] | None:
    """A node's inputs from the first trace that has them, else by the references."""
    assert isinstance(case.subject, LayerGraph)
    for outcome in outcomes:
        try:
            return node_inputs(case.subject, node, case.inputs, outcome.trace.nodes)
        except KeyError:
            continue
    return true_inputs(case, node.key)
