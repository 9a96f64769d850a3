"""Layers that a target cannot run alone, judged where they stand: on what its own run put in and got out.

An exporter may fuse a layer with its neighbour (a padding into the convolution behind it), and then no piece of
the file is that layer. The traced run still shows what went into it and what came out, and the reference is
evaluated on just those inputs. This clears a layer and accuses none: what is beyond rounding here may come from
how the trace was taken, and cannot be confirmed alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...core.arrays import Arrays
from ...core.model import Model, node_inputs
from ...core.outcome import Outcome
from ...core.traits import Traits
from .isolated_nodes import measure_node
from .node_errors import NodeErrors


def clear_in_place(
    measured: Sequence[NodeErrors], model: Model, inputs: Arrays, traces: Mapping[str, Outcome], traits: Traits
) -> list[NodeErrors]:
    """The same measurements, with those targets added that could not be asked and whose traced run is right."""
    return [_with_targets_in_place(errors, model, inputs, traces, traits) for errors in measured]


def _with_targets_in_place(
    errors: NodeErrors, model: Model, inputs: Arrays, traces: Mapping[str, Outcome], traits: Traits
) -> NodeErrors:
    assert model.graph is not None
    if errors.judged_by != "reference":
        return errors
    for target in (target for target in traces if target not in errors.errors):
        try:
            given = node_inputs(model.graph, errors.node, inputs, traces[target].trace.nodes)
        except KeyError:
            continue  # fused so far that not even its input is a tensor
        here = measure_node(errors.node, given, model.weights, {target: traces[target]}, traits)
        if here.judged_by == "reference" and here.errors.get(target, float("inf")) <= here.limit:
            errors = replace(
                errors,
                errors={**errors.errors, target: here.errors[target]},
                absolute={**errors.absolute, target: here.absolute[target]},
                implementations={**errors.implementations, **here.implementations},
            )
    return errors
