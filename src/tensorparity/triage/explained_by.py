"""Explained by: whether a suspicion is another sighting of a defect that has been reduced already.

A reduced defect has a *trigger*: the parameters that reduction had to leave, and what is special about its inputs. A
suspicion that ends in the same way and holds the same trigger is tried twice, in one round trip:

* *necessary*: with the trigger alone taken away, nothing fails any more, anywhere;
* *sufficient*: with everything else at its default and plain numbers, it fails with the same key.

Where both hold, the trigger is what is wrong with it, and it need not be reduced. A *bare* defect has no trigger: its
layer or function fails with everything at its default and plain numbers. There is nothing to take away, so that the
second check alone decides, of sightings with the very same key: it is the case that reduction would come to.

Replacing the layer would prove
nothing: every defect of a layer goes away with the layer. For the same reason, the trigger of one layer explains
another layer only where they must share the code that is wrong: they differ in their dimensions alone, they raise the
same exception in the same words, the trigger names a function (an activation), or the catalogue says which code reads
the parameters of the trigger in both (``stateful`` of all recurrent layers). A NaN that two activations lose is two
defects. What ends a process and what answers by chance is not tried, because one quiet run says little there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating
from ..core.case import ApiCall, Case
from ..core.endings import DEADLY
from ..core.engine import Ask
from ..core.finding import Class
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json
from ..core.oracle import Judged
from ..core.procedure import Recipe
from ..core.signature import policy_parameter, value_class
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement
from ..operators.catalogue import has_layer, layer
from ..operators.functions.recognised import odd_arguments, recognised, with_defaults
from ..operators.losses.catalogue import LOSSES
from ..operators.optimizers.catalogue import OPTIMIZERS
from ..operators.shared_code import SharedCode
from ..operators.spec import Parameter
from ..oracles.kinds import particular_oracle
from ..oracles.measure.editing import graph_inputs, graph_of, refit_grown, with_arrays, with_params
from ..oracles.measure.features import features
from .examine import Examiner
from .reduction.calls import holds_array
from .reduction.order import odd_parameters
from .reduction.values import plain_values

#: How a policy of dtypes is called among the parameters of a layer.
_POLICY = "dtype"
#: Recipes of a training step, by their field of a procedure.
_LOSS, _OPTIMIZER = "loss", "optimizer"
#: How parameters end that name a function.
_FUNCTIONS = ("activation", "regularizer", "constraint", "initializer")
_DIMENSIONS = re.compile(r"[123]D$")
#: What takes the place of a special number.
_PLAIN = 1.0


@dataclass(frozen=True)
class Trigger:
    """What sets a reduced defect off.

    Args:
        parameters: those that are not at their default, and words that have none; numbers that a layer cannot be
            without (how many units) set nothing off.
        features: what is special about the inputs.
        recipe: ``loss`` or ``optimizer`` where the parameters are those of the step's recipe, and not of its layer.
    """

    parameters: Mapping[str, Json]
    features: tuple[str, ...]
    recipe: str = ""

    def __bool__(self) -> bool:
        return bool(self.parameters or self.features)

    def within(self, other: Trigger) -> bool:
        """Whether another trigger holds all of this one, its values by their classes."""
        given = other.parameters
        held = all(name in given and value_class(given[name]) == value_class(v) for name, v in self.parameters.items())
        return held and self.recipe == other.recipe and set(self.features) <= set(other.features)

    def is_like(self, other: Trigger) -> bool:
        """Whether both are the same, but for figures."""
        return self.within(other) and other.within(self)

    @property
    def names_a_function(self) -> bool:
        """Whether a parameter names code of its own, which is the same inside of whatever layer."""
        words = (name for name, value in self.parameters.items() if isinstance(value, str))
        return not self.recipe and any(name.endswith(_FUNCTIONS) for name in words)

    def meets(self, other: Trigger) -> bool:
        """Whether the two have anything in common."""
        common = {n for n, v in self.parameters.items() if n in other.parameters and other.parameters[n] == v}
        return self.recipe == other.recipe and bool(common or set(self.features) & set(other.features))


def trigger_of(suspicion: Suspicion) -> Trigger | None:
    """The trigger of a layer or call alone; None where the case is more than that."""
    case = suspicion.case
    if case.counterpart is not None:
        return None
    special = features(case, suspicion.stage)
    if isinstance(case.subject, ApiCall):
        return Trigger(_arguments_that_matter(suspicion, case.subject), special)
    policy = policy_parameter(case.procedure.dtype)
    if place := _recipe_of(suspicion):
        return Trigger({**_optional(case, place), **policy}, special, place)
    node = _single_node(case)
    if node is None:
        return None
    words = {name: value for name, value in node.params.items() if _is_required_word(node, name, value)}
    return Trigger({**odd_parameters(node), **words, **policy}, special)


def _arguments_that_matter(suspicion: Suspicion, call: ApiCall) -> dict[str, Json]:
    """Of a function that is a declared operator, in the operator's words: what repeats a default does not matter."""
    if recognised(suspicion.case) is not None:
        return odd_arguments(suspicion.case)
    return {name: value for name, value in suspicion.diagnosis.parameters.items() if name in call.kwargs}


