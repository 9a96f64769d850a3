"""The contract of a catalogue entry: what has to be said of a layer type, once.

Generation, mutation, reduction, references and documentation all read these declarations. Shapes
include the batch axis; None stands for a size that is not known. References work in float64 NumPy,
are written from the documentation's formula, and never call a library under test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.arrays import Array
from ..core.jsontext import Json
from .shared_code import SharedCode

Shape = tuple[int | None, ...]
Params = Mapping[str, Json]
#: True where a step counts; None where nothing is masked. See ``masks``.
Mask = Array | None


#: In which a layer computes, unless it says otherwise.
FLOATS = ("float32", "float64", "float16", "bfloat16")
#: What there is of a training step: the call in inference and in training, a term of the loss of one's own, the
#: gradient, and the weights after it.
STAGES = ("inference", "training", "loss", "backward", "update")


class ShapeError(ValueError):
    """The inputs or parameters do not fit this layer; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One constructor argument.

    Args:
        valid: values worth trying, the default among them.
        invalid: values the documentation rules out; a layer that accepts them has a defect.
        required: the constructor has no default; ``default`` is then None and never counts as one.
        rare: says nothing of what the layer computes, so networks have another value than the default now and then.
        data: what a table holds: of the case, not of a finding.
    """

    name: str
    default: Json
    valid: tuple[Json, ...] = ()
    invalid: tuple[Json, ...] = ()
    required: bool = False
    rare: bool = False
    data: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    """Values that the documentation rules out together, though each of them is right beside others.

    Args:
        params: the combination; a parameter that it does not name may be anything.
        reason: what would be right, as a phrase.
    """

    params: Params
    reason: str

    def within(self, complete: Params) -> bool:
        """Whether these parameters, defaults filled in, have the combination."""
        return all(
            name in complete and _comparable(complete[name]) == _comparable(v) for name, v in self.params.items()
        )


@dataclass(frozen=True, slots=True)
class WeightSpec:
    """A weight the layer creates: its shape, what it does, and whether training changes it.

    ``role`` says how sensible values are drawn: ``kernel``, ``bias``, ``scale`` (around one, positive),
    ``offset``, ``mean`` or ``variance`` (positive).
    """

    shape: tuple[int, ...]
    role: str
    trainable: bool = True
    fan_in: int = 1


@dataclass(frozen=True, slots=True)
class Domain:
    """What an input may hold: any float, or values of ``low <= x < high`` of a dtype.

    Outside of it the library may raise or is free to do what it likes, so nothing there is a test of values.
    """

    dtype: str = "float32"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The true value of one output, and how much of a difference rounding explains.

    A good implementation in a dtype of unit roundoff u satisfies ``|y - value| <= K u (|value| + kappa)``:
    ``kappa`` is the first-order effect of rounding each product and each accumulation, elementwise, and
    has the shape of ``value`` (or broadcasts to it).
    """

    value: Array
    kappa: Array


def any_float(params: Params) -> Domain:
    return Domain()


def no_activity(params: Params) -> Json:
    return None


