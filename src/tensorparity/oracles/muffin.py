"""Muffin's rule (section 3.3): where along a training step two targets part, by the Chebyshev distance.

A difference counts where it arises: forward against the node's predecessors, backward against its successors, of which
the loss is the output's. It answers which layers are inconsistent, not who is wrong; a vote of three names the odd one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.channels import distance, is_finite
from ..core.graph import LayerGraph, Node
from ..core.model import ref_key
from ..core.outcome import Outcome
from ..core.traits import Traits
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict

#: The paper's t and epsilon (section 4.4).
THRESHOLD = 0.15
EPSILON = 1e-5
#: Values of t in figure 5.
SWEEP = (0.001, 0.005, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """One entry of Inc_FC, Inc_LC or Inc_BC.

    Args:
        layer: the type of the layer, or the name of the loss: what the paper counts once.
        node: its key; empty for the loss.
        distance: D of the two outputs or gradients; infinite where one is not finite.
        nan: the pattern of NaN and infinities is another.
        broken: the target whose numbers are not finite, where the other's are.
    """

    stage: Stage
    layer: str
    node: str
    a: str
    b: str
    distance: float
    nan: bool = False
    broken: str | None = None


def chebyshev(a: Array | None, b: Array | None) -> float:
    """Equation 2; 0 where neither exists, infinite where one is missing, of another shape or not finite alone."""
    if a is None or b is None:
        return 0.0 if a is b else math.inf
    if a.shape != b.shape:
        return math.inf
    return float(distance(a, b).max(initial=0.0))


def _gradients_apart(a: Array | None, b: Array | None) -> float:
    """An unconnected gradient is absent in one library and zero in another: both say that nothing depends on it."""
    if (a is None) != (b is None):
        return chebyshev(a if a is not None else b, np.zeros_like(a if a is not None else b))
    return chebyshev(a, b)


def inconsistencies(
    graph: LayerGraph, loss: str, a: Outcome, b: Outcome, threshold: float = THRESHOLD, epsilon: float = EPSILON
) -> list[Inconsistency]:
    """Everything that the paper would report of this pair."""
    if not (a.completed and b.completed):
        return []
    pair = _Pair(graph, loss, a, b, threshold, epsilon)
    if (a.trace.loss is None) != (b.trace.loss is None):  # one of them was run forward only
        return pair.forward()
    return [*pair.forward(), *pair.loss_calculation(), *pair.backward()]


class _Pair:
    def __init__(self, graph: LayerGraph, loss: str, a: Outcome, b: Outcome, threshold: float, epsilon: float) -> None:
        self._graph, self._loss = graph, loss
        self._a, self._b = a, b
        self._threshold, self._epsilon = threshold, epsilon
        self._keys = {node.name: node.key for node in graph.nodes}
        self._outputs = {ref_key(graph, ref) for ref in graph.outputs}

    def forward(self) -> list[Inconsistency]:
        apart = self._apart(self._a.trace.nodes, self._b.trace.nodes, "")
        found = []
        for node in self._graph.nodes:
            before = [self._keys[ref.node] for ref in node.inputs if ref.node in self._keys]
            if apart[node.key] > self._threshold and all(apart[key] < self._epsilon for key in before):
                found.append(self._entry(Stage.FORWARD, node.op, node.key, apart[node.key], self._nodes(node.key)))
        return found

    def loss_calculation(self) -> list[Inconsistency]:
        """Only if the outputs agree; on the loss or on its gradient with respect to the outputs."""
        if any(chebyshev(self._a.outputs.get(n), self._b.outputs.get(n)) >= self._epsilon for n in self._a.outputs):
            return []
        parted = [(self._loss_apart(), self._losses()), *((chebyshev(a, b), (a, b)) for a, b in self._loss_gradients())]
        apart, arrays = max(parted, key=lambda item: item[0])
        if apart <= self._threshold:
            return []
        return [self._entry(Stage.LOSS, self._loss, "", apart, arrays)]

    def _losses(self) -> tuple[Array | None, Array | None]:
        a, b = (outcome.trace.loss for outcome in (self._a, self._b))
        return None if a is None else np.asarray(float(a)), None if b is None else np.asarray(float(b))

    def _loss_apart(self) -> float:
        return chebyshev(*self._losses())

    def _loss_gradients(self) -> list[tuple[Array, Array]]:
        """With respect to the outputs; where a library has none of them (it took the logits), nothing is measured."""
        found = []
        for key in self._outputs:
            a, b = (outcome.trace.gradients.get(f"node:{key}") for outcome in (self._a, self._b))
            if a is not None and b is not None:
                found.append((a, b))
        return found

    def _loss_gradient_apart(self) -> float:
        return max((chebyshev(a, b) for a, b in self._loss_gradients()), default=0.0)

    def backward(self) -> list[Inconsistency]:
        """Only if the loss agrees. G of a layer is what it pulls back: to its inputs, and to its weights.

        What flows into a layer from behind is the gradient of its output, which for the output layer is the loss' own;
        where that agrees and what comes out at its inputs does not, the difference arose in the layer.
        """
        if self._loss_apart() >= self._epsilon:
            return []
        grads = (self._a.trace.gradients, self._b.trace.gradients)
        behind = self._apart(*grads, "node:")
        calls = Counter(node.layer for node in self._graph.nodes)
        found: dict[str, Inconsistency] = {}
        for name, readers in self._readers().items():
            if all(self._agrees(behind, node) for node in readers):
                for node in readers:
                    self._pulled(node, [name], found)
        for node in self._graph.nodes:
            if self._agrees(behind, node) and calls[node.layer] == 1:
                names = {name for each in grads for name in each if name.startswith(f"weight:{node.layer}/")}
                self._pulled(node, sorted(names), found)
        return list(found.values())

    def _agrees(self, behind: Mapping[str, float], node: Node) -> bool:
        """What flows into the layer from behind is the same; behind an output it is the loss', which agrees."""
        if node.key in self._outputs:
            return self._loss_gradient_apart() < self._epsilon
        return behind[node.key] < self._epsilon

    def _pulled(self, node: Node, names: Sequence[str], found: dict[str, Inconsistency]) -> None:
        for name in names:
            arrays = tuple(outcome.trace.gradients.get(name) for outcome in (self._a, self._b))
            apart = _gradients_apart(*arrays)
            if apart > self._threshold and (node.key not in found or apart > found[node.key].distance):
                found[node.key] = self._entry(Stage.BACKWARD, node.op, node.key, apart, arrays)

    def _readers(self) -> dict[str, list[Node]]:
        """The gradient of each tensor that layers read, and those layers."""
        found: dict[str, list[Node]] = {}
        for node in self._graph.nodes:
            for ref in node.inputs:
                name = f"node:{ref_key(self._graph, ref)}" if ref.node in self._keys else f"input:{ref.node}"
                found.setdefault(name, []).append(node)
        return found

    def _apart(self, a: Arrays, b: Arrays, prefix: str) -> dict[str, float]:
        measure = _gradients_apart if prefix else chebyshev
        return {node.key: measure(a.get(prefix + node.key), b.get(prefix + node.key)) for node in self._graph.nodes}

    def _nodes(self, key: str) -> tuple[Array | None, Array | None]:
        return self._a.trace.nodes.get(key), self._b.trace.nodes.get(key)

    def _entry(
        self, stage: Stage, layer: str, node: str, apart: float, arrays: Sequence[Array | None]
    ) -> Inconsistency:
        names = (self._a.target, self._b.target)
        whole = [array is None or bool(is_finite(array).all()) for array in arrays]
        broken = [name for name, finite in zip(names, whole, strict=True) if not finite]
        nan = math.isinf(apart) and all(array is not None for array in arrays) and bool(broken)
        return Inconsistency(stage, layer, node, *names, apart, nan, broken[0] if nan and len(broken) == 1 else None)


