"""Every target beside one run of the whole model in float64, on the few inputs on which they differ most.

Without labels there is no accuracy to tell a difference that matters from one that does not; nearness to the
true value is what remains. It is measured, not judged: in a deep network rounding alone can be amplified by
much, so who is wrong is still decided by the layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.comparison import Comparison
from ..core.errors import TensorParityError
from ..core.graph import LayerGraph
from ..core.messages import gist
from ..core.model import Model
from ..core.oracle import Check, Judged, Seen
from ..core.outcome import Outcome, Status
from ..core.precision import HighPrecision, OutputDeviation
from ..core.procedure import Procedure
from ..core.traits import Traits
from ..operators.catalogue import has_reference
from ..operators.reference.evaluate import count_products, evaluate
from ..operators.spec import ShapeError
from .base import Steps, Stepwise
from .measure.roundoff import scaled_difference
from .output_pair import wants_layers
from .pair import compare_outcomes, judge_parity
from .whole.instances import named_labels, rows_of
from .whole.sight import WHOLE_DEFAULTS, WHOLE_SETTINGS, Asking, Sight, WholeSettings

#: Instances at most.
MOST_INPUTS = 8
#: Products of all instances together that our own reference may compute: some two seconds.
MOST_PRODUCTS = 100_000_000
#: Bytes of weights up to which a library is asked to build the model once more.
_MOST_WEIGHTS = 64 << 20
_REFERENCE = "float64"


class AgainstHighPrecision(Stepwise):
    """Measures, and decides nothing; ``Judged.facts`` has the measurement, where there is anything to measure.

    With labels there is an accuracy to go by, so the layers of a file are not read for this alone. Settings are those
    of the oracle that judges the model.
    """

    settings: ClassVar[tuple[str, ...]] = WHOLE_SETTINGS
    defaults: ClassVar[Mapping[str, object]] = WHOLE_DEFAULTS

    def steps(self, seen: Seen) -> Steps:
        at = Sight.of(seen, WholeSettings.of(self.setup.settings, judge_parity, "parity"))
        at.labels = named_labels(seen.case.labels, seen.own)
        at.comparisons = at.compare()
        compared = any(comparison.instances for comparison in at.comparisons)
        if at.settings.localize == "never" or not compared:
            return Judged()
        if at.model.graph is None and (not at.labels or wants_layers(at)):
            yield from at.need_graph()
        if at.model.graph is None and at.labels:
            return Judged()
        model = replace(at.model, batch=at.settings.batch)
        found = yield from against_high_precision(model, seen.completed, at.inputs, at.comparisons, seen.traits)
        return Judged(facts={"high_precision": found})


def against_high_precision(
    model: Model, done: Mapping[str, Outcome], inputs: Arrays, comparisons: Sequence[Comparison], traits: Traits
) -> Asking[HighPrecision]:
    """The deviation of every target that completed; with the reason where there is nothing to measure it by."""
    if model.graph is None:
        return HighPrecision(left_out="the layers of this model are not known")
    picked = worst_of(comparisons, done)
    if model.batch:
        return HighPrecision(left_out=f"the model takes batches of {model.batch} only")
    products, problem = _cost(model.graph)
    if not problem and products > MOST_PRODUCTS:
        problem = f"our own reference would take {products:.1e} products for one input"
    if problem:
        return (yield from _by_library(model, done, inputs, picked, problem, traits))
    picked = picked[: max(1, MOST_PRODUCTS // max(1, products))]
    try:
        truth = _by_reference(model, rows_of(inputs, picked))
    except (TensorParityError, ShapeError) as error:
        return (yield from _by_library(model, done, inputs, picked, str(error), traits))
    return HighPrecision("our reference of every layer", tuple(picked), _deviations(done, truth, picked))


def worst_of(comparisons: Sequence[Comparison], outcomes: Mapping[str, Outcome]) -> list[int]:
    """The input on which each pair differs most, the most different pair first; then the next worst of that pair."""
    ranked = sorted((c for c in comparisons if c.worst_input is not None), key=lambda c: -(c.max_rel or 0.0))
    found = [comparison.worst_input or 0 for comparison in ranked]
    for comparison in ranked[:1]:
        sides = [outcomes[target].outputs for target in (comparison.a, comparison.b) if target in outcomes]
        known = [outputs[comparison.output] for outputs in sides if comparison.output in outputs]
        if len(known) == 2:
            found += np.argsort(-scaled_difference(*known), kind="stable")[:MOST_INPUTS].tolist()
    return list(dict.fromkeys(found))[:MOST_INPUTS] or [0]


def _cost(graph: LayerGraph) -> tuple[int, str]:
    """Products for one input; or what has no reference."""
    unknown = next((node for node in graph.nodes if not has_reference(node.op)), None)
    if unknown is not None:
        return 0, f"{unknown.op} has no float64 reference"
    try:
        return count_products(graph), ""
    except (TensorParityError, ShapeError) as error:
        return 0, str(error)


def _by_reference(model: Model, few: Arrays) -> dict[str, Array]:
    graph = model.graph
    assert graph is not None
    nodes = {node.name: node for node in graph.nodes}
    ends = {nodes[ref.node].key for ref in graph.outputs if ref.node in nodes}
    found = evaluate(graph, few, model.weights, keep=ends)
    return {
        _output_name(ref.node, ref.index): found[nodes[ref.node].key][ref.index].value
        for ref in graph.outputs
        if ref.node in nodes
    }


def _output_name(node: str, index: int) -> str:
    return node if index == 0 else f"{node}.{index}"


def _by_library(
    model: Model, done: Mapping[str, Outcome], inputs: Arrays, picked: Sequence[int], problem: str, traits: Traits
) -> Asking[HighPrecision]:
    """A library that has float64 runs the file once more, or the layers under that dtype policy."""
    assert model.graph is not None
    file = model.file
    reader = next((target for target in done if file and file.format in traits[target].wide_formats), None)
    if file is not None and reader is not None:
        case = Case(file, Procedure(dtype="float64"), rows_of(inputs, picked))
        return (yield from _asked_for(case, reader, done, picked, problem))
    target = next((target for target in done if traits[target].high_precision), None)
    if target is None:
        return HighPrecision(left_out=f"{problem}, and no target here has float64")
    size = sum(array.nbytes for array in model.weights.values())
    if size > _MOST_WEIGHTS:
        return HighPrecision(left_out=f"{problem}, and {size >> 20} MB of weights are too many for {target} in float64")
    case = Case(model.graph, Procedure(dtype="float64"), rows_of(inputs, picked), weights=model.weights)
    return (yield from _asked_for(case, target, done, picked, problem))


def _asked_for(
    case: Case, target: str, done: Mapping[str, Outcome], picked: Sequence[int], problem: str
) -> Asking[HighPrecision]:
    (answer,) = yield [Check(case, (target,))]
    outcome = answer.outcomes[target]
    if not outcome.completed:
        message = gist(outcome.failure.message) if outcome.failure else outcome.status.value
        return HighPrecision(left_out=f"{problem}, and {target} in float64: {message}")
    return HighPrecision(f"{target} in float64", tuple(picked), _deviations(done, outcome.outputs, picked))


def _deviations(
    done: Mapping[str, Outcome], truth: Mapping[str, Array], picked: Sequence[int]
) -> tuple[OutputDeviation, ...]:
    found: list[OutputDeviation] = []
    for target, outcome in done.items():
        exact = Outcome(_REFERENCE, Status.COMPLETED, _named_alike(truth, outcome.outputs))
        few = replace(outcome, outputs={name: array[list(picked)] for name, array in outcome.outputs.items()})
        for pair in compare_outcomes(few, exact, {}, judge_parity):
            if pair.max_abs is not None and pair.max_rel is not None:
                found.append(OutputDeviation(target, pair.output, pair.max_abs, pair.max_rel, pair.labels_changed))
    return tuple(found)


def _named_alike(truth: Mapping[str, Array], outputs: Arrays) -> dict[str, Array]:
    """A file may call its only output otherwise than the layer that gives it."""
    if len(truth) == len(outputs) == 1:
        return dict(zip(outputs, truth.values(), strict=True))
    return dict(truth)
