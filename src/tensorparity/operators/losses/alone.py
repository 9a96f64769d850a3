"""A loss with nothing in front of it: predictions are the inputs, and the gradients of a case are the loss' own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.graph import InputSpec, LayerGraph, Node, Ref
from ...core.procedure import Goal, Procedure, Recipe


def loss_alone(
    recipe: Recipe, predictions: Mapping[str, Array], labels: Mapping[str, Array], *, dtype: str | None, seed: int
) -> Case:
    """The loss of these predictions and its gradient, by output.

    Args:
        dtype: the policy of the model.
    """
    names = sorted(labels)
    specs = tuple(
        InputSpec(f"p{index}", predictions[name].shape[1:], predictions[name].dtype.name)
        for index, name in enumerate(names)
    )
    nodes = tuple(
        Node(f"y{index}", "Activation", (Ref(spec.name),), {"activation": "linear"}) for index, spec in enumerate(specs)
    )
    return Case(
        LayerGraph(specs, nodes, tuple(Ref(node.name) for node in nodes), name=f"{recipe.name}-alone"),
        Procedure(goal=Goal.GRADIENTS, loss=recipe, dtype=dtype),
        {f"p{index}": np.asarray(predictions[name]) for index, name in enumerate(names)},
        {f"y{index}": labels[name] for index, name in enumerate(names)},
        seed=seed,
    )


def is_loss_alone(case: Case) -> bool:
    """Every output is an input, so that the graph's gradients are the loss' own."""
    graph, procedure = case.subject, case.procedure
    if not isinstance(graph, LayerGraph) or procedure.loss is None:
        return False
    if procedure.reload or procedure.goal not in (Goal.GRADIENTS, Goal.UPDATE):
        return False
    given = {spec.name for spec in graph.inputs}
    return all(_passes_on(node) and node.inputs[0].node in given for node in graph.nodes)


def _passes_on(node: Node) -> bool:
    if node.op == "Identity":
        return True
    return node.op == "Activation" and node.params.get("activation") == "linear"
