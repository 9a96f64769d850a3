"""What Audee's oracles look at: labels and NaN of all inputs, and what every layer gives of some of them.

The outputs are there for all inputs. Layers are traced for few of them: for those whose outputs have NaN first, then
for some that are spread over all; change rates are those of one input, which parts two targets where one does.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.arrays import Array, is_floating
from ..core.case import Case
from ..core.graph import LayerGraph
from ..core.oracle import Answer, Check, Measures, Seen
from ..core.outcome import Outcome
from ..core.procedure import Mode, Procedure
from ..core.rows import row_count, these_rows
from .base import Asking
from .measure.individuals import other_labels, pair_name, rows_with_nan
from .measure.rates import localization_map

#: Names of what is counted for the tables; one number per case.
LABELS, NAN_LAYERS, TOP_RATE = "inconsistent-inputs", "nan-layers", "top-1-change-rate"
#: Of a pair with other labels: how many places Algorithm 2 accuses, how many layers CRADLE's rule does, how many of
#: those Algorithm 2 does not, and how many it does not accuse at all.
ACCUSED = "accused"
#: Inputs whose layers are looked at for NaN.
TRACED = 16


@dataclass(frozen=True)
class NanSeen:
    """NaN on one target.

    Args:
        node: the first layer that gives it, or the output where the layers cannot be read.
        row: an input that shows it.
    """

    node: str
    row: int


@dataclass
class Looked:
    """What was seen of one network.

    Args:
        changed: by pair, the rows with another label; no pair of which a target gave NaN on any input.
        nan: by target, where and on which input.
        rates: by pair, the largest change rate of a layer on one input; ``layers`` says which layer that is.
    """

    changed: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    nan: dict[str, NanSeen] = field(default_factory=dict)
    rates: dict[tuple[str, str], float] = field(default_factory=dict)
    layers: dict[tuple[str, str], str] = field(default_factory=dict)
    highlighted: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    accused: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def measures(self) -> Measures:
        found = {
            LABELS: {pair_name(*pair): [float(len(rows))] for pair, rows in self.changed.items()},
            NAN_LAYERS: {target: [1.0] for target in self.nan},
            TOP_RATE: {pair_name(*pair): [rate] for pair, rate in self.rates.items()},
            ACCUSED: {pair_name(*pair): counts for pair, counts in self.accused.items()},
        }
        return {name: by_target for name, by_target in found.items() if by_target}


def look(seen: Seen) -> Asking[Looked]:
    """The labels and the NaN of all inputs, and the layers of some."""
    done, count = seen.completed, row_count(seen.case)
    nan = {target: rows for target, outcome in done.items() if (rows := nan_rows(outcome, count))}
    looked = Looked(nan={target: NanSeen(_output_with_nan(done[target]), rows[0]) for target, rows in nan.items()})
    for (a, one), (b, other) in itertools.combinations(done.items(), 2):
        looked.changed[a, b] = changed_labels(one, other)
    graph = seen.case.subject
    if isinstance(graph, LayerGraph) and done:
        yield from _look_inside(seen.case, graph, tuple(done), nan, looked)
    looked.changed = {pair: rows for pair, rows in looked.changed.items() if not set(pair) & set(looked.nan)}
    return looked


def _look_inside(
    case: Case, graph: LayerGraph, targets: tuple[str, ...], nan: Mapping[str, Sequence[int]], looked: Looked
) -> Asking[None]:
    sound = [rows[0] for pair, rows in looked.changed.items() if rows and not set(pair) & set(nan)]
    rows = _rows_to_trace(row_count(case), nan)
    checks = [Check(traced(these_rows(case, own)), targets) for own in ([(sound or [0])[0]], rows)]
    one, several = yield checks
    for target, nodes in _nodes(several).items():
        if key := first_nan(graph, nodes):
            looked.nan[target] = NanSeen(key, nan[target][0] if target in nan else _row_of(nodes[key], rows))
    _measure_rates(graph, {t: nodes for t, nodes in _nodes(one).items() if t not in looked.nan}, looked)


def _rows_to_trace(count: int, nan: Mapping[str, Sequence[int]]) -> list[int]:
    """One input with NaN of every target, and some that are spread over all."""
    spread = np.linspace(0, count - 1, min(count, TRACED)).astype(int)
    return list(dict.fromkeys([*(rows[0] for rows in nan.values()), *(int(row) for row in spread)]))[:TRACED]


def _nodes(answer: Answer) -> dict[str, Mapping[str, Array]]:
    return {target: outcome.trace.nodes for target, outcome in answer.outcomes.items() if outcome.completed}


def _row_of(array: Array, rows: Sequence[int]) -> int:
    """The input that shows a NaN which a layer gave."""
    if not array.ndim or len(array) != len(rows):
        return rows[0]
    return rows[int(np.flatnonzero(rows_with_nan(array))[0])]


def _measure_rates(graph: LayerGraph, traces: Mapping[str, Mapping[str, Array]], looked: Looked) -> None:
    for a, b in itertools.combinations(traces, 2):
        layers = localization_map(graph, traces[a], traces[b], {})
        looked.highlighted[a, b] = {item.key for item in layers if item.highlighted}
        rates = {item.key: item.rate for item in layers}
        finite = {key: rate for key, rate in rates.items() if rate is not None and np.isfinite(rate)}
        if finite:
            looked.layers[a, b] = max(finite, key=lambda key: finite[key])
            looked.rates[a, b] = finite[looked.layers[a, b]]


def traced(case: Case) -> Case:
    """The case with every layer's output told."""
    procedure = Procedure(trace=True, mode=Mode.EAGER, dtype=case.procedure.dtype)
    return Case(case.subject, procedure, case.inputs, weights=case.weights, seed=case.seed)


def nan_rows(outcome: Outcome, count: int) -> list[int]:
    """The inputs of which any output has a NaN."""
    stacked = [array for array in outcome.outputs.values() if array.ndim and len(array) == count]
    return [int(row) for row in np.flatnonzero(rows_with_nan(*stacked))] if stacked else []


def _output_with_nan(outcome: Outcome) -> str:
    return next(name for name, array in outcome.outputs.items() if _has_nan(array))


def changed_labels(a: Outcome, b: Outcome) -> list[int]:
    """The rows whose label differs (Definition 2), of the first output that has any."""
    for name in a.outputs:
        one, other = a.outputs[name], b.outputs.get(name)
        if other is not None and one.shape == other.shape and one.ndim == 2:
            return [int(row) for row in np.flatnonzero(other_labels(one, other))]
    return []


def first_nan(graph: LayerGraph, nodes: Mapping[str, Array]) -> str:
    """The key of the first node, in the order of the graph, that gives a NaN; nothing where none does."""
    return next((node.key for node in graph.nodes if node.key in nodes and _has_nan(nodes[node.key])), "")


def _has_nan(array: Array) -> bool:
    return is_floating(array.dtype.name) and bool(np.isnan(array.astype(np.float64)).any())
