"""One layer or call against its reference, by the same rule that blames the layers of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import dtype_name, is_floating
from ..core.case import ApiCall, Case
from ..core.channels import is_text
from ..core.errors import TensorParityError
from ..core.finding import Class
from ..core.graph import LayerGraph, Node
from ..core.oracle import Seen
from ..core.outcome import Outcome
from ..core.policies import PLAIN, in_range, policy_named
from ..core.signature import suspects_of
from ..core.suspicion import Suspicion, WorstElement
from ..core.traits import Traits
from ..operators.functions.api import evaluate_call, evaluate_rest
from ..operators.reference.rounding import K, error_units
from ..operators.spec import Evaluation
from .blaming import class_and_suspects
from .isolated_checks import judge_form
from .measure.diagnose import accusation_of
from .measure.documented_freedoms import freedom_of
from .measure.isolated_nodes import in_effective_dtype, measure_outputs, with_dtypes
from .measure.limits import limits_of
from .measure.node_errors import NodeErrors, absolute_error, reference_error
from .measure.weights_of_zero import not_finite_by_zero
from .statements import BY_REFERENCE, Statement, clears, convicts, doubts
from .subjects import api_of, node_key, parameters_of, stage_of

Truth = Mapping[str, Evaluation]


def by_reference(seen: Seen, outcomes: Mapping[str, Outcome], truth: Truth) -> Statement:
    """Decision 5 on the outputs of one layer or call.

    Args:
        truth: the true outputs, by name.
    """
    case = seen.case
    completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    errors = _errors(case, completed, truth, seen.traits)
    klass, suspects = class_and_suspects(errors, seen.traits)
    above = tuple(target for target, error in errors.errors.items() if error > K)
    if klass is None and len(completed) == 1 and above and _is_wrong_alone(seen, above[0], truth):
        klass, suspects = Class.DEFECT, above
    if klass is None:
        return _nobody(errors, above)
    accusation = accusation_of(klass, suspects, [errors])
    api = api_of(case, seen.traits, suspects)
    diagnosis = replace(accusation.diagnosis, api=api, parameters=parameters_of(case), node=node_key(case))
    accused = next((target for target in (*suspects, *above) if target in completed), None)
    worst = _worst(case, completed[accused], truth) if accused else None
    found = Suspicion(accusation.kind, diagnosis, case, tuple(outcomes), stage=stage_of(case), worst=worst)
    return convicts(found, BY_REFERENCE)


def _nobody(errors: NodeErrors, above: Sequence[str]) -> Statement:
    """Why nobody is accused."""
    if len(above) == 1:
        return doubts(f"{above[0]} alone, and not as the reference says: another target must tell who is wrong")
    if errors.disputed:
        return doubts("undecided: the targets give different dtypes, and no majority says which is right")
    if above:
        return doubts("all targets agree with each other, and not with the reference")
    return clears(BY_REFERENCE)


def _is_wrong_alone(seen: Seen, target: str, truth: Truth) -> bool:
    """Others convicted it when the case was filed, or there is no excuse for it."""
    return target in suspects_of(seen.claim) or _well_conditioned(seen.case, truth)


def _errors(case: Case, completed: Mapping[str, Outcome], truth: Truth, traits: Traits) -> NodeErrors:
    answers = {t: [o.outputs[name] for name in truth if name in o.outputs] for t, o in completed.items()}
    policy = _policy(case)
    involved = [*case.arrays().values(), *(value.value for value in truth.values())]
    judged = in_range(in_effective_dtype(answers, policy, traits), policy_named(policy), involved, traits)
    freed = freedom_of(case) or not_finite_by_zero(case, list(truth.values())) or limits_of(case, list(truth.values()))
    errors = measure_outputs(_node_of(case), judged, list(truth.values()), freed, list(case.inputs.values()))
    errors = _with_further_outputs(with_dtypes(errors, answers, policy, traits), case, completed)
    if isinstance(case.subject, LayerGraph) and all(error <= K for error in errors.errors.values()):
        return judge_form(case, completed, traits) or errors
    return errors


def _policy(case: Case) -> str | None:
    """The dtype policy that a layer runs under; none of calls, nor where somebody hands it numbers of another dtype."""
    if not isinstance(case.subject, LayerGraph):
        return None
    floats = {name for array in case.arrays().values() if is_floating(name := dtype_name(array))}
    plain = PLAIN.name if floats <= {PLAIN.compute} else None
    return case.procedure.dtype or plain


def _node_of(case: Case) -> Node:
    if isinstance(case.subject, LayerGraph):
        return case.subject.nodes[-1]
    return Node("call", case.subject.api if isinstance(case.subject, ApiCall) else "call", ())


def _worst(case: Case, outcome: Outcome, truth: Truth) -> WorstElement | None:
    """The number of a suspect that is furthest from the reference; None where it is a matter of shapes."""
    places = [ref.index for ref in case.subject.outputs] if isinstance(case.subject, LayerGraph) else [0]
    found: tuple[float, WorstElement] | None = None
    for place, (name, evaluation) in zip(places, truth.items(), strict=True):
        output = outcome.outputs.get(name)
        if output is None or output.shape != evaluation.value.shape or not output.size:
            continue
        units = error_units(output, evaluation, dtype_name(output))
        index = tuple(int(part) for part in np.unravel_index(int(np.argmax(units)), units.shape))
        if units[index] > K and (found is None or units[index] > found[0]):
            found = float(units[index]), WorstElement(index, place)
    return found[1] if found else None


def _with_further_outputs(errors: NodeErrors, case: Case, completed: Mapping[str, Outcome]) -> NodeErrors:
    """What must hold of a call's outputs after the first counts as well, the larger error of each target."""
    if not isinstance(case.subject, ApiCall):
        return errors
    units, absolute = dict(errors.errors), dict(errors.absolute)
    for target, outcome in completed.items():
        outputs = [outcome.outputs[name] for name in sorted(outcome.outputs, key=int)]
        for actual, truth in evaluate_rest(case.subject, dict(case.inputs), outputs):
            units[target] = max(units[target], reference_error([actual], [truth]))
            absolute[target] = max(absolute[target], absolute_error(actual, truth))
    return replace(errors, errors=units, absolute=absolute)


def _well_conditioned(case: Case, truth: Truth) -> bool:
    """A plain evaluation of the formula in the call's own dtype stays within the bound: no excuse for who does not.

    A layer in whose formula nothing is rounded but the result has no excuse, either.
    """
    if isinstance(case.subject, LayerGraph):
        return len(case.subject.nodes) == 1 and not any(np.any(value.kappa) for value in truth.values())
    if not isinstance(case.subject, ApiCall):
        return False
    try:
        plain = evaluate_call(case.subject, dict(case.inputs), promoted=False).value
    except TensorParityError:
        return False
    if is_text(plain):
        return True  # words are exact
    dtype = next((array.dtype for array in case.inputs.values() if array.dtype.kind in "fciu"), plain.dtype)
    return reference_error([np.asarray(plain).astype(dtype)], [truth["0"]]) <= K
