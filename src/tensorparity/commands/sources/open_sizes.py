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
    able = next((target for target in targets if not source.model.needs_graph(target)), None)
    if not free or able is None:
        return dict(draws)
    said = ""
    for size in SIZES:
        tried = {**draws, **{spec.name: _sized(spec, size, {**source.draws, **draws}) for spec in free}}
        outcome = _tried(runner, source, able, seed, tried)
        if outcome.status is not Status.RAISED:
            return tried if size != OPEN_SIZE else dict(draws)
        said = said or (gist(outcome.failure.message) if outcome.failure else "")
    raise DataError(words.no_size_fits([(spec.name, spec.shape) for spec in free], SIZES, able, said))


def _sized(spec: InputSpec, size: int, draws: Mapping[str, Draw]) -> Draw:
    shape = tuple(size if fixed is None else fixed for fixed in spec.shape)
    return replace(draws.get(spec.name, Draw()), shape=shape)


def _tried(runner: Runner, source: ModelSource, target: str, seed: int, draws: Mapping[str, Draw]) -> Outcome:
    data = seeded_inputs(source.inputs, source.model.batch or 1, seed, {**source.draws, **draws})
    case = source.model.case(target, Procedure(), data.inputs, seed=seed)
    return runner.run_pairs([(case, target)])[0]
