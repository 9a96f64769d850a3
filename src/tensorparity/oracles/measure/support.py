"""What is supported: a target that refuses what its documentation rules out, or leaves open, is not wrong.

The declaration of an operator says which call of which library does it, with which parameters; that of a layer, which
arguments its documentation names. In float32 that is documented support, and a library that refuses it is wrong,
whatever its exception says. Other dtypes it may lack, and what the documentation itself leaves out (``limits``).
"""

from __future__ import annotations

from dataclasses import replace

from ...core.arrays import dtype_name
from ...core.capabilities import can_train
from ...core.case import ApiCall, Case
from ...core.evidence import observed
from ...core.finding import Class, Diagnosis
from ...core.graph import LayerGraph, Node
from ...core.messages import says_no_kernel, says_not_installed, says_unsupported
from ...core.outcome import Outcome, Status
from ...core.policies import PLAIN
from ...core.procedure import Mode
from ...core.traits import Traits
from ...operators.catalogue import has_layer, layer
from ...operators.functions.catalogue import operator_of
from ...operators.losses.alone import is_loss_alone
from .documented_freedoms import FreeElements, as_specification

#: The stages in which a layer does what it is for, as workers name them.
_RUNNING = ("", "build", "forward")
#: Arguments that the catalogue does not declare, since they change nothing that a layer computes.
_NAMES = frozenset({"name", "trainable", "autocast"})
_SETTING_UP = ("_initializer", "_regularizer", "_constraint")


def is_documented(case: Case, outcome: Outcome, traits: Traits) -> bool:
    """The documentation promises what was refused: an operator of the catalogue, or a layer as it is declared.

    Not where another package has to be installed for it: that is no word against the documentation.
    """
    if outcome.failure is not None and says_not_installed(outcome.failure.type, outcome.failure.message):
        return False
    if isinstance(case.subject, ApiCall):
        known = operator_of(case.subject.api) is not None
        return known and all(dtype_name(array) == "float32" for array in case.inputs.values())
    own = traits[outcome.target]
    if own.lowering or own.arbiter or not can_train(own):  # it takes no layers, or has a part of them only
        return False
    node = _refused_node(case, outcome)
    return node is not None and _is_plain_use(case) and _promises(node)


def _refused_node(case: Case, outcome: Outcome) -> Node | None:
    """The layer that was being built or run forward: what can be differentiated is another promise."""
    failure, graph = outcome.failure, case.subject
    if failure is None or not isinstance(graph, LayerGraph) or is_loss_alone(case):
        return None
    if failure.stage not in _RUNNING or (case.procedure.loss is not None and not failure.stage):
        return None
    if len(graph.nodes) == 1:
        return graph.nodes[0]
    return next((node for node in graph.nodes if failure.node in (node.key, node.name)), None)


def _is_plain_use(case: Case) -> bool:
    """In float32, as it is built: not loaded again, and not by a compiler that the user did not have to ask for."""
    procedure = case.procedure
    plain = procedure.dtype in (None, PLAIN.name) and not procedure.reload and procedure.mode is not Mode.COMPILED
    return plain and all(dtype_name(a) == "float32" or a.dtype.kind in "iub" for a in case.inputs.values())


def _promises(node: Node) -> bool:
    """Whether the layer's documentation names everything that it is given, and leaves nothing of it out."""
    if not has_layer(node.op):
        return False
    spec = layer(node.op)
    params = spec.complete({**node.params, **node.call_params})
    declared = {*spec.defaults(), *(parameter.name for parameter in spec.call_parameters)}
    unknown = {name for name, value in node.params.items() if name not in declared and value not in (None, False)}
    harmless = {name for name in unknown if name in _NAMES or name.endswith(_SETTING_UP)}
    return unknown == harmless and not (spec.invalid(node.params) or spec.limits(params) or spec.unsaid(params))


def is_lack(outcome: Outcome, case: Case, traits: Traits) -> bool:
    """A target says that it has no such thing, and no documentation says that it has."""
    dtype = case.procedure.dtype if isinstance(case.subject, LayerGraph) else None
    return is_missing(outcome) or (is_refusal(outcome, dtype) and not is_documented(case, outcome, traits))


def is_missing(outcome: Outcome) -> bool:
    """A target says that an optional package is not installed: whatever is promised is promised with it."""
    failure = outcome.failure
    return failure is not None and says_not_installed(failure.type, failure.message, outcome.target)


def is_refusal(outcome: Outcome, dtype: str | None = None) -> bool:
    """A target says that it has no such thing: in words, or by lacking a kernel for another policy than float32."""
    failure = outcome.failure
    if outcome.status is not Status.RAISED or failure is None:
        return False
    other = dtype not in (None, PLAIN.name)
    return says_unsupported(failure.type, failure.message) or (other and says_no_kernel(failure.message))


def classify_failure(
    diagnosis: Diagnosis,
    outcome: Outcome,
    freed: FreeElements | None = None,
    *,
    documented: bool = False,
    dtype: str | None = None,
) -> Diagnosis:
    """A bad ending as what it is: the library's own word that it has no such thing, a documented freedom, or a defect.

    Only an exception can be a refusal; a process that dies or hangs refuses nothing.

    Args:
        documented: the documentation says that it is supported, so the library's word does not count.
        dtype: the policy that layers ran under.
    """
    failure = outcome.failure
    if outcome.status is not Status.RAISED or failure is None:
        return diagnosis
    if freed is not None and freed.freedom.raises:
        return as_specification(diagnosis, freed.freedom)
    if is_missing(outcome) or (not documented and is_refusal(outcome, dtype)):
        said = observed("unsupported", target=outcome.target, **({"missing": True} if is_missing(outcome) else {}))
        return replace(diagnosis, klass=Class.UNSUPPORTED, evidence=(*diagnosis.evidence, said))
    return diagnosis


def as_documented(diagnosis: Diagnosis) -> Diagnosis:
    """A refusal of what turns out to be documented: a defect, whatever was said."""
    evidence = tuple(item for item in diagnosis.evidence if getattr(item, "code", "") != "unsupported")
    return replace(diagnosis, klass=Class.DEFECT, evidence=evidence)
