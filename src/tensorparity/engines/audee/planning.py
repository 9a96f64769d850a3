"""Which searches are made: of variants that did not fail, for every pair of targets or for NaN on each of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.traits import Traits
from ...generators.mutation.variants import Variant
from ...generators.search.bounds import range_of_model, realistic_bounds
from ...generators.search.exposed import expose, without_embeddings
from ...generators.search.genetic import BOTH, INPUT, WEIGHT, Bounds, NothingToMove, Search
from .populations import runs_populations
from .searches import SearchRun
from .seeds import SeedModel
from .settings import DATA, INCONSISTENCY, NAN, NAN_LEVELS, AudeeSettings

_CHOICE, _SEARCH = 0x12, 0x13


@dataclass
class Sound:
    """A variant that somebody completed, and the pairs and targets on which it did not fail."""

    variant: Variant
    pairs: set[tuple[str, str]]
    targets: set[str]


class Plan:
    """Chooses variants and makes searches of them, all by the seed."""

    def __init__(self, settings: AudeeSettings, seed: int, targets: Sequence[str], traits: Traits) -> None:
        self._settings, self._seed, self._targets = settings, seed, tuple(targets)
        self._weightless = frozenset(target for target in targets if not runs_populations(traits[target]))

    @property
    def weightless(self) -> list[str]:
        """The targets whose weights no search moves, if one should."""
        moved = set(self._settings.levels) - {INPUT} or NAN in self._settings.goals
        return sorted(self._weightless) if moved and self._settings.searched else []

    def searches(self, model: SeedModel, sound: Sequence[Sound], place: int, made: int) -> Iterator[SearchRun]:
        """Those of one seed model.

        Args:
            place: of the model among all; ``made``: searches that were made of those before it.
        """
        settings = self._settings
        order = np.random.default_rng([self._seed, _CHOICE, place]).permutation(len(sound))
        chosen = [sound[index] for index in order]
        if INCONSISTENCY in settings.goals:
            for pair in itertools.combinations(self._targets, 2):
                own = [item.variant for item in chosen if pair in item.pairs][: settings.searched]
                yield from self._of(model, own, INCONSISTENCY, pair, settings.levels, 1, made)
        if NAN in settings.goals:
            levels = [level for level in settings.levels if level in NAN_LEVELS] or settings.levels
            for target in self._targets:
                own = [item.variant for item in chosen if target in item.targets][: settings.searched]
                yield from self._of(model, own, NAN, (target,), levels, settings.repeats, made)

    def _of(
        self,
        model: SeedModel,
        variants: Sequence[Variant],
        goal: str,
        targets: tuple[str, ...],
        levels: Sequence[str],
        repeats: int,
        made: int,
    ) -> Iterator[SearchRun]:
        able = self._able(levels, targets)
        for place, (variant, level, repeat) in enumerate(itertools.product(variants, able, range(repeats))):
            key = [self._seed, _SEARCH, made, place, repeat, *(self._targets.index(target) for target in targets)]
            run = self._run(model, variant, goal, targets, level, int(np.random.default_rng(key).integers(2**31)))
            if run is not None:
                yield run

    def _able(self, levels: Sequence[str], targets: Sequence[str]) -> list[str]:
        """The levels that targets take: inputs alone where weights are no thing apart from the model."""
        if not self._weightless & set(targets):
            return list(levels)
        return [INPUT] if {INPUT, BOTH} & set(levels) else []

    def _run(
        self, model: SeedModel, variant: Variant, goal: str, targets: tuple[str, ...], level: str, seed: int
    ) -> SearchRun | None:
        """A search from one of the inputs, which the seed chooses; None where there is nothing to move."""
        row, settings = seed % max(1, model.instances), self._settings
        bounds = realistic_bounds(
            variant.graph, variant.weights, range_of_model(variant.graph, variant.weights, model.inputs)
        )
        inputs = {name: array[row : row + 1] for name, array in model.inputs.items()}
        graph, weights = variant.graph, variant.weights
        if level != WEIGHT:
            graph, weights, inputs = without_embeddings(graph, weights, inputs)  # type: ignore[assignment]
        limits = bounds if settings.within == DATA else Bounds()
        try:
            search = Search(expose(graph, weights, settings.watch), inputs, level, settings.search, seed, limits)
        except NothingToMove:
            return None
        return SearchRun(
            model.name,
            variant.graph.name,
            goal,
            targets,
            search,
            settings.generations,
            settings.first_failure,
            settings.search_seconds,
            bounds,
            settings.kept,
        )


def check_layer(model: SeedModel, settings: AudeeSettings) -> None:
    """See to it that a model has the layer whose distance is to be the fitness, on all levels that are searched.

    Raises:
        UsageError: if it has not; the message names those that there are.
    """
    expose(model.graph, model.weights, settings.watch)
    if set(settings.levels) - {WEIGHT}:
        graph, weights, _ = without_embeddings(model.graph, model.weights, model.inputs)
        expose(graph, weights, settings.watch)