def no_masks(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    return ()


#: A reference, which is also told of the masks of the inputs and whether the layer is training.
Masked = Callable[[Params, Sequence[Array], Mapping[str, Array], Sequence[Mask], bool], tuple[Evaluation, ...]]
#: A reference from one call to the next: the outputs, and the states that are left.
Carried = Callable[
    [Params, Sequence[Array], Mapping[str, Array], Sequence[Mask], Sequence[Evaluation]],
    tuple[tuple[Evaluation, ...], tuple[Evaluation, ...]],
]


def nothing_unsaid(params: Params) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """One layer type.

    Args:
        name: the catalogue's name, which is Keras' class name.
        api: the public name (``keras.layers.Conv2D``).
        arity: least and greatest number of inputs; None for no upper bound.
        ranks: accepted ranks of an input, batch axis included.
        parameters: every constructor argument that changes what is computed.
        shape: output shape(s) from parameters and input shapes; raises ShapeError.
        weights: the weights by name, in the order of the library's ``layer.weights``.
        reference: outputs from parameters, inputs and weights, all float64 (or integer) NumPy arrays.
        formula: the sentence of the documentation that the reference implements.
        conflicts: combinations of values that the layer must refuse; its shape rule refuses them, too.
        dtypes: what it can compute in on every target; with another one some target has to leave it out.
        stages: which of ``STAGES`` it takes part in, where that does not follow from the rest: one that is random
            cannot be compared in training, one that steps has no gradient, one without weights no update.
        call_parameters: arguments of the call that change what is computed; a node's ``call_params``.
        domain: what the inputs may hold, from the parameters.
        further: inputs after the first that the call takes by name, and what they may hold.
        listed: the layer is called on one list of its inputs, not on the inputs one by one.
        random: draws random numbers when training; the reference is of inference.
        noise: parameters that make a layer draw random numbers when training once they exceed 0.
        voted: the documentation names what it does and does not say how: the reference is an example of it, and nobody
            is held against that; they are against shapes, dtypes and each other.
        discontinuous: a last-bit difference of the input may change the output by much.
        training: the reference when the layer is called with ``training=True``, where that is another formula.
        held: what the layer computes while it trains and hides from gradients, by name; ``training`` finds it among
            the weights where a gradient is judged, and computes it where it does not.
        masked: the reference where an input has a mask, of layers that read it.
        carried: the outputs and the states after the call, from the masks and the states before it (none at first), of
            layers with a parameter ``stateful`` that makes the next call start from them.
        masks: the masks of the outputs, from parameters, inputs and the inputs' masks; what is left out has none.
        unsaid: why the documentation does not say what the layer computes with these parameters: then it has no
            reference, and is not drawn. Nothing where it does.
        limits: the words in which the documentation says that a library does not have the layer with these parameters;
            nothing where it promises them.
        governed: the weights that have a regularizer and a constraint, by what these arguments call them.
        shared: code that other layer types run through as well.
        activity: the regularizer of the outputs, from the parameters. See ``penalties``.
    """

    name: str
    api: str
    arity: tuple[int, int | None]
    ranks: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    shape: Callable[[Params, Sequence[Shape]], tuple[Shape, ...]]
    weights: Callable[[Params, Sequence[Shape]], dict[str, WeightSpec]]
    reference: Callable[[Params, Sequence[Array], Mapping[str, Array]], tuple[Evaluation, ...]]
    formula: str
    dtypes: tuple[str, ...] = FLOATS
    stages: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    call_parameters: tuple[Parameter, ...] = ()
    domain: Callable[[Params], Domain] = any_float
    further: Mapping[str, Domain] = field(default_factory=dict)
    listed: bool = False
    random: bool = False
    noise: tuple[str, ...] = ()
    voted: bool = False
    discontinuous: bool = False
    training: Callable[[Params, Sequence[Array], Mapping[str, Array]], tuple[Evaluation, ...]] | None = None
    held: Callable[[Params, Sequence[Array], Mapping[str, Array]], dict[str, Array]] | None = None
    masked: Masked | None = None
    carried: Carried | None = None
    masks: Callable[[Params, Sequence[Array], Sequence[Mask]], tuple[Mask, ...]] = no_masks
    hazards: tuple[str, ...] = field(default=())
    unsaid: Callable[[Params], str] = nothing_unsaid
    limits: Callable[[Params], str] = nothing_unsaid
    governed: Mapping[str, str] = field(default_factory=dict)
    activity: Callable[[Params], Json] = no_activity
    shared: tuple[SharedCode, ...] = ()

    def __post_init__(self) -> None:
        if not self.stages:
            object.__setattr__(self, "stages", self._usual_stages())

    def _usual_stages(self) -> tuple[str, ...]:
        weighted = self.weights is not no_weights
        left_out = {
            "training": self.random,
            "loss": not self.governed and self.activity is no_activity,
            "backward": self.discontinuous and not weighted,
            "update": not weighted,
        }
        return tuple(stage for stage in STAGES if not left_out.get(stage))

    def defaults(self) -> dict[str, Json]:
        """Of the constructor's arguments and of the call's: their names never collide."""
        return {parameter.name: parameter.default for parameter in (*self.parameters, *self.call_parameters)}

    def domain_of(self, params: Params, index: int) -> Domain:
        """What one of the inputs may hold."""
        further = list(self.further.values())
        return further[index - 1] if 0 < index <= len(further) else self.domain(params)

    def draws(self, params: Params) -> bool:
        """Whether the layer with these parameters draws random numbers when training."""
        return self.random or any(params.get(name) for name in self.noise)

    def complete(self, params: Params) -> dict[str, Json]:
        """``params`` with the defaults filled in."""
        return {**self.defaults(), **params}

    def significant(self, params: Params) -> dict[str, Json]:
        """Only the parameters this layer declares and that are not at their default; required ones always."""
        defaults = self.defaults()
        required = {parameter.name for parameter in self.parameters if parameter.required}
        return {
            name: value
            for name, value in params.items()
            if name in required or (name in defaults and _plain(value) != _plain(defaults[name]))
        }

    def invalid(self, params: Params) -> dict[str, Json]:
        """The parameters whose values the documentation rules out, alone or together."""
        return ruled_out(self.parameters, params, self.conflicts)


def ruled_out(parameters: Sequence[Parameter], params: Params, conflicts: Sequence[Conflict] = ()) -> dict[str, Json]:
    """Those of ``params`` whose values are among the invalid ones; else the first combination that they have."""
    invalid = {parameter.name: [_comparable(value) for value in parameter.invalid] for parameter in parameters}
    alone = {name: value for name, value in params.items() if _comparable(value) in invalid.get(name, [])}
    if alone:
        return alone
    complete = {**{parameter.name: parameter.default for parameter in parameters}, **params}
    return next((dict(conflict.params) for conflict in conflicts if conflict.within(complete)), {})


def _plain(value: Json) -> Json:
    """Tuples as lists, so that (2, 2) equals [2, 2]; a pair of equal sizes equals the one size."""
    if isinstance(value, (tuple, list)):
        items = [_plain(item) for item in value]
        return items[0] if items and all(item == items[0] for item in items) else items
    return value


def _comparable(value: Json) -> Json:
    """Tuples as lists, and True apart from 1: what a value is, not what it stands for."""
    if isinstance(value, (tuple, list)):
        return [_comparable(item) for item in value]
    return (type(value).__name__, value)


def no_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    return {}
