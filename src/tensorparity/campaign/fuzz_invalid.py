"""What documentation rules out, tried beside the networks: whoever accepts it is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..core.case import Case
from ..core.graph import GraphBuilder, LayerGraph
from ..core.jsontext import Json
from ..core.procedure import Goal, Procedure, Recipe
from ..core.runner import Runner
from ..generators.networks.networks import NetworkGenerator, NetworkSettings
from ..operators.catalogue import layer, layer_names
from ..operators.evaluate import draw_weights
from ..operators.loss_spec import REDUCTION
from ..operators.losses import LOSSES
from ..operators.optimizer_options import OPTIONS
from ..operators.optimizers import OPTIMIZERS
from ..operators.spec import Parameter
from .case_rounds import CaseRounds

_PER_ROUND = 4
#: Networks of one layer that are drawn until one has the layer.
_ATTEMPTS = 4


def invalid_cases(seed: int) -> Iterator[Case]:
    """One case for every value that is ruled out, of layers, losses and optimizers, in an order drawn from the seed.

    For a loss or an optimizer a training step of one layer, for a layer the layer alone.
    """
    makers = [*_layers(seed), *(functools.partial(_step, *recipes) for recipes in [*_losses(), *_optimizers()])]
    for index in np.random.default_rng([seed, 0xBAD]).permutation(len(makers)):
        case = makers[index]()
        if case is not None:
            yield case


def _layers(seed: int) -> Iterator[Callable[[], Case | None]]:
    for name in layer_names():
        for params in _ruled_out(layer(name).parameters):
            yield functools.partial(_layer, name, params, seed)


def _layer(name: str, wrong: dict[str, Json], seed: int) -> Case | None:
    """A use of the layer that is right, but for one value; None where none was drawn."""
    settings = NetworkSettings(layers=(name,), unit=True, goal=Goal.FORWARD, steered=False, varied=False)
    generator = NetworkGenerator(seed, settings)
    for _ in range(_ATTEMPTS):
        case = generator.next().case
        assert isinstance(case.subject, LayerGraph)
        used = next((node for node in case.subject.nodes if node.op == name), None)
        if used is not None:
            other = replace(used, params={**used.params, **wrong})
            nodes = tuple(other if node is used else node for node in case.subject.nodes)
            return replace(case, subject=replace(case.subject, nodes=nodes), procedure=Procedure(), labels={})
    return None


def invalid_rounds(runner: Runner, targets: Sequence[str], seed: int) -> CaseRounds:
    return CaseRounds(runner, targets, invalid_cases(seed), _PER_ROUND)


def _losses() -> Iterator[tuple[Recipe, Recipe]]:
    """Of all losses in turn, what one of them alone has, and by one of them what they share."""
    plain = Recipe("SGD")
    for params in _ruled_out([REDUCTION]):
        yield Recipe("MeanSquaredError", params), plain
    for spec in LOSSES.values():
        for params in _ruled_out(spec.parameters):
            yield Recipe(spec.name, params), plain


def _optimizers() -> Iterator[tuple[Recipe, Recipe]]:
    plain = Recipe("MeanSquaredError")
    for params in _ruled_out(OPTIONS):
        yield plain, Recipe("SGD", params)
    for spec in OPTIMIZERS.values():
        for params in _ruled_out(spec.parameters):
            yield plain, Recipe(spec.name, params)


def _ruled_out(parameters: Sequence[Parameter]) -> Iterator[dict[str, Json]]:
    for parameter in parameters:
        for value in parameter.invalid:
            yield {parameter.name: value}


def _step(loss: Recipe, optimizer: Recipe) -> Case:
    build = GraphBuilder("step")
    graph = build.build(build.add("Dense", build.input("x", (3,)), name="out", units=2, activation="softmax"))
    rng = np.random.default_rng(0)
    procedure = Procedure(Goal.UPDATE, training=True, loss=loss, optimizer=optimizer)
    inputs = {"x": rng.standard_normal((2, 3)).astype(np.float32)}
    labels = {"out": np.eye(2, dtype=np.float32)}
    return Case(graph, procedure, inputs=inputs, labels=labels, weights=draw_weights(graph, rng))
