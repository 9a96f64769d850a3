"""The catalogue as a page of the documentation: ``python -m tensorparity.operators.page > docs/catalogue.md``."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence

from ..core.jsontext import Json, canonical
from . import undeclared
from .catalogue import layer, layer_names
from .functions.activation_calls import ACTIVATIONS
from .functions.text_layers import TEXT_LAYERS
from .left_out import ACTIVATIONS_LEFT_OUT, LEFT_OUT, OPTIMIZERS_LEFT_OUT
from .losses.catalogue import LOSSES
from .losses.spec import REDUCTION
from .metrics.catalogue import METRICS
from .optimizers.catalogue import OPTIMIZERS
from .optimizers.options import OPTION_CONFLICTS, OPTIONS
from .optimizers.schedules import SCHEDULES
from .spec import FLOATS, Conflict, LayerSpec, Parameter, Shape, ShapeError, WeightSpec

_MOST_VALUES = 8
#: Of every axis of the inputs on which weights are shown: large enough for any window, and a multiple of any groups.
_SIZE = 1536


def page() -> str:
    """The page; it depends on the catalogue alone."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    names = layer_names()
    yield "# The catalogue"
    yield ""
    yield "Made from `src/tensorparity/operators/` by `python -m tensorparity.operators.page`; a test holds it."
    counts = f"{len(names)} layer types, {len(LOSSES)} losses, {len(METRICS)} metrics, {len(OPTIMIZERS)} optimizers"
    called = f"{len(ACTIVATIONS)} activations as functions, {len(TEXT_LAYERS)} layers of strings"
    yield f"{counts}, {len(SCHEDULES)} schedules, {called}."
    yield "Values are those that are tried; a bold one is the default, `!` stands before one that is ruled out."
    yield "A layer computes in float32, float64, float16 and bfloat16 unless it says otherwise. Its stages are those of"
    yield "a training step that it takes part in: the call in inference and in training (not where it is random), a"
    yield "term of the loss of its own, the gradient, and the weights after the step."
    yield ""
    yield "## Layers"
    for name in names:
        yield from _layer(layer(name))
    yield ""
    yield "### Not declared"
    yield ""
    for name, reason in sorted(LEFT_OUT.items()):
        yield f"- {name}: {reason}."
    yield ""
    yield "### Arguments not declared"
    yield ""
    for argument, reason in undeclared.EVERYWHERE.items():
        yield f"- `{argument}` of every layer: {reason}."
    for suffix, reason in undeclared.BY_SUFFIX.items():
        yield f"- `...{suffix}`: {reason}."
    for name, reasons in undeclared.LAYERS.items():
        yield from (f"- `{argument}` of {name}: {reason}." for argument, reason in reasons.items())
    for argument, reason in undeclared.CALLS.items():
        yield f"- `{argument}` of a call: {reason}."
    yield ""
    yield "## Losses"
    yield ""
    yield "What all of them have:"
    yield from _parameters((REDUCTION,))
    for loss in LOSSES.values():
        yield from _entry(loss.name, loss.formula, loss.parameters)
    yield ""
    yield "## Metrics"
    for metric in METRICS.values():
        yield from _entry(metric.name, metric.formula, metric.parameters)
    yield ""
    yield "## Activations called as functions"
    yield ""
    yield "By name, most of them are also values of a layer's `activation`; there they have their defaults. Not so:"
    yield ""
    for name, reason in ACTIVATIONS_LEFT_OUT.items():
        yield f"- {name}: {reason}."
    for function in ACTIVATIONS.values():
        yield from _entry(function.name, function.formula, function.parameters)
    yield ""
    yield "## Layers called on strings"
    for spec in TEXT_LAYERS.values():
        yield from _entry(spec.name, spec.formula, spec.parameters)
        yield from _conflicts(spec.conflicts)
    yield ""
    yield "Not declared:"
    yield ""
    for name, reasons in undeclared.TEXT_LAYERS.items():
        yield from (f"- `{argument}` of {name}: {reason}." for argument, reason in reasons.items())
    yield from _optimizer_lines()
    yield ""
    yield "## Schedules of the learning rate"
    for schedule in SCHEDULES.values():
        yield from _entry(schedule.name, schedule.formula, schedule.parameters)


