"""Sizes that a signature leaves open: the first that the model can take, tried on one target before all of them run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...core.errors import DataError
from ...core.graph import InputSpec
from ...core.messages import gist
from ...core.outcome import Outcome, Status
from ...core.procedure import Procedure
from ...core.runner import Runner
from ...generators.inputs.models import OPEN_SIZE, Draw, seeded_inputs
from ...reporting import words
from .models import ModelSource

#: What stands for an open size: images and sequences take most, detectors multiples of 32, some want little.
SIZES = (OPEN_SIZE, 32, 64, 128, 224, 256, 8, 4, 1)


def fitting_draws(
    runner: Runner, source: ModelSource, targets: Sequence[str], seed: int, draws: Mapping[str, Draw]
) -> dict[str, Draw]:
    """How inputs are drawn: where a size is open and nobody has said what it is, as the model can take it.

    Raises:
        DataError: if the model takes none of the sizes, with the option to give.
    """
    free = [
        spec for spec in source.inputs if None in spec.shape and not (spec.name in draws and draws[spec.name].shape)
    ]
    able = [target for target in targets if not source.model.needs_graph(target)]
    if not free or not able:
        return dict(draws)
    sized = {
        size: {**draws, **{spec.name: _sized(spec, size, {**source.draws, **draws}) for spec in free}} for size in SIZES
    }
    for target in able:
        endings = _until_it_fits(runner, source, target, seed, sized)
        if endings[-1].status is Status.COMPLETED:
            fitting = SIZES[len(endings) - 1]
            return sized[fitting] if fitting != OPEN_SIZE else dict(draws)
        if endings[-1].status is Status.UNSUPPORTED:
            continue  # whatever the size
        if any(ending.status is not Status.RAISED for ending in endings):
            return dict(draws)  # a crash is no answer to the question, and is found by the run itself
        said = next((gist(ending.failure.message) for ending in endings if ending.failure), "")
        raise DataError(words.no_size_fits([(spec.name, spec.shape) for spec in free], SIZES, target, said))
    return dict(draws)


def _until_it_fits(
    runner: Runner, source: ModelSource, target: str, seed: int, sized: Mapping[int, Mapping[str, Draw]]
) -> list[Outcome]:
    """How the target ended with one size after the other; the last one fits, or says that it is useless to go on."""
    endings: list[Outcome] = []
    for draws in sized.values():
        endings.append(_tried(runner, source, target, seed, draws))
        if endings[-1].status not in (Status.RAISED, Status.CRASHED):
            break
    return endings


def _sized(spec: InputSpec, size: int, draws: Mapping[str, Draw]) -> Draw:
    shape = tuple(size if fixed is None else fixed for fixed in spec.shape)
    return replace(draws.get(spec.name, Draw()), shape=shape)


def _tried(runner: Runner, source: ModelSource, target: str, seed: int, draws: Mapping[str, Draw]) -> Outcome:
    data = seeded_inputs(source.inputs, source.model.batch or 1, seed, {**source.draws, **draws})
    case = source.model.case(target, Procedure(), data.inputs, seed=seed)
    return runner.run_pairs([(case, target)])[0]
