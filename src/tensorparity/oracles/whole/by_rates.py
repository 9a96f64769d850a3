"""CRADLE's own localization: a map for every inconsistent pair, and nobody's word but the introduction rate's.

No layer is run alone here, and no layer decides: the paper's rule has decided already, and the map explains.
"""

from __future__ import annotations

from ...core.comparison import Comparison, LayerDeviation
from ..measure.distances import answers_of, as_classes
from .instances import rows_of
from .layers import map_other_patterns, traces_of, with_maps, worst_inputs
from .sight import Asking, Sight


def labels_of_answers(at: Sight) -> None:
    """Where there are no labels, a classifier is taken to be right in what the first target answers, and that is said.

    Of a regression nothing can stand for the truth: any number near an answer makes rounding look like a difference.
    """
    if at.labels or not at.seen.completed:
        return
    target, outcome = next(iter(at.seen.completed.items()))
    for name, output in outcome.outputs.items():
        confidences = as_classes(output) if output.ndim == 2 and output.shape[1] > 1 else None
        if confidences is not None and output.dtype.kind == "f" and len(output):
            at.labels[name] = answers_of(confidences)
            at.notes.append(f"there are no labels: what {target} answers stands for those of {name}")
        else:
            at.notes.append(f"there are no labels, and {name} is no class: CRADLE's rule says nothing of it")


def map_inconsistent_pairs(at: Sight) -> Asking[None]:
    """Trace the most inconsistent inputs on all targets; False where the layers cannot be looked at."""
    wanted = at.settings.localize == "always" or any(c.verdict.failed and c.instances for c in at.comparisons)
    if at.settings.localize == "never" or not wanted or not (yield from at.need_graph()):
        return
    picked = worst_inputs(at)
    traces = yield from traces_of(at, rows_of(at.inputs, picked))
    if not traces:
        at.notes.append("no target could be traced, so there is no localization map")
        return
    at.comparisons = with_maps(at, traces, picked)
    yield from map_other_patterns(at, picked)


def first_highlighted(comparison: Comparison) -> LayerDeviation | None:
    """The first localized inconsistent execution, which is what the paper looks at (section V-B)."""
    return next((layer for layer in comparison.layers if layer.highlighted), None)
