"""What documentation rules out for losses and optimizers, tried beside the networks: whoever accepts it is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..core.case import Case
from ..core.graph import GraphBuilder
from ..core.jsontext import Json
from ..core.procedure import Goal, Procedure, Recipe
from ..core.runner import Runner
from ..operators.evaluate import draw_weights
from ..operators.loss_spec import REDUCTION
from ..operators.losses import LOSSES
from ..operators.optimizer_options import OPTIONS
from ..operators.optimizers import OPTIMIZERS
from ..operators.spec import Parameter
from .case_rounds import CaseRounds

_PER_ROUND = 1


def invalid_cases(seed: int) -> Iterator[Case]:
    """A training step of one layer for every value that is ruled out; the loss or the optimizer has it."""
    recipes = [*_losses(), *_optimizers()]
    for index in np.random.default_rng([seed, 0xBAD]).permutation(len(recipes)):
        yield _step(*recipes[index])


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
