"""Models of the zoo for the rules about models, with calibrated weights, as many distinct instances as the paper has,
and an optimizer drawn for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.graph import LayerGraph, output_name
from ...core.procedure import Goal, Procedure
from ...generators.equivalences.architectures import INSTANCES
from ...generators.networks.tasks import draw_optimizer
from ...operators.reference.evaluate import infer_shapes
from ...zoo.entries import ARCHITECTURES, ZOO
from ...zoo.weights import calibrated_weights, sample_inputs

_SALT = 0xEA61E


def zoo_models(wanted: Sequence[str], seed: int) -> list[tuple[str, Case]]:
    """The architectures with these names or patterns, as cases of training: rules take of them what they speak of."""
    names = [name for name in ARCHITECTURES if any(fnmatchcase(name, pattern) for pattern in wanted)]
    return [(name, _case(name, place, seed)) for place, name in enumerate(names)]


def _case(name: str, place: int, seed: int) -> Case:
    graph = ARCHITECTURES[name]()
    rng = np.random.default_rng([seed, _SALT, place])
    inputs = sample_inputs(graph, rng, INSTANCES)
    weights = calibrated_weights(graph, int(rng.integers(2**31)))
    procedure = Procedure(goal=Goal.UPDATE, loss=ZOO[name].loss, optimizer=draw_optimizer(rng))
    return Case(graph, procedure, inputs, _labels(graph, name, rng), weights, seed=int(rng.integers(2**31)))


def _labels(graph: LayerGraph, name: str, rng: np.random.Generator) -> dict[str, Array]:
    """Classes where the model knows some, else values."""
    shapes, found = infer_shapes(graph, INSTANCES), {}
    for ref in graph.outputs:
        shape = tuple(size or 1 for size in shapes[ref.node][ref.index])
        if not ZOO[name].classifies:
            found[output_name(ref)] = rng.standard_normal(shape).astype(np.float32)
        elif ZOO[name].loss.name.startswith("Sparse"):
            found[output_name(ref)] = rng.integers(0, shape[-1], shape[:-1]).astype(np.int32)
        else:
            found[output_name(ref)] = rng.integers(0, 2, shape).astype(np.float32)
    return found
