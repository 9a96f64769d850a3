"""All that a plug-in needs, and the only module whose names are promised to stay.

A package adds targets, engines, oracles, rules, layers, operators and report formats through entry points in the
groups ``tensorparity.target``, ``tensorparity.engine``, ``tensorparity.oracle``, ``tensorparity.rule``,
``tensorparity.layer``, ``tensorparity.operator`` and ``tensorparity.report``; ``examples/`` has such a package.
"""

from __future__ import annotations

from .core.case import ApiCall, ArrayArg, Case, Counterpart, ModelFile
from .core.comparison import Comparison
from .core.engine import Ask, Engine, Result
from .core.evidence import Evidence, in_words
from .core.finding import Class, Diagnosis, Finding
from .core.graph import GraphBuilder, InputSpec, LayerGraph, Node, Ref
from .core.oracle import OUTCOMES, Answer, Check, Judged, Oracle, Seen, Setup
from .core.outcome import Failure, Outcome, Status, Trace
from .core.procedure import Goal, Mode, Procedure, Recipe
from .core.rule import Rule
from .core.suspicion import Suspicion
from .core.traits import TargetTraits, Traits
from .core.verdict import Judgement, Kind, Measure, Stage, Verdict
from .operators.functions.spec import Operator
from .operators.spec import LayerSpec
from .oracles.base import Steps, Stepwise
from .reporting.base import Report
from .reporting.facts import Facts, TargetFacts
from .targets.catalogue import TargetSpec

__all__ = [
    "OUTCOMES",
    "Answer",
    "ApiCall",
    "ArrayArg",
    "Ask",
    "Case",
    "Check",
    "Class",
    "Comparison",
    "Counterpart",
    "Diagnosis",
    "Engine",
    "Evidence",
    "Facts",
    "Failure",
    "Finding",
    "Goal",
    "GraphBuilder",
    "InputSpec",
    "Judged",
    "Judgement",
    "Kind",
    "LayerGraph",
    "LayerSpec",
    "Measure",
    "Mode",
    "ModelFile",
    "Node",
    "Operator",
    "Oracle",
    "Outcome",
    "Procedure",
    "Recipe",
    "Ref",
    "Report",
    "Result",
    "Rule",
    "Seen",
    "Setup",
    "Stage",
    "Status",
    "Steps",
    "Stepwise",
    "Suspicion",
    "TargetFacts",
    "TargetSpec",
    "TargetTraits",
    "Trace",
    "Traits",
    "Verdict",
    "in_words",
]