#: A stage, a layer and a node.
Place = tuple[Stage, str, str]


def odd_ones(
    found: Collection[Inconsistency], outcomes: Mapping[str, Outcome], traits: Traits | None = None
) -> dict[Place, tuple[str, ...]]:
    """The vote: per stage, layer and node, the targets of one library that part with all others, which agree.

    Those vote that took part in the stage; of a loss, a target that was run forward only has nothing to say. Targets
    that one library's kernels answer for have one vote, and two others must stand against it.
    """
    known = traits or Traits()
    voted: dict[Place, tuple[str, ...]] = {}
    for place in {(item.stage, item.layer, item.node) for item in found}:
        voters = [target for target, outcome in outcomes.items() if _took_part(outcome, place[0])]
        pairs = {frozenset((item.a, item.b)) for item in found if (item.stage, item.layer, item.node) == place}
        for camp in _camps(voters, place[1], known):
            others = [target for target in voters if target not in camp]
            against = {frozenset((one, other)) for one in camp for other in others}
            if pairs == against and len(known.implementations(others, place[1])) > 1:
                voted[place] = camp
    return voted


def _camps(voters: Sequence[str], layer: str, traits: Traits) -> list[tuple[str, ...]]:
    """Every target alone, and those together that share a library: its kernels may be wrong, or what calls them."""
    shared: dict[str, list[str]] = {}
    for target in voters:
        shared.setdefault(traits.implementation(target, layer), []).append(target)
    alone = [(target,) for target in voters]
    return [*alone, *(tuple(camp) for camp in shared.values() if len(camp) > 1)]


def _took_part(outcome: Outcome, stage: Stage) -> bool:
    return outcome.completed and (stage is Stage.FORWARD or outcome.trace.loss is not None)


def judge_pair(found: Sequence[Inconsistency], a: str, b: str, threshold: float = THRESHOLD) -> Verdict:
    """The paper's verdict on a pair, in our words."""
    own = [item for item in found if {item.a, item.b} == {a, b}]
    if not own:
        return Verdict(Judgement.PASS, (a, b), "no layer parts them", Measure("chebyshev", 0.0), threshold)
    worst = max(own, key=lambda item: item.distance)
    kind = Kind.NAN if worst.nan else Kind.INCONSISTENCY
    reason = f"inconsistent in {worst.layer} ({worst.stage.value})"
    return Verdict(Judgement.FAIL, (a, b), reason, Measure("chebyshev", worst.distance), threshold, kind, worst.stage)


def by_threshold(found: Collection[Inconsistency]) -> dict[float, list[Inconsistency]]:
    """Figure 5: what is inconsistent for each t, of what is for the smallest."""
    return {threshold: [item for item in found if item.distance > threshold] for threshold in SWEEP}
