"""The contract of an operator: signature, shape resolver, parameters, reference, and the call per library.

An operator is library-neutral. A case names it (``op.conv2d``) with its parameters and input arrays; how a library
is asked for it is data beside the declaration, so that one case runs on every target. Inputs are **stacked**: an
array of N inputs has them along its first axis, and one call computes them all. ``channels_last`` is the layout of
every declaration; a call that wants another one says how the axes are turned on the way in and back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.case import ApiCall, ArrayArg
from ...core.jsontext import Json
from ..reference.digits import FAILURES, ONE_AT_A_TIME, PRECISE, Imprecise
from ..reference.numbers import FLOAT, Numbers
from ..spec import Evaluation, Parameter, Params

#: How an operator's name begins in a case.
PREFIX = "op."
#: A parameter every operator has: applied so many times in a row, each time to its own output.
TIMES = "times"
#: What a binding finds the dtype of the call under, beside the operator's own parameters.
DTYPE = "#dtype"

#: Families whose formulas have intermediates far larger or smaller than inputs and results.
ACCUMULATING = frozenset(["reductions", "normalization", "products", "convolution", "pooling"])

#: What is usually computed in another form, in which one infinity meets itself or a zero: batch normalization folded
#: into a factor and a term, convolutions by transformed tiles or inserted zeros, a + w (b - a) between two pixels.
REGROUPED = frozenset(["normalization", "convolution", "resize_bilinear"])

Sizes = tuple[int, ...]
DTYPES = ("float16", "bfloat16", "float32", "float64")
LIBRARIES = ("tensorflow", "torch", "jax", "keras", "onnx")


class Lacking(Exception):
    """The library has no such function, or not with these parameters; the message says which."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An operand in a call. ``perm`` turns its axes; ``view`` leaves the memory as it is, as strided tensors do."""

    name: str
    perm: tuple[int, ...] = ()
    view: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One public function with its arguments: tensors, JSON values, further calls.

    Args:
        pick: which of several results is meant.
        perm: turns the axes of the result back.
    """

    api: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    pick: int | None = None
    perm: tuple[int, ...] = ()

    def turned(self, perm: Sequence[int]) -> Call:
        return replace(self, perm=tuple(perm))

    def picking(self, index: int) -> Call:
        return replace(self, pick=index)


def call(api: str, *args: Any, **kwargs: Any) -> Call:
    return Call(api, args, kwargs)


#: From the parameters and the shapes of the operands, without the stacking axis, to the call.
Binding = Callable[[Params, Mapping[str, Sizes]], Call]
Reference = Callable[..., Evaluation]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor argument.

    Args:
        stacked: one per input; otherwise all inputs of a call share it (a kernel).
        low, high: the values it may hold; outside of them the function is not defined.
        points: where the function has zeros, poles, kinks or changes its formula.
        scale: of the standard normal that the paper draws from.
        without: single values outside of the domain.
    """

    name: str
    stacked: bool = True
    low: float = -float("inf")
    high: float = float("inf")
    points: tuple[float, ...] = (0.0,)
    scale: float = 1.0
    without: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator.

    Args:
        shapes: input shapes worth trying (without the stacking axis), the default first.
        resolve: the shape of every operand, from the parameters and the input shape.
        reference: from numbers, parameters and arrays to the value and its conditioning.
        calls: the call per library; one that is absent is not offered there.
        dtypes: narrower only where the function itself is (integers, one precision).
        unary: output and input have one shape, so that it can be applied several times.
        again: the parameters with which it takes its own output so many times in a row, from those that were chosen and
            the input shape; or in words why it cannot. Of an operator that is ``unary`` nobody has to say.
        unlike: a documented freedom, by library, in the documentation's words.
        unlike_special: the same, where inputs hold NaN or infinities.
        limited: by library, the words of a docstring that says where the function is not exact: a finite number that is
            off is then what the documentation says.
        overflows: by library, the words of a docstring that says that very large results become infinite.
        by_cases: defined case by case. A NaN compares with nothing, so it may fall into any of the cases.
        weighed_by_zero: from numbers and operands, the outputs into which what is not finite comes through a weight of
            exactly 0 alone: whether 0 times infinity is left out or NaN is nobody's promise.
        conditioned: its kappa holds nothing but what a rounded input would do. Inputs are exact, so where one
            implementation comes within a few ulp of the truth, nobody is granted that.
    """

    name: str
    family: str
    formula: str
    operands: tuple[Operand, ...]
    reference: Reference
    calls: Mapping[str, Binding]
    parameters: tuple[Parameter, ...] = ()
    shapes: tuple[Sizes, ...] = ((28, 28, 3), (17,), (1,), (15,), (16,), (3, 5))
    resolve: Callable[[Params, Sizes], dict[str, Sizes]] | None = None
    dtypes: tuple[str, ...] = DTYPES
    unary: bool = True
    unlike: Mapping[str, str] = field(default_factory=dict)
    unlike_special: Mapping[str, str] = field(default_factory=dict)
    limited: Mapping[str, str] = field(default_factory=dict)
    overflows: Mapping[str, str] = field(default_factory=dict)
    by_cases: bool = False
    weighed_by_zero: Callable[..., Array] | None = None
    conditioned: bool = False
    again: Callable[[Params, Sizes, int], dict[str, Json] | str] | None = None

    @property
    def accumulates(self) -> bool:
        """Whether it adds up products or powers of its inputs, which leave the range before the result does."""
        return self.family in ACCUMULATING

    @property
    def regroups(self) -> bool:
        """Whether a form in use subtracts what the formula does not: one infinity may then become NaN."""
        return bool({self.family, self.name} & REGROUPED)

    @property
    def is_free(self) -> bool:
        """Whether nobody says what it answers for some NaN and infinities."""
        return self.by_cases or self.regroups or self.weighed_by_zero is not None

    @property
    def subject(self) -> str:
        return PREFIX + self.name

    def defaults(self) -> dict[str, Json]:
        return {parameter.name: parameter.default for parameter in self.parameters}

    def complete(self, params: Params) -> dict[str, Json]:
        return {**self.defaults(), **params}

    def significant(self, params: Params) -> dict[str, Json]:
        """Parameters that are not at their default."""
        defaults = self.defaults() | {TIMES: 1}
        return {name: value for name, value in params.items() if value != defaults.get(name)}

    def sizes(self, params: Params, shape: Sizes) -> dict[str, Sizes]:
        """The shape of every operand, without the stacking axis."""
        if self.resolve is None:
            return {operand.name: shape for operand in self.operands}
        return self.resolve(self.complete(params), shape)

    def repeated(self, params: Params, shape: Sizes, times: int) -> dict[str, Json] | str:
        """The parameters with which it can be applied so many times to what it gives, or why it cannot be."""
        if times == 1 or self.unary:
            return dict(params)
        if self.again is None:
            return "its output is no input of the same kind"
        found = self.again(self.complete(params), shape, times)
        return found if isinstance(found, str) else {**params, **found}

    def api_call(self, params: Params) -> ApiCall:
        """The subject of a case: the operator's name, its operands in order, the parameters that matter."""
        return ApiCall(
            self.subject, tuple(ArrayArg(operand.name) for operand in self.operands), self.significant(params)
        )

    def operand_arrays(self, inputs: Arrays) -> list[Array]:
        """The arrays of a case in the order of the operands, in float64."""
        return [inputs[operand.name].astype(np.float64) for operand in self.operands]

    def native(self, library: str, params: Params, sizes: Mapping[str, Sizes], dtype: str = "float32") -> Call:
        """The call in a library, in a dtype.

        Raises:
            Lacking: if it has none.
        """
        if library not in self.calls:
            raise Lacking(f"{library} has no {self.name}")
        return self.calls[library]({**self.complete(params), DTYPE: dtype}, sizes)

    def evaluate(self, params: Params, arrays: Sequence[Array], numbers: Numbers = FLOAT) -> Evaluation:
        """The true value and its conditioning, in the numbers given; repeated as the parameters say."""
        complete = self.complete(params)
        times = int(complete.pop(TIMES, 1))
        evaluation = self.reference(numbers, complete, *arrays)
        for _ in range(times - 1):
            evaluation = self.reference(numbers, complete, evaluation.value, *arrays[1:])
        return evaluation

    def evaluate_precisely(self, params: Params, arrays: Sequence[Array]) -> Evaluation:
        """The same in arithmetic of 50 digits: slow, for single inputs.

        Raises:
            Imprecise: if a function is out of their reach.
        """
        try:
            with ONE_AT_A_TIME:
                return self.evaluate(params, [PRECISE.array(array) for array in arrays], PRECISE)
        except FAILURES as error:
            raise Imprecise(f"{type(error).__name__}: {error}") from error


def operator_name(api: str) -> str | None:
    """The operator that a case's API name means, if it means one."""
    return api[len(PREFIX) :] if api.startswith(PREFIX) else None