def _is_all_at_default(suspicion: Suspicion) -> bool:
    """Whether a defect without a trigger has nothing else, either: what no declaration knows may be the reason."""
    call = suspicion.case.subject
    return not isinstance(call, ApiCall) or recognised(suspicion.case) is not None or not _plain_arguments(call)


def _recipe_of(suspicion: Suspicion) -> str:
    """Which recipe of a training step it is about; empty where it is about a layer."""
    procedure, name = suspicion.case.procedure, (suspicion.diagnosis.api or "").rpartition(".")[2]
    places = {_LOSS: procedure.loss, _OPTIMIZER: procedure.optimizer}
    return next((place for place, recipe in places.items() if recipe is not None and recipe.name == name), "")


def _recipe(case: Case, place: str) -> Recipe:
    recipe = case.procedure.loss if place == _LOSS else case.procedure.optimizer
    assert recipe is not None
    return recipe


def _optional(case: Case, place: str) -> dict[str, Json]:
    """The parameters of a recipe but those that it cannot be without."""
    recipe = _recipe(case, place)
    spec = LOSSES.get(recipe.name) if place == _LOSS else OPTIMIZERS.get(recipe.name)
    required = {parameter.name for parameter in spec.parameters if parameter.required} if spec else set()
    return {name: value for name, value in recipe.params.items() if name not in required}


def _with_recipe(case: Case, place: str, dropped: Collection[str]) -> Case:
    """The case with these parameters of its loss or optimizer at their default."""
    recipe = _recipe(case, place)
    left = replace(recipe, params={name: value for name, value in recipe.params.items() if name not in dropped})
    changed = replace(case.procedure, **{place: left})  # type: ignore[arg-type]
    return replace(case, procedure=changed)


def _single_node(case: Case) -> Node | None:
    graph = graph_of(case)
    return graph.nodes[0] if graph is not None and len(graph.nodes) == 1 else None


def _parameter(node: Node, name: str) -> Parameter | None:
    declared = layer(node.op).parameters if has_layer(node.op) else ()
    return next((parameter for parameter in declared if parameter.name == name), None)


def _is_required_word(node: Node, name: str, value: Json) -> bool:
    parameter = _parameter(node, name)
    return parameter is not None and parameter.required and isinstance(value, str)


def may_explain(reduced: Suspicion, suspicion: Suspicion) -> bool:
    """Whether a reduced defect could be what is wrong: same ending, same suspects, and its trigger is held."""
    if not (_is_steady(reduced) and _is_steady(suspicion)) or _ending(reduced) != _ending(suspicion):
        return False
    trigger, held = trigger_of(reduced), trigger_of(suspicion)
    if trigger is None or held is None or not trigger.within(held):
        return False
    if not trigger:
        return reduced.key == suspicion.key and _is_all_at_default(reduced)
    if suspicion.exception or trigger.names_a_function or _family(reduced) == _family(suspicion):
        return True
    return not trigger.features and any(
        code.reads_all(trigger.parameters) for code in _shared_code(reduced) if code in _shared_code(suspicion)
    )


def _family(suspicion: Suspicion) -> str:
    """The public name without its number of dimensions: what is written once for 1D, 2D and 3D."""
    return _DIMENSIONS.sub("", suspicion.diagnosis.api or "")


def _shared_code(suspicion: Suspicion) -> tuple[SharedCode, ...]:
    """What a layer alone runs through that other types of layers do as well."""
    node = _single_node(suspicion.case)
    return layer(node.op).shared if node is not None and has_layer(node.op) else ()


