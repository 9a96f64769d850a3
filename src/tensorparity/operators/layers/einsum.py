"""EinsumDense: a contraction that an equation spells out, with bias and activation."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import is_integer, known_size, refuse
from ..functions import named_activations
from ..reference.rounding import growth
from ..spec import Conflict, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, WeightSpec
from .dense import ACTIVATION
from .governed import governed

_FORM = re.compile(
    r"(\.\.\.[a-zA-Z]+|[a-zA-Z]+\.\.\.|[a-zA-Z]+),([a-zA-Z]+)->(\.\.\.[a-zA-Z]+|[a-zA-Z]+\.\.\.|[a-zA-Z]+)"
)


@dataclass(frozen=True, slots=True)
class ContractionPlan:
    """An equation without ellipsis, and the sizes of its letters; None where they are not known."""

    taken: str
    kernel: str
    given: str
    hidden: str
    sizes: Mapping[str, int | None]

    @property
    def equation(self) -> str:
        return f"{self.taken},{self.kernel}->{self.given}"

    def shape(self, letters: str) -> Shape:
        return tuple(self.sizes[letter] for letter in letters)


def _plan(params: Params, shape: Shape) -> ContractionPlan:
    equation: Json = params["equation"]
    form = _FORM.fullmatch(equation) if isinstance(equation, str) else None
    if form is None or ("..." in form[1]) != ("..." in form[3]):
        refuse("equation", "an equation of the form 'ab,bc->ac', or with '...' on both outer sides", equation)
    hidden = _ellipsis_letters(equation, form[1], len(shape))
    taken, given = form[1].replace("...", hidden), form[3].replace("...", hidden)
    if len(taken) != len(shape) or taken[0] != given[0]:
        raise ShapeError(
            f"Argument `equation`: expected one for inputs of rank {len(shape)} that keeps the batch first. "
            f"Received: equation={equation!r}, shape={shape}"
        )
    if not set(given) <= set(taken + form[2]) or len(set(given)) != len(given):
        refuse("equation", "output letters that stand once on the left", equation)
    sizes = dict(zip(taken, shape, strict=True))
    _add_output(params, given, hidden, form[3].startswith("..."), sizes)
    if not set(form[2]) <= set(sizes):
        refuse("equation", "kernel letters that the input or the output has", equation)
    return ContractionPlan(taken, form[2], given, hidden, sizes)


def _ellipsis_letters(equation: str, taken: str, rank: int) -> str:
    """Letters for the axes that an ellipsis stands for."""
    count = rank - len(taken.replace("...", "")) if "..." in taken else 0
    free = [letter for letter in string.ascii_letters if letter not in equation]
    return "".join(free[: max(count, 0)])


def _add_output(params: Params, given: str, hidden: str, left: bool, sizes: dict[str, int | None]) -> None:
    """The sizes that ``output_shape`` gives: without the batch, and without what the ellipsis hides."""
    value: Json = params["output_shape"]
    items = (value,) if is_integer(value) else value
    good = isinstance(items, (tuple, list)) and all(item is None or (is_integer(item) and item > 0) for item in items)
    if not good:
        refuse("output_shape", "a positive integer or a sequence of them and None", value)
    letters = [letter for letter in given if letter not in hidden]
    letters = letters if left and hidden else letters[1:]
    if len(letters) != len(items):
        refuse("output_shape", f"sizes for the axes {''.join(letters)!r}", value)
    for letter, size in zip(letters, items, strict=True):
        own = sizes.get(letter)
        if letter not in sizes and size is None:
            refuse("output_shape", f"a size for axis {letter!r}, which the input does not have", value)
        if own is not None and size is not None and own != size:
            refuse("output_shape", f"{own} for axis {letter!r}, as the input has", value)
        sizes[letter] = own if own is not None else size


def _bias(params: Params, plan: ContractionPlan) -> tuple[int, ...] | None:
    """The bias has the output's axes from the first named one on, with 1 where none is named."""
    axes: Json = params["bias_axes"]
    if axes is None:
        return None
    if not isinstance(axes, str) or not axes or not set(axes) <= set(plan.given[1:]) - set(plan.hidden):
        refuse("bias_axes", f"None or letters of the output {plan.given!r} other than the batch", axes)
    first = min(plan.given.index(letter) for letter in axes)
    found = [plan.sizes[letter] if letter in axes else 1 for letter in plan.given[first:]]
    if None in found:
        raise ShapeError(f"Argument `bias_axes`: expected axes of known size. Received: bias_axes={axes!r}")
    return tuple(size for size in found if size is not None)


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    named_activations.check_name(params["activation"])
    plan = _plan(params, shapes[0])
    _bias(params, plan)
    return (plan.shape(plan.given),)


def _weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    plan = _plan(params, shapes[0])
    sizes = tuple(known_size(plan.shape(plan.kernel), index, "of the kernel") for index in range(len(plan.kernel)))
    fan_in = _terms(plan)
    found = {"kernel": WeightSpec(sizes, "kernel", fan_in=fan_in)}
    bias = _bias(params, plan)
    if bias is not None:
        found["bias"] = WeightSpec(bias, "bias", fan_in=fan_in)
    return found


def _terms(plan: ContractionPlan) -> int:
    """How many products are summed into one output."""
    gone = (set(plan.taken) | set(plan.kernel)) - set(plan.given)
    return int(np.prod([plan.sizes[letter] or 1 for letter in gone]))


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x, kernel = inputs[0], weights["kernel"]
    plan = _plan(params, x.shape)
    value = np.einsum(plan.equation, x, kernel)
    kappa = growth(_terms(plan)) * np.einsum(plan.equation, np.abs(x), np.abs(kernel))
    if "bias" in weights:
        value, kappa = value + weights["bias"], kappa + np.abs(weights["bias"])
    return (named_activations.apply(params["activation"], Evaluation(value, kappa)),)


_EINSUM_DENSE = LayerSpec(
    name="EinsumDense",
    api="keras.layers.EinsumDense",
    arity=(1, 1),
    ranks=(2, 3, 4),
    parameters=(
        Parameter(
            "equation",
            None,
            ("ab,bc->ac", "abc,cd->abd", "abc,cde->abde", "abc,bd->adc", "...x,xy->...y", "abc,bc->abc"),
            ("ab->b", "ab,bc->ca", 3),
            required=True,
        ),
        Parameter("output_shape", None, (4, (None, 4), (None, 2, 3), (3, None), (None, None)), (0, "4"), required=True),
        ACTIVATION,
        Parameter("bias_axes", None, (None, "c", "d", "y", "de", "e"), ("z", 1)),
    ),
    shape=_shape,
    weights=_weights,
    reference=_reference,
    formula="output = activation(the contraction of input and kernel that the equation spells out + bias)",
    conflicts=(
        Conflict({"equation": "ab,bc->ac", "bias_axes": "b"}, "bias_axes are axes of the output"),
        Conflict({"equation": "ab,bc->ac", "output_shape": (None, 4)}, "output_shape has a size per axis"),
    ),
    hazards=("the bias runs along bias_axes only, and broadcasts over the others",),
)
EINSUM_DENSE = governed(_EINSUM_DENSE, activity=True, kernel="kernel", bias="bias")
