"""From the outcomes of one training step to doubts, without running anything.

Every target is first asked to be true to itself: each node's output against the reference on that target's own inputs,
the loss on its own outputs, the weights after the step on its own gradients. Gradients are compared between targets,
node by node; where they part, whoever pulled them back is doubted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.channels import is_finite, magnitude
from ..core.errors import TensorParityError
from ..core.graph import LayerGraph, Node
from ..core.model import node_inputs, ref_key
from ..core.outcome import Outcome
from ..core.policies import cast, coarser, policy_named
from ..operators.beside import Beside, keeps_states
from ..operators.evaluate import evaluate_node
from ..operators.rounding import K
from ..operators.spec import Evaluation, ShapeError
from .replay import node_outputs, odd_dtype, reference_error, reference_of
from .steps import loss_error, update_error
from .trials import Trial, backward_trial, forward_trial, loss_trials, next_call_trial, update_trial

#: Gradients closer than this share of their size are not looked at: rounding alone may part them so far.
_GRADIENTS_APART = 1e-3
_NEGLIGIBLE = 1e-6
#: ... which in half precision is at least so many units of roundoff.
_IN_ROUNDOFFS = 64.0
#: The squares of numbers beyond them, or of smaller ones than their inverse, are not normal in float32.
_EXTREME = 1e18


class Screening:
    """One case and the targets that completed it."""

    def __init__(self, case: Case, outcomes: Mapping[str, Outcome]) -> None:
        assert isinstance(case.subject, LayerGraph)
        self._case = case
        self._graph = case.subject
        self._training = case.procedure.training
        self._dtype = case.procedure.dtype
        self._policy = policy_named(self._dtype)
        self._done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
        self._beside = {target: Beside() for target in self._done}

    def trials(self) -> Iterator[Trial]:
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

    def forward(self) -> Iterator[Trial]:
        for node in self._graph.nodes:
            known: list[tuple[list[Array], list[Evaluation] | None]] = []
            wrong: dict[str, list[Array]] = {}
            judged = 0
            at_edge = self._reads_extremes(node)
            for target, outcome in self._done.items():
                given = [self._case.inputs[ref.node] for ref in node.inputs] if at_edge else self._given(node, outcome)
                outputs = node_outputs(node, outcome)
                if given is None or not outputs:
                    self._beside[target].lose(node)
                    continue
                judged += 1
                reference = self._reference(node, given, known, self._beside[target])
                if reference is not None and not self._is_right(target, outputs, reference):
                    wrong[target] = given
            if wrong and not (at_edge and len(wrong) == judged):  # what becomes of NaN, or of a square, is not said
                yield from self._forward_trial(node, wrong)
            elif keeps_states(node):
                yield from self._next_call_trial(node)

    def _forward_trial(self, node: Node, wrong: Mapping[str, list[Array]]) -> Iterator[Trial]:
        first = next(iter(wrong))
        masks, given = self._beside[first].masks_into(node), wrong[first]
        with contextlib.suppress(ValueError):  # the mask is one that no graph of one layer has
            weights, seed = self._case.weights, self._case.seed
            yield forward_trial(node, given, weights, self._training, list(wrong), seed, self._dtype, tuple(masks))

    def _next_call_trial(self, node: Node) -> Iterator[Trial]:
        """What a layer keeps shows only in its next call, of which a training step has none."""
        given = next(filter(None, (self._given(node, outcome) for outcome in self._done.values())), None)
        if given is not None and node.call == 0:
            yield next_call_trial(node, given, self._case.weights, list(self._done), self._case.seed, self._dtype)

    def _is_right(self, target: str, outputs: list[Array], reference: list[Evaluation]) -> bool:
        """In value and in dtype."""
        computed = [coarser(output, self._policy, target) for output in outputs]
        return reference_error(computed, reference) <= K and not odd_dtype(outputs, self._policy, target)

    def _reads_extremes(self, node: Node) -> bool:
        """Whether it reads inputs of the case, the same for all targets, with something in them that is extreme."""
        own = [self._case.inputs.get(ref.node) for ref in node.inputs]
        known = [array for array in own if array is not None]
        return len(known) == len(own) and any(_extreme(array) for array in known)

    def _given(self, node: Node, outcome: Outcome) -> list[Array] | None:
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
        beside: Beside,
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

    def loss(self) -> Iterator[Trial]:
        if not self._case.procedure.loss:
            return
        wrong = []
        for target, outcome in self._done.items():
            finite = all(np.isfinite(array).all() for array in outcome.outputs.values())
            if finite and outcome.trace.loss is not None:
                error = loss_error(self._case, outcome, outcome.trace.loss)
                wrong += [target] if not error <= K else []
        outputs = {ref_key(self._graph, ref) for ref in self._graph.outputs}
        parted = [target for target, name in self._parted() if name.partition(":")[2] in outputs]
        if wrong or parted:
            first = self._done[(wrong or parted)[0]]
            if all(np.isfinite(array).all() for array in first.outputs.values()):
                yield from loss_trials(self._case, first.outputs, wrong or parted)

    def backward(self) -> Iterator[Trial]:
        """The layers behind which gradients agree, and before which they do not."""
        parted: dict[str, list[str]] = {}
        for target, name in self._parted():
            parted.setdefault(name, []).append(target)
        if not parted:
            return
        first = next(iter(self._done.values()))
        readers: dict[str, list[Node]] = {}
        for node in self._graph.nodes:
            for index in range(len(node.inputs)):
                readers.setdefault(self._gradient_name(node, index), []).append(node)
        explained = {n for n, nodes in readers.items() if any(f"node:{node.key}" in parted for node in nodes)}
        for node in self._graph.nodes:
            if f"node:{node.key}" in parted:
                continue
            names = [self._gradient_name(node, index) for index in range(len(node.inputs))]
            names = [name for name in names if name not in explained]
            names += [name for name in parted if name.startswith(f"weight:{node.layer}/")]
            suspects = sorted({target for name in names for target in parted.get(name, ())})
            given, outputs = self._given(node, first), node_outputs(node, first)
            if suspects and given is not None and outputs:
                weights, seed = self._case.weights, self._case.seed
                masks = tuple(self._beside[next(iter(self._done))].masks_into(node))
                with contextlib.suppress(ValueError):
                    yield backward_trial(
                        node, given, outputs[0], weights, self._training, suspects, seed, self._dtype, masks
                    )

    def _gradient_name(self, node: Node, index: int) -> str:
        key = ref_key(self._graph, node.inputs[index])
        return f"input:{key}" if key in self._case.inputs else f"node:{key}"

    def _parted(self) -> Iterator[tuple[str, str]]:
        """(target, gradient) where a target is far from what most of them say."""
        # who has no loss was run forward only, and has no gradients to be absent
        done = {target: outcome for target, outcome in self._done.items() if outcome.trace.loss is not None}
        if len(done) < 2:
            return
        names = sorted({name for outcome in done.values() for name in outcome.trace.gradients})
        whole = max((_size(o.trace.gradients[name]) for o in done.values() for name in o.trace.gradients), default=0.0)
        ends = {f"node:{ref_key(self._graph, ref)}" for ref in self._graph.outputs}
        for name in names:
            arrays = {target: outcome.trace.gradients.get(name) for target, outcome in done.items()}
            if name in ends:  # Keras on TensorFlow takes logits from behind the last activation, past the output
                arrays = {target: array for target, array in arrays.items() if array is not None}
            for target in _far(arrays, whole, max(_GRADIENTS_APART, _IN_ROUNDOFFS * self._policy.roundoff)):
                yield target, name

    def update(self) -> Iterator[Trial]:
        wrong = [target for target, outcome in self._done.items() if not update_error(self._case, outcome) <= K]
        if wrong and self._case.procedure.optimizer:
            yield update_trial(self._case, wrong)


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
    beside = Beside()
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
