"""Kinds of cases, and which oracle judges which: one table. Oracles' names are in one registry, ours and others'."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from enum import Enum

from ..core.case import ApiCall, Case, ModelFile
from ..core.errors import UsageError
from ..core.graph import LayerGraph
from ..core.near_misses import meant
from ..core.oracle import Oracle, OracleFactory, Setup, only_measures, role_of_factory
from ..core.procedure import Goal
from ..core.registry import Registry
from ..core.suspicion import Suspicion
from ..operators.losses.alone import is_loss_alone
from ..operators.masks_and_states import layer_of
from ..operators.ruled_out import ruled_out

_HERE = __name__.rpartition(".")[0]

_OURS = {
    "outcomes": f"{_HERE}.outcomes:Outcomes",
    "failure": f"{_HERE}.failing_alike:FailingAlike",
    "muffin": f"{_HERE}.muffin_step:Muffin",
    "training_step": f"{_HERE}.training_step:TrainingStep",
    "refusal": f"{_HERE}.refusal:RefusalOracle",
    "equivalence": f"{_HERE}.equivalence:EquivalenceOracle",
    "eagle": f"{_HERE}.eagle:Eagle",
    "call": f"{_HERE}.call:CallOracle",
    "declared_valid": f"{_HERE}.declared_valid:DeclaredValid",
    "plain_call": f"{_HERE}.plain_call:PlainCall",
    "same_call": f"{_HERE}.same_call:SameCall",
    "drawn": f"{_HERE}.drawn:Drawn",
    "counterpart_trial": f"{_HERE}.direct_counterpart:CounterpartTrial",
    "direct_counterpart": f"{_HERE}.direct_counterpart:DirectCounterpart",
    "same_operator": f"{_HERE}.same_operator:SameOperator",
    "function": f"{_HERE}.function_alone:FunctionOracle",
    "layer": f"{_HERE}.layer:LayerOracle",
    "layers": f"{_HERE}.layers:LayersOracle",
    "trained_layer": f"{_HERE}.trained_layer:TrainedLayerOracle",
    "training": f"{_HERE}.training:TrainingOracle",
    "replayed": f"{_HERE}.replayed:ReplayedOracle",
    "file": f"{_HERE}.file:FileOracle",
    "parity": f"{_HERE}.output_pair:Parity",
    "cradle": f"{_HERE}.output_pair:Cradle",
    "layer_in_model": f"{_HERE}.layer_in_model:LayerInModel",
    "high_precision": f"{_HERE}.high_precision:AgainstHighPrecision",
    "with_itself": f"{_HERE}.with_itself:WithItself",
    "training_drift": f"{_HERE}.training_drift:TrainingDrift",
    "precision": f"{_HERE}.operator_error:OperatorError",
    "operator_errors": f"{_HERE}.operator_error:OperatorMeasures",
    "predoo_input_mode": f"{_HERE}.precision_instances:InputMode",
    "predoo_op_mode": f"{_HERE}.precision_instances:OpMode",
    "predoo_default": f"{_HERE}.precision_instances:DefaultMode",
    "population": f"{_HERE}.population:PopulationOracle",
    "elapsed": f"{_HERE}.elapsed:Elapsed",
    "margins": f"{_HERE}.margins:Margins",
    "invalid_value": f"{_HERE}.invalid_value:InvalidValueOracle",
    "causal": f"{_HERE}.causal:Causal",
    "audee": f"{_HERE}.audee:Audee",
    "audee_measures": f"{_HERE}.audee:AudeeMeasures",
}

ORACLES: Registry[OracleFactory] = Registry("oracle", _OURS)

#: Roles that several oracles have: whoever is chosen judges in the place of the others.
WHOLE_MODELS, TRAINING_STEPS, EQUIVALENCES = "whole models", "training steps", "equivalences"
OPERATORS = "calls of operators"
_ROLES = (WHOLE_MODELS, TRAINING_STEPS, EQUIVALENCES, OPERATORS)
#: Who judges whole models where nobody else is chosen.
DEFAULT_ORACLE = "parity"
#: The papers' own rules, which decide alone.
CRADLE, MUFFIN = "cradle", "muffin"


class CaseKind(Enum):
    """What a case is, as far as judging goes."""

    RULED_OUT = "what documentation rules out"
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
    CaseKind.RULED_OUT: "refusal",
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
    if ruled_out(case):
        return CaseKind.RULED_OUT
    if case.counterpart is not None:
        return CaseKind.EQUIVALENCE
    if isinstance(case.subject, ApiCall):
        return CaseKind.CALL
    goal = case.procedure.goal
    if goal is Goal.REPLAY:
        return CaseKind.REPLAYED
    if goal is Goal.FIT:
        return CaseKind.TRAINING
    if isinstance(case.subject, ModelFile):  # its layers are nobody's to take apart while it is trained
        return CaseKind.TRAINED_LAYER if goal in _STEPS else CaseKind.FILE
    if goal in _STEPS:
        return CaseKind.TRAINED_LAYER if is_loss_alone(case) or _is_one(case.subject) else CaseKind.NETWORK_STEP
    return CaseKind.LAYER if _is_one(case.subject) else CaseKind.LAYERS


def _is_one(graph: LayerGraph) -> bool:
    return not graph.nodes or layer_of(graph) is not None


def oracle_of(case: Case) -> str:
    """The name of the oracle that judges this kind of case."""
    return ORACLE_OF_KIND[kind_of(case)]


def chosen_instead(chosen: str, named: str) -> str:
    """Who decides where a user has chosen an oracle: that one, if it can judge in the place of the one that is named.

    Oracles of one ``role`` can; one that has none judges everything, but what is only measured.
    """
    if not chosen or only_measures(ORACLES.get(named)):
        return named
    role = role_of(chosen)
    return chosen if not role or role == role_of(named) else named


def role_of(name: str) -> str:
    """What an oracle judges, where others can judge that in its place."""
    return role_of_factory(ORACLES.get(name))


def of_role(role: str) -> list[str]:
    """The oracles of a role; somebody's plug-in that cannot be loaded has none."""
    found = []
    for name in ORACLES.names():
        with contextlib.suppress(UsageError):
            found += [name] if role_of(name) == role else []
    return found


def check_choice(name: str) -> None:
    """See to it that a user may choose this oracle: most of ours judge one kind of case, and are nobody's to choose.

    Raises:
        UsageError: for an unknown one, or one that cannot be chosen.
    """
    chosen = {other for role in _ROLES for other in of_role(role)}
    known = [other for other in ORACLES.names() if not ORACLES.is_ours(other) or other in chosen]
    if name not in known:
        raise UsageError(f"unknown oracle {name!r}{meant(name, known)}; known are {', '.join(known)}")


def particular_oracle(suspicion: Suspicion) -> str:
    """Who convicted, where that is not the oracle of this kind of case; nobody otherwise."""
    return suspicion.oracle if suspicion.oracle and suspicion.oracle != oracle_of(suspicion.case) else ""


def make_oracle(name: str, setup: Setup) -> Oracle:
    """The oracle of a name.

    Raises:
        UsageError: for a name that nobody registered, or a plug-in's that cannot be made.
    """
    oracle: Oracle = ORACLES.make(name, setup)
    return oracle
