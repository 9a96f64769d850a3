"""Documented freedoms: what libraries may answer as they like, as data, with the words of the documentation.

A difference that one of these explains is a ``specification``: nobody is wrong. Each entry says for which layers or
functions it holds and which elements of the output are free; a difference elsewhere, or in other elements, stays what
it was. Where the documentation lets a library raise instead, the entry says that too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, ArrayArg, Case
from ...core.channels import is_finite
from ...core.evidence import Evidence, observed
from ...core.finding import Class, Diagnosis
from ...core.graph import LayerGraph, Node
from ...core.jsontext import Json
from ...operators.catalogue import has_layer, layer
from ...operators.functions.activation_calls import ACTIVATIONS
from ...operators.layers.resizing import resized_from
from ...operators.spec import Evaluation

Params = Mapping[str, Json]
#: From parameters (complete) and inputs in order: which elements of the output are free, as far as it broadcasts.
Free = Callable[[Params, Sequence[Array]], Array]
#: Inputs of which the reference can be asked, equal in everything that is not free.
Tame = Callable[[Params, Sequence[Array]], list[Array]]

_NOTHING = np.zeros((), bool)
_COARSE = 0.01


@dataclass(frozen=True, slots=True)
class Freedom:
    """One freedom.

    Args:
        apis: public names, or their last part (``fmod`` stands for every library's).
        words: of the documentation, quoted.
        source: where they stand.
        raises: a library may refuse such values as well.
        tame: where the reference refuses them.
        only_not_finite: what is free is to answer NaN or an infinity, and no other number.
    """

    name: str
    apis: tuple[str, ...]
    free: Free
    words: str
    source: str
    raises: bool = False
    tame: Tame | None = None
    only_not_finite: bool = False

    @property
    def said(self) -> Evidence:
        return observed("freedom", name=self.name, words=self.words, source=self.source)


@dataclass(frozen=True, slots=True)
class FreeElements:
    """A freedom that covers some elements of a case's output.

    Args:
        also: where the truth is one of two answers, the other one; without, anything goes.
    """

    freedom: Freedom
    mask: Array
    inputs: tuple[Array, ...]
    also: Array | None = None

    def settled(self, outputs: Sequence[Array], truth: Sequence[Evaluation]) -> list[Array]:
        """The outputs with their free elements as the truth has them: what is still wrong then is wrong."""
        return [self._with_truth_in_one(output, true.value) for output, true in zip(outputs, truth, strict=False)]

    def _with_truth_in_one(self, output: Array, value: Array) -> Array:
        if output.shape != np.shape(value):
            return output
        try:
            mask = np.broadcast_to(self.mask, output.shape)
            if self.freedom.only_not_finite:
                mask = mask & ~is_finite(output)
            if self.also is not None:
                mask = mask & (~is_finite(output) | _near(output, self.also))
        except ValueError:  # another output than the one that is free
            return output
        with np.errstate(all="ignore"):
            return np.where(mask, np.asarray(value).astype(output.dtype), output)


def _near(output: Array, other: Array) -> Array:
    """Coarsely: how exact it is, is another matter."""
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(output.astype(np.float64) - other) <= _COARSE * (1.0 + np.abs(other)))


def _never(params: Params, inputs: Sequence[Array]) -> Array:
    return _NOTHING


def _index_out_of_range(params: Params, inputs: Sequence[Array]) -> Array:
    indices = inputs[0]
    return np.asarray((indices < 0) | (indices >= params["input_dim"]))[..., None]


def _index_in_range(params: Params, inputs: Sequence[Array]) -> list[Array]:
    return [np.clip(inputs[0], 0, params["input_dim"] - 1), *inputs[1:]]


def _integers(inputs: Sequence[Array]) -> bool:
    return len(inputs) > 1 and all(array.dtype.kind in "iu" for array in inputs[:2])


def _integer_by_zero(params: Params, inputs: Sequence[Array]) -> Array:
    return inputs[1] == 0 if _integers(inputs) else _NOTHING


def _negative_power(params: Params, inputs: Sequence[Array]) -> Array:
    return inputs[1] < 0 if _integers(inputs) else _NOTHING


def _halves_in_nearest(params: Params, inputs: Sequence[Array]) -> Array:
    """Rows and columns whose centre falls exactly between two input pixels."""
    if params.get("interpolation") != "nearest":
        return _NOTHING
    first = 2 if params.get("data_format") == "channels_first" else 1
    height, width = inputs[0].shape[first : first + 2]
    target = params["height"], params["width"]
    sizes = zip(resized_from(params, height, width), target, strict=True)
    rows, columns = (
        np.array([(Fraction(2 * index + 1, 2) * before / after).denominator == 1 for index in range(after)], bool)
        for before, after in sizes
    )
    mask = rows[:, None] | columns[None, :]
    return np.asarray(mask if first == 2 else mask[..., None])


def _tied_extreme(params: Params, inputs: Sequence[Array]) -> Array:
    """Slots whose largest (or smallest) value is there more than once."""
    x, axis = inputs[0], params.get("axis", params.get("dim"))
    tied = [(x == x.max(axis=axis, keepdims=True)), (x == x.min(axis=axis, keepdims=True))]
    mask = np.logical_or(*(np.sum(item, axis=axis, keepdims=True) > 1 for item in tied))
    return np.asarray(mask if params.get("keepdims", params.get("keepdim", False)) else np.squeeze(mask, axis=axis))


def _tied_order(params: Params, inputs: Sequence[Array]) -> Array:
    """Whole slices in which a value is there twice: which of the equal ones comes first moves no other."""
    axis = params.get("axis", params.get("dim", -1))
    ordered = np.sort(inputs[0], axis=axis)
    return (np.diff(ordered, axis=axis) == 0).any(axis=axis, keepdims=True) if ordered.size else _NOTHING


def _not_a_number(params: Params, inputs: Sequence[Array]) -> Array:
    return np.isnan(inputs[0]) if inputs[0].dtype.kind in "fc" else _NOTHING


def _nan_told_by_cases(params: Params, inputs: Sequence[Array]) -> Array:
    """NaN is in none of the cases that the function is told by."""
    name = params.get("activation")
    told = isinstance(name, str) and name in ACTIVATIONS and ACTIVATIONS[name].by_cases
    return _not_a_number(params, inputs) if told else _NOTHING


def _crossed_bounds(params: Params, inputs: Sequence[Array]) -> Array:
    low, high = (params.get(name) for name in ("x_min", "x_max")) if "x_min" in params else (None, None)
    if len(inputs) == 3:
        return inputs[1] > inputs[2]
    return np.asarray(low is not None and high is not None and low > high)


def _no_probability(params: Params, inputs: Sequence[Array]) -> Array:
    """A reduced loss is free as a whole, which a single True broadcasts to."""
    outside = [(array < 0) | (array > 1) for array in inputs[:2] if array.dtype.kind == "f"]
    return np.asarray(any(bool(item.any()) for item in outside))


def _beside_no_weight(params: Params, inputs: Sequence[Array]) -> Array:
    """Places whose neighbours, as far as the kernel reaches, hold what is not finite.

    A place that is the centre of a pixel has all of that pixel, and a neighbour with a weight of exactly 0 on either
    side: a sum that takes it along is NaN, one that does not is a number.
    """
    x = inputs[0]
    reach = _REACH.get(str(params.get("interpolation")), 0)
    if x.dtype.kind != "f" or x.ndim != 4 or not reach or np.isfinite(x).all():
        return _NOTHING
    rows, columns = (2, 3) if params.get("data_format") == "channels_first" else (1, 2)
    near = ~np.isfinite(x)
    for axis in (rows, columns):
        for _ in range(reach):
            moved = [
                np.take(near, np.clip(np.arange(near.shape[axis]) + by, 0, near.shape[axis] - 1), axis)
                for by in (-1, 1)
            ]
            near = near | moved[0] | moved[1]
    for axis, after in zip((rows, columns), _sizes_after(params, x.shape[rows], x.shape[columns]), strict=True):
        near = np.take(
            near, np.minimum(np.arange(after) * near.shape[axis] // max(after, 1), near.shape[axis] - 1), axis
        )
    return near


def _sizes_after(params: Params, height: int, width: int) -> tuple[int, int]:
    if "size" in params:
        factors = params["size"] if isinstance(params["size"], (list, tuple)) else (params["size"],) * 2
        return height * factors[0], width * factors[1]
    return params["height"], params["width"]


#: How many pixels each kernel reaches to either side, and one more.
_REACH = {"bilinear": 2, "bicubic": 3, "lanczos3": 4, "lanczos5": 6}

#: Applied by ``not_finite_by_zero``, which needs the reference to decide.
WEIGHED_BY_ZERO = Freedom(
    "NaN or an infinity at a weight of 0",
    (),
    _never,
    "0 times NaN is NaN, and so is 0 times infinity, where a term with a weight of exactly 0 is added up; where it is "
    "left out, the sum is a number",
    "IEEE 754; no library promises which terms it adds up",
)

#: Applied by ``free_at_infinity``, which needs the reference to decide.
LIMITS = Freedom(
    "an infinity where the formula has a limit",
    (),
    _never,
    "infinity over infinity, and infinity less infinity, are NaN, where a formula is taken literally; what it tends to "
    "is a number",
    "IEEE 754; no library promises limits",
)

#: Applied by the rule of one-sided derivatives (``kinks``), which needs more than the values to decide.
GRADIENTS_AT_KINKS = Freedom(
    "gradients at kinks and ties",
    (),
    _never,
    "amax/amin evenly distribute gradients between equal values; max/min over one axis only propagate to the indexed "
    "element",
    "torch.max",
)

FREEDOMS: tuple[Freedom, ...] = (
    Freedom(
        "indices out of range",
        ("keras.layers.Embedding",),
        _index_out_of_range,
        "on CPU, if an out of bound index is found, an error is raised; on GPU a 0 is stored",
        "tf.gather; jax.lax.GatherScatterMode clamps or fills instead",
        raises=True,
        tame=_index_in_range,
    ),
    Freedom(
        "integer division by zero",
        ("fmod", "remainder", "floor_divide", "mod", "floormod", "divide_no_nan"),
        _integer_by_zero,
        "raises RuntimeError for integer division by zero on CPU; integer division by zero on GPU may return any value",
        "torch.fmod",
        raises=True,
    ),
    Freedom(
        "negative powers of integers",
        ("pow", "power"),
        _negative_power,
        "Integers to negative integer powers are not allowed.",
        "numpy.power; torch.pow refuses them too, jax.numpy.power answers",
        raises=True,
    ),
    Freedom(
        "halves in nearest-neighbour interpolation",
        ("keras.layers.Resizing",),
        _halves_in_nearest,
        "mode='nearest-exact' matches Scikit-Image and PIL nearest neighbours interpolation algorithms and fixes known "
        "issues with mode='nearest'",
        "torch.nn.functional.interpolate",
    ),
    Freedom(
        "NaN or an infinity beside a pixel that has all of the weight",
        ("keras.layers.Resizing", "keras.layers.UpSampling2D"),
        _beside_no_weight,
        "nobody says whether a neighbour with a weight of 0 is added up, and NaN or an infinity comes in with it",
        "tf.image.resize, torch.nn.functional.interpolate, jax.image.resize",
        only_not_finite=True,
    ),
    Freedom(
        "index of a tie",
        ("argmax", "argmin"),
        _tied_extreme,
        "if there are multiple maximal values then the indices of the first are returned; other libraries return any",
        "torch.argmax",
    ),
    Freedom(
        "order of ties",
        ("argsort", "top_k", "topk"),
        _tied_order,
        "If stable is True then the sort routine becomes stable, preserving the order of equivalent elements",
        "torch.argsort",
    ),
    Freedom(
        "sign of NaN",
        ("sign", "heaviside", "threshold"),
        _not_a_number,
        "y = sign(x) = -1 if x < 0; 0 if x == 0; 1 if x > 0",
        "tf.math.sign",
    ),
    Freedom(
        "NaN in a function that is told by cases",
        ("keras.layers.Activation",),
        _nan_told_by_cases,
        "soft_shrink(x) = x - threshold if x > threshold, x + threshold if x < -threshold, 0 otherwise",
        "keras.activations.soft_shrink, and the like of every function that is told so",
    ),
    Freedom(
        "bounds that cross",
        ("clip", "clamp", "clip_by_value"),
        _crossed_bounds,
        "If min is greater than max, sets all elements in input to the value of max",
        "torch.clamp; numpy.clip leaves the result undefined",
        raises=True,
    ),
    Freedom(
        "probabilities outside of their domain",
        ("bce", "binary_cross_entropy", "binary_crossentropy", "categorical_crossentropy"),
        _no_probability,
        "all elements of input should be between 0 and 1",
        "torch.nn.functional.binary_cross_entropy refuses them, Keras clips them",
        raises=True,
    ),
)


def freedom_of(case: Case) -> FreeElements | None:
    """The freedom that covers some of the output of a one-layer case or a call; None where none does."""
    arrays = [case.inputs[name] for name in _input_names(case)]
    if isinstance(case.subject, ApiCall):
        return _find(case.subject.api, case.subject.kwargs, arrays)
    return freedom_of_node(case.subject.nodes[0], arrays) if _is_one_layer(case) else None  # type: ignore[union-attr]


def case_in_domain(case: Case, freed: FreeElements) -> Case:
    """The case with inputs of which the reference can be asked."""
    return replace(case, inputs={**case.inputs, **dict(zip(_input_names(case), freed.inputs, strict=True))})


def _input_names(case: Case) -> list[str]:
    if isinstance(case.subject, ApiCall):
        return [item.name for item in case.subject.args if isinstance(item, ArrayArg)]
    if isinstance(case.subject, LayerGraph) and _is_one_layer(case):
        return [ref.node for ref in case.subject.nodes[0].inputs if ref.node in case.inputs]
    return []


def _is_one_layer(case: Case) -> bool:
    return isinstance(case.subject, LayerGraph) and len(case.subject.nodes) == 1


def freedom_of_node(node: Node, given: Sequence[Array]) -> FreeElements | None:
    """The same for one layer on the inputs it is given."""
    if not has_layer(node.op):
        return None
    spec = layer(node.op)
    params = spec.complete({**node.params, **node.call_params})
    if unsaid := spec.unsaid(params):
        return FreeElements(Freedom("unsaid", (spec.api,), _never, unsaid, spec.api), np.ones((), bool), tuple(given))
    return _find(spec.api, params, given)


def _find(api: str | None, params: Params, inputs: Sequence[Array]) -> FreeElements | None:
    if api is None or not inputs:
        return None
    names = {api, api.rpartition(".")[2]}
    for freedom in FREEDOMS:
        if names & set(freedom.apis):
            mask = np.asarray(freedom.free(params, inputs))
            if mask.any():
                tamed = freedom.tame(params, inputs) if freedom.tame else inputs
                return FreeElements(freedom, mask, tuple(tamed))
    return None


def as_specification(diagnosis: Diagnosis, freedom: Freedom) -> Diagnosis:
    """The diagnosis as a specification: nobody is a suspect, and the documentation's words are the evidence."""
    return replace(diagnosis, klass=Class.SPECIFICATION, suspects=(), evidence=(*diagnosis.evidence, freedom.said))