def are_apart(one: Suspicion, other: Suspicion) -> bool:
    """Whether neither of two could turn out to explain the other, so that both can be reduced at once."""
    if _ending(one) != _ending(other) or not (_is_steady(one) and _is_steady(other)):
        return True
    first, second = trigger_of(one), trigger_of(other)
    return first is None or second is None or not first.meets(second)


def may_be_bare(one: Suspicion, other: Suspicion) -> bool:
    """Whether one of two could explain the other without any trigger."""
    return one.key == other.key and _ending(one) == _ending(other) and _is_steady(one) and _is_steady(other)


def _is_steady(suspicion: Suspicion) -> bool:
    diagnosis = suspicion.diagnosis
    return diagnosis.klass is Class.DEFECT and suspicion.kind not in DEADLY and not diagnosis.wavering


def _ending(suspicion: Suspicion) -> tuple[object, ...]:
    suspects = tuple(sorted(set(suspicion.diagnosis.suspects)))
    return suspicion.kind, suspicion.stage, suspicion.exception, suspicion.message, suspects


# The two checks


def without_trigger(case: Case, trigger: Trigger) -> Case | None:
    """The case with the trigger alone taken away; None where that cannot be done."""
    changed = _with_plain_numbers(case, trigger.features)
    if changed is None:
        return None
    if isinstance(case.subject, ApiCall):
        return _call_without(changed, case.subject, trigger.parameters)
    if _POLICY in trigger.parameters:
        changed = replace(changed, procedure=replace(changed.procedure, dtype=None))
    if trigger.recipe:
        return _with_recipe(changed, trigger.recipe, trigger.parameters)
    return _with_parameters(changed, {name: None for name in trigger.parameters if name != _POLICY})


def _call_without(case: Case, call: ApiCall, names: Collection[str]) -> Case | None:
    """A declared operator's parameters go to their default, all other arguments are left out."""
    if recognised(case) is not None:
        return with_defaults(case, names)
    return replace(case, subject=replace(call, kwargs={n: v for n, v in call.kwargs.items() if n not in names}))


def trigger_alone(case: Case, trigger: Trigger, required: Collection[str] = ()) -> Case | None:
    """The case with everything but the trigger at its default, and plain numbers; None where that cannot be done.

    Args:
        required: arguments of a call that it cannot be without.
    """
    if isinstance(case.subject, ApiCall):
        return _call_alone(case, case.subject, trigger, required)
    if _POLICY not in trigger.parameters:
        case = replace(case, procedure=replace(case.procedure, dtype=None))
    if trigger.recipe:
        others = set(_optional(case, trigger.recipe)) - set(trigger.parameters)
        bare: Case | None = _with_recipe(case, trigger.recipe, others)
    elif (node := _single_node(case)) is not None:
        bare = _with_parameters(case, dict.fromkeys(n for n in odd_parameters(node) if n not in trigger.parameters))
    else:
        return None
    return _with_plain_values(bare, trigger) if bare is not None else None


def _with_plain_values(case: Case, trigger: Trigger) -> Case | None:
    """Plain numbers in everything but the inputs that set it off, and those that a loss reads: not all are allowed."""
    kept = bool(trigger.features) or trigger.recipe == _LOSS
    return plain_values(case, ("weights",) if kept else ("inputs", "weights"))


def _call_alone(case: Case, call: ApiCall, trigger: Trigger, required: Collection[str]) -> Case | None:
    """Arrays are arguments like the numbers, but no parameters: they stay."""
    kept = {*trigger.parameters, *required}
    kwargs = {name: value for name, value in call.kwargs.items() if name in kept or holds_array(value)}
    bare: Case | None = replace(case, subject=replace(call, kwargs=kwargs))
    if bare is not None and (odd := odd_arguments(bare)):
        bare = with_defaults(bare, [name for name in odd if name not in trigger.parameters])
    return bare if bare is None or trigger.features else plain_values(bare, ("inputs",))


def _plain_arguments(call: ApiCall) -> list[Json]:
    return [value for value in (*call.args, *call.kwargs.values()) if not holds_array(value)]