def _optimizer_lines() -> Iterator[str]:
    yield ""
    yield "## Optimizers"
    for optimizer in OPTIMIZERS.values():
        yield from _entry(optimizer.name, optimizer.formula, optimizer.parameters)
    yield ""
    bare = " and ".join(spec.name for spec in OPTIMIZERS.values() if not spec.options)
    yield f"What all of them but {bare} can be asked for besides; what acts in a second step only is"
    yield "tried in conformance tests of several steps, and not drawn for networks, which take one:"
    yield from _parameters(OPTIONS)
    yield from _conflicts(OPTION_CONFLICTS)
    yield ""
    yield "### Optimizers that are not declared"
    yield ""
    for name, reason in OPTIMIZERS_LEFT_OUT.items():
        yield f"- {name}: {reason}."


def _layer(spec: LayerSpec) -> Iterator[str]:
    least, most = spec.arity
    inputs = "1 input" if most == 1 else f"{least} inputs" if least == most else f"{least} or more inputs"
    if most is not None and most > max(least, 1):
        inputs = f"{least} to {most} inputs"
    remarks = [inputs, f"rank {', '.join(map(str, spec.ranks))}"]
    remarks += [f"only in {', '.join(spec.dtypes)}"] if spec.dtypes != FLOATS else []
    remarks += [f"stages {', '.join(spec.stages)}"]
    remarks += ["random when training"] if spec.random else []
    remarks += ["discontinuous"] if spec.discontinuous else []
    yield ""
    yield f"### {spec.name}"
    yield ""
    yield f"{spec.formula}. ({'; '.join(remarks)})"
    yield from _parameters((*spec.parameters, *spec.call_parameters))
    yield from _conflicts(spec.conflicts)
    yield from _weights(spec)
    if spec.hazards:
        yield ""
        yield f"Beware: {'; '.join(spec.hazards)}."


def _entry(name: str, formula: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    yield ""
    yield f"### {name}"
    yield ""
    yield f"{formula}."
    yield from _parameters(parameters)


def _parameters(parameters: Sequence[Parameter]) -> Iterator[str]:
    if parameters:
        yield ""
    for parameter in parameters:
        shown = [_value(value, parameter) for value in parameter.valid[:_MOST_VALUES]]
        more = len(parameter.valid) - len(shown)
        shown += [f"and {more} more"] if more > 0 else []
        ruled_out = [f"! `{_text(value)}`" for value in parameter.invalid[:_MOST_VALUES]]
        yield f"- `{parameter.name}`: {', '.join([*shown, *ruled_out])}"


def _conflicts(conflicts: Sequence[Conflict]) -> Iterator[str]:
    if conflicts:
        yield ""
        yield "Ruled out together:"
        yield ""
    for conflict in conflicts:
        values = ", ".join(f"`{name}={_text(value)}`" for name, value in conflict.params.items())
        yield f"- {values}: {conflict.reason}"


def _weights(spec: LayerSpec) -> Iterator[str]:
    """Those of the first use that fits; parameters may add or drop some."""
    found = example_weights(spec)
    if found:
        names = ", ".join(f"`{name}`" if weight.trainable else f"`{name}` (not trained)" for name, weight in found)
        yield ""
        yield f"Weights: {names}."


def example_weights(spec: LayerSpec) -> list[tuple[str, WeightSpec]]:
    """The weights of the layer with its defaults, on the first of some inputs that fits."""
    required = [parameter for parameter in spec.parameters if parameter.required]
    for values in itertools.product(*(parameter.valid for parameter in required)):
        params = spec.complete({parameter.name: v for parameter, v in zip(required, values, strict=True)})
        for rank in spec.ranks:
            shapes: list[Shape] = [(2, *(_SIZE,) * (rank - 1))] * max(1, spec.arity[0])
            try:
                spec.shape(params, shapes)
                return list(spec.weights(params, shapes).items())
            except ShapeError:
                continue
    return []


def _value(value: Json, parameter: Parameter) -> str:
    text = f"`{_text(value)}`"
    return f"**{text}**" if not parameter.required and value == parameter.default else text


def _text(value: Json) -> str:
    """A nested layer by its class and configuration, everything else as JSON."""
    if isinstance(value, dict) and "class_name" in value:
        config = {key: item for key, item in value.get("config", {}).items() if key != "name"}
        inner = [_text(cell) for cell in config.pop("cells", [])]
        arguments = [*inner, *(f"{key}={canonical(item)}" for key, item in config.items())]
        return f"{value['class_name']}({', '.join(arguments)})"
    return canonical(value)


if __name__ == "__main__":
    sys.stdout.write(page())
