"""Kinds of cases, and which oracle judges which: one table. Oracles' names are in one registry, ours and others'."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ..core.case import ApiCall, Case, ModelFile
from ..core.graph import LayerGraph
from ..core.oracle import Oracle, OracleFactory, Setup
from ..core.procedure import Goal
from ..core.registry import Registry
from ..operators.beside import layer_of

_HERE = __name__.rpartition(".")[0]

ORACLES: Registry[OracleFactory] = Registry(
    "oracle",
    {
        "outcomes": f"{_HERE}.outcomes:Outcomes",
        "precision": f"{_HERE}.operator_error:OperatorError",
        "operator_errors": f"{_HERE}.operator_error:OperatorMeasures",
    },
)


class CaseKind(Enum):
    """What a case is, as far as judging goes."""

    EQUIVALENCE = "two sides that must agree"
    CALL = "one call of a public function"
    LAYER = "one layer, forward"
    LAYERS = "a graph of several layers, forward"
    TRAINED_LAYER = "one layer or loss, in a step of training"
    NETWORK_STEP = "several layers, in a step of training"
    TRAINING = "several steps of training"
    REPLAYED = "layers of a model, each alone"
    FILE = "a model file, forward"


#: The oracle of each kind.
ORACLE_OF_KIND: Mapping[CaseKind, str] = {
    CaseKind.EQUIVALENCE: "equivalence",
    CaseKind.CALL: "call",
    CaseKind.LAYER: "layer",
    CaseKind.LAYERS: "layers",
    CaseKind.TRAINED_LAYER: "trained_layer",
    CaseKind.NETWORK_STEP: "training_step",
    CaseKind.TRAINING: "training",
    CaseKind.REPLAYED: "replayed",
    CaseKind.FILE: "file",
}

_STEPS = (Goal.GRADIENTS, Goal.UPDATE)


def kind_of(case: Case) -> CaseKind:
    """What a case is."""
    if case.counterpart is not None:
        return CaseKind.EQUIVALENCE
    if isinstance(case.subject, ApiCall):
        return CaseKind.CALL
    goal = case.procedure.goal
    if goal is Goal.REPLAY:
        return CaseKind.REPLAYED
    if goal is Goal.FIT:
        return CaseKind.TRAINING
    if isinstance(case.subject, ModelFile):
        return CaseKind.FILE
    return _of_graph(case.subject, goal)


def _of_graph(graph: LayerGraph, goal: Goal) -> CaseKind:
    alone = layer_of(graph) is not None or not graph.nodes
    if goal in _STEPS:
        return CaseKind.TRAINED_LAYER if alone else CaseKind.NETWORK_STEP
    return CaseKind.LAYER if alone else CaseKind.LAYERS


def oracle_of(case: Case) -> str:
    """The name of the oracle that judges this kind of case."""
    return ORACLE_OF_KIND[kind_of(case)]


def make_oracle(name: str, setup: Setup) -> Oracle:
    """The oracle of a name.

    Raises:
        UsageError: for a name that nobody registered.
    """
    return ORACLES.get(name)(setup)