def _with_parameters(case: Case, names: Mapping[str, None]) -> Case | None:
    """The case with these parameters at their default, or, where they have none, at another value."""
    graph, node = graph_of(case), _single_node(case)
    if graph is None or node is None:
        return None
    params, call_params = dict(node.params), dict(node.call_params)
    for name in names:
        call_params.pop(name, None)
        old = params.pop(name, None)
        parameter = _parameter(node, name)
        if parameter is not None and parameter.required:
            other = next((value for value in parameter.valid if value != old), None)
            if other is None:
                return None
            params[name] = other
    changed: LayerGraph = with_params(graph, node, params, call_params)
    return refit_grown(case, changed, graph_inputs(case))


def _with_plain_numbers(case: Case, special: Sequence[str]) -> Case | None:
    """The case without what is special about its inputs; what is empty cannot be filled."""
    if "empty" in special:
        return None
    if not special:
        return case
    inputs = {name: _plain_array(array, special) for name, array in case.inputs.items()}
    return with_arrays(case, {"inputs": inputs})


def _plain_array(array: Array, special: Sequence[str]) -> Array:
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return np.where((array == limits.max) | (array == limits.min), 1, array).astype(array.dtype)
    if not is_floating(dtype_name(array)) or array.dtype.kind == "c":
        return array
    if "tie" in special:
        return (np.arange(1.0, array.size + 1).reshape(array.shape) / 8).astype(array.dtype)
    wide = np.abs(array.astype(np.float64))
    ordinary = np.isfinite(wide) & (wide < 1e4) & ((wide == 0) | (wide > 1e-4))
    return np.where(ordinary, array, np.asarray(_PLAIN, array.dtype)).astype(array.dtype)


# Asking


@dataclass(frozen=True)
class _Question:
    """A suspicion, the defect that may explain it, and the cases that tell.

    Args:
        necessary: None where there is no trigger to take away.
    """

    suspicion: Suspicion
    reduced: Suspicion
    sufficient: Case
    necessary: Case | None

    def asks(self) -> list[Ask]:
        oracle = particular_oracle(self.suspicion)
        named = (oracle,) if oracle else ()
        cases = (self.sufficient, self.necessary)
        return [Ask(case, self.suspicion.targets, named) for case in cases if case is not None]

    def holds(self, sufficient: Judged, necessary: Judged | None = None) -> bool:
        """Whether the answers say that it is another sighting."""
        if necessary is not None and not _is_quiet(necessary):
            return False
        again = sufficient.of_key(self.suspicion.key)
        return again is not None and again.message == self.suspicion.message


def explain(
    examiner: Examiner, suspicions: Sequence[Suspicion], reduced: Sequence[Sequence[Suspicion]]
) -> dict[int, Suspicion]:
    """By the place of a suspicion, the first of its candidates that explains it; all checks in one round trip.

    Args:
        reduced: for each suspicion, the defects that are tried.
    """
    questions = {
        place: [q for defect in candidates if (q := _question(suspicion, defect))]
        for place, (suspicion, candidates) in enumerate(zip(suspicions, reduced, strict=True))
    }
    flat = [question for asked in questions.values() for question in asked]
    if not flat:
        return {}
    answers = iter(examiner.examine([ask for question in flat for ask in question.asks()]))
    explained: dict[int, Suspicion] = {}
    for place, asked in questions.items():
        for question in asked:
            if question.holds(*[next(answers).judged for _ in question.asks()]):
                explained.setdefault(place, question.reduced)
    return explained


def _question(suspicion: Suspicion, reduced: Suspicion) -> _Question | None:
    if not may_explain(reduced, suspicion):
        return None
    trigger = trigger_of(reduced)
    assert trigger is not None
    sufficient = trigger_alone(suspicion.case, trigger, _arguments(reduced.case))
    if sufficient is None or not trigger:
        return _Question(suspicion, reduced, sufficient, None) if sufficient is not None else None
    necessary = without_trigger(suspicion.case, trigger)
    if necessary is None or necessary.digest == suspicion.case.digest:
        return None
    return _Question(suspicion, reduced, sufficient, necessary)


def _arguments(case: Case) -> tuple[str, ...]:
    """The arguments by name that reduction had to leave."""
    return tuple(case.subject.kwargs) if isinstance(case.subject, ApiCall) else ()


def _is_quiet(judged: Judged) -> bool:
    """Nothing fails, and somebody could tell: what is undecided shows nothing."""
    judgements = {verdict.judgement for verdict in judged.verdicts}
    return not judged.suspicions and judgements == {Judgement.PASS}
