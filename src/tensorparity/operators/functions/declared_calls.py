"""What single calls may name beside operators: metrics, weighed losses, activations, layers that read strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...core.arrays import Array, Arrays
from ...core.case import ApiCall, ArrayArg
from ...core.errors import UsageError
from ...core.jsontext import Json
from ..losses.weighed import WEIGHED
from ..metrics.catalogue import METRICS
from ..spec import Evaluation, Parameter, Params, ShapeError
from .activation_calls import ACTIVATIONS, ActivationSpec
from .text_layers import TEXT_LAYERS


class Declared(Protocol):
    """One public function or class: what it is called with, and what comes out."""

    @property
    def api(self) -> str: ...

    @property
    def formula(self) -> str: ...

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def invalid(self, params: Params) -> dict[str, Json]:
        """The parameters whose values the documentation rules out."""

    def evaluate(self, params: Params, arrays: tuple[Array, ...]) -> Evaluation:
        """The true value."""


_ALL: tuple[Declared, ...] = (*METRICS.values(), *WEIGHED.values(), *ACTIVATIONS.values(), *TEXT_LAYERS.values())
#: By public name.
DECLARED: Mapping[str, Declared] = {spec.api: spec for spec in _ALL}


def evaluate_declared(call: ApiCall, inputs: Arrays, *, promoted: bool = True) -> Evaluation:
    """The true value of a case.

    Args:
        promoted: False evaluates an activation in the inputs' own dtype; the others know no rounding.

    Raises:
        UsageError: if the call is not declared, or the arrays do not fit it.
    """
    spec = DECLARED.get(call.api)
    if spec is None:
        raise UsageError(f"unknown call {call.api!r}; known are {', '.join(DECLARED)}")
    try:
        arrays = tuple(inputs[item.name] for item in call.args if isinstance(item, ArrayArg))
        if isinstance(spec, ActivationSpec) and not promoted:
            return spec.plainly(call.kwargs, arrays)
        return spec.evaluate(call.kwargs, arrays)
    except (TypeError, ValueError, IndexError, KeyError, ShapeError) as error:
        raise UsageError(f"{call.api}: the reference does not cover these arguments: {error}") from error


def significant(call: ApiCall) -> dict[str, Json]:
    """Arguments of a declared call that are not at their default and no data; none of any other."""
    spec = DECLARED.get(call.api)
    declared = {parameter.name: parameter for parameter in spec.parameters} if spec else {}
    return {
        name: value
        for name, value in call.kwargs.items()
        if name in declared and not declared[name].data and (declared[name].required or value != declared[name].default)
    }
