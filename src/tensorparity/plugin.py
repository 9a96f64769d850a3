"""All that a plug-in needs, and the only module whose names are promised to stay.

A package adds targets, engines, oracles, rules, layers, operators and report formats through entry points in the
groups ``tensorparity.target``, ``tensorparity.engine``, ``tensorparity.oracle``, ``tensorparity.rule``,
``tensorparity.layer``, ``tensorparity.operator`` and ``tensorparity.report``; ``examples/`` has such a package.
"""

from __future__ import annotations

from .core.arrays import Array, Arrays
from .core.case import ApiCall, ArrayArg, Case, Counterpart, ModelFile
from .core.comparison import Comparison
from .core.engine import Ask, Engine, KeptCase, Result, Standing
from .core.errors import UsageError
from .core.evidence import Evidence, in_words
from .core.finding import Class, Diagnosis, Finding
from .core.graph import GraphBuilder, InputSpec, LayerGraph, Node, Ref
from .core.machine_settings import Setting
from .core.oracle import OUTCOMES, Answer, Check, Judged, Oracle, OracleFactory, Seen, Setup
from .core.outcome import Failure, Form, Outcome, Record, Status, Trace
from .core.procedure import Goal, Mode, Procedure, Recipe
from .core.rule import Agreement, Demands, Rule
from .core.suspicion import Suspicion, WorstElement
from .core.tolerance import Tolerance
from .core.traits import TargetTraits, Traits
from .core.verdict import Judgement, Kind, Measure, Stage, Verdict
from .operators.functions.helpers import elementwise
from .operators.functions.spec import Call, Lacking, Operand, Operator, Tensor, call
from .operators.reference.numbers import Numbers
from .operators.reference.rounding import exact
from .operators.spec import (
    Conflict,
    Domain,
    Evaluation,
    LayerSpec,
    Parameter,
    Params,
    Shape,
    ShapeError,
    WeightSpec,
    no_weights,
)
from .oracles.base import Steps, Stepwise
from .reporting.base import Report
from .reporting.facts import Facts, TargetFacts
from .targets.catalogue import AdapterChoice, TargetSpec
from .triage.reproduce.claim import Claim
from .triage.reproduce.literals import Unprintable
from .triage.reproduce.script import ScriptParts
from .triage.reproduce.writers import ScriptRequest, ScriptWriter

__all__ = [
    "AdapterChoice",
    "Form",
    "Record",
    "Setting",
    "Tolerance",
    "WorstElement",
    "Demands",
    "Agreement",
    "ScriptWriter",
    "ScriptRequest",
    "ScriptParts",
    "Unprintable",
    "Claim",
    "OUTCOMES",
    "Answer",
    "ApiCall",
    "Array",
    "ArrayArg",
    "Arrays",
    "Ask",
    "Call",
    "Case",
    "Check",
    "Class",
    "Comparison",
    "Conflict",
    "Counterpart",
    "Diagnosis",
    "Domain",
    "Engine",
    "Evaluation",
    "Evidence",
    "Facts",
    "Failure",
    "Finding",
    "Goal",
    "GraphBuilder",
    "InputSpec",
    "Judged",
    "Judgement",
    "KeptCase",
    "Kind",
    "Lacking",
    "LayerGraph",
    "LayerSpec",
    "Measure",
    "Mode",
    "ModelFile",
    "Node",
    "Numbers",
    "Operand",
    "Operator",
    "Oracle",
    "OracleFactory",
    "Outcome",
    "Parameter",
    "Params",
    "Procedure",
    "Recipe",
    "Ref",
    "Report",
    "Result",
    "Rule",
    "Seen",
    "Setup",
    "Shape",
    "ShapeError",
    "Stage",
    "Standing",
    "Status",
    "Steps",
    "Stepwise",
    "Suspicion",
    "TargetFacts",
    "TargetSpec",
    "TargetTraits",
    "Tensor",
    "Trace",
    "Traits",
    "UsageError",
    "Verdict",
    "WeightSpec",
    "call",
    "elementwise",
    "exact",
    "in_words",
    "no_weights",
]
