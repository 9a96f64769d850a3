"""Inputs outside of what a layer's documentation allows: there a library may raise, or answer as it likes."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.graph import LayerGraph, Node
from ...core.procedure import Goal
from ...operators.catalogue import has_layer, layer
from ...operators.functions.native import case_operator
from ...operators.functions.spec import Operand
from ...operators.spec import Domain, ShapeError


def outside(case: Case) -> str:
    """Which layer reads numbers that it need not take; nothing where none does, or only what others give it."""
    graph = case.subject
    operator = case_operator(case)
    if operator is not None:
        beyond = any(_is_beyond(case.inputs[operand.name], operand) for operand in operator.operands)
        return f"{operator.name} reads numbers outside of its domain" if beyond else ""
    if not isinstance(graph, LayerGraph):
        return ""
    for node in graph.nodes:
        for index, array in enumerate(_inputs_read(case, node)):
            if array is not None and _is_outside(array, _domain(node, index)):
                return f"{node.op} reads numbers outside of its domain"
    return ""


def _is_beyond(array: Array, operand: Operand) -> bool:
    numbers = array.astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    return bool(((numbers < operand.low) | (numbers > operand.high) | np.isin(numbers, operand.without)).any())


def _inputs_read(case: Case, node: Node) -> list[Array | None]:
    """What the node reads of the case's own inputs."""
    if case.procedure.goal is Goal.REPLAY:
        return [case.inputs.get(f"{node.key}/{index}") for index in range(len(node.inputs))]
    return [case.inputs.get(ref.node) for ref in node.inputs]


def _domain(node: Node, index: int) -> Domain:
    if not has_layer(node.op):
        return Domain()
    spec = layer(node.op)
    try:
        return spec.domain_of(spec.complete({**node.params, **node.call_params}), index)
    except (ShapeError, KeyError, TypeError):  # parameters that are ruled out allow nothing, and forbid nothing
        return Domain()


def _is_outside(array: Array, domain: Domain) -> bool:
    if domain.low is None or domain.high is None or not array.size or array.dtype.kind not in "iuf":
        return False
    return bool((array < domain.low).any() or (array >= domain.high).any())
