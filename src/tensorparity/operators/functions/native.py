"""What an operator's case is in the words of a library: the function it is asked for, its sizes and its dtype."""

from __future__ import annotations

from ...core.arrays import dtype_name
from ...core.case import ApiCall, ArrayArg, Case
from .catalogue import operator_of
from .convolution import COUNT
from .spec import TIMES, Call, Lacking, Operator, Sizes


def native_call(operator: Operator, library: str, case: Case) -> Call:
    """The call that a library is asked for.

    Raises:
        Lacking: if the library has no such function.
    """
    assert isinstance(case.subject, ApiCall)
    params = {name: value for name, value in case.subject.kwargs.items() if name != TIMES}
    return operator.native(library, params, call_sizes(operator, case), computed_in(case))


def native_name(operator: Operator, library: str, case: Case) -> str:
    """The public name of the function a library is asked for."""
    try:
        found = native_call(operator, library, case)
    except Lacking:
        return operator.subject
    while found.args and isinstance(found.args[0], Call):
        found = found.args[0]  # of a composed call, what is applied to the input first
    return found.api


def computed_in(case: Case) -> str:
    """What the operator computes in: its own precision, or that of its first array."""
    return case.procedure.dtype or dtype_name(next(iter(case.inputs.values())))


def call_sizes(operator: Operator, case: Case) -> dict[str, Sizes]:
    """The shape of every operand without the stacking axis, and the number of stacked inputs."""
    sizes: dict[str, Sizes] = {}
    assert isinstance(case.subject, ApiCall)
    names = [argument.name for argument in case.subject.args if isinstance(argument, ArrayArg)]
    for operand, name in zip(operator.operands, names, strict=True):
        shape = case.inputs[name].shape
        sizes[operand.name] = shape[1:] if operand.stacked else shape
        if operand.stacked:
            sizes[COUNT] = shape[:1]
    return sizes


def case_operator(case: Case) -> Operator | None:
    """The operator that a case calls, if it calls one."""
    return operator_of(case.subject.api) if isinstance(case.subject, ApiCall) else None


def shared_inputs(case: Case) -> frozenset[str]:
    """The inputs that all rows of a case share: the operands that are not stacked."""
    operator = case_operator(case)
    return frozenset(operand.name for operand in operator.operands if not operand.stacked) if operator else frozenset()
