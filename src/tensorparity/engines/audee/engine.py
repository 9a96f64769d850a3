"""Audee's technique: networks whose parameters are mutated, and searches on those that did not fail.

A seed model is done at a time: all of its variants first, because what is searched is chosen among those that did not
fail; then the searches, some side by side. What fails in a search is judged as a case of its own.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.case import Case
from ...core.engine import Ask, Result, Standing
from ...core.errors import UsageError
from ...core.jsontext import Json
from ...core.oracle import Setup
from ...core.outcome import Status
from ...core.settings import defaults_of
from ...generators.mutation.variants import Variant, invalid_variant, valid_variant
from ...generators.search.exposed import expose, without_embeddings
from ...generators.search.genetic import WEIGHT, Search, SearchSettings
from ...oracles.invalid_value import INVALID_VALUE
from .populations import runs_populations
from .searches import SearchRun
from .seeds import SeedModel, zoo_seeds
from .settings import INCONSISTENCY, NAN, NAN_LEVELS, SETTING_NAMES, AudeeSettings
from .tables import AudeeTally

#: Who judges a whole network, unless the user chose somebody else; and who counts for the tables.
_ORACLE, _COUNTS = "parity", "audee_measures"
_ROUND = 8
#: Searches side by side: as many as workers keep programs of.
_AT_ONCE = 4
_VARIANT, _CHOICE, _SEARCH = 0x11, 0x12, 0x13


@dataclass(frozen=True)
class _Asked:
    """What a case of a round is: a variant, a generation of a search, or an individual that failed in one."""

    variant: Variant | None = None
    run: SearchRun | None = None
    individual: bool = False


@dataclass
class _Sound:
    """A variant that somebody completed, and the pairs and targets on which it did not fail."""

    variant: Variant
    pairs: set[tuple[str, str]]
    targets: set[str]


class AudeeEngine:
    """Mutates and searches seed models, by default those of the zoo, one after another without end."""

    name = "audee"
    settings: ClassVar[tuple[str, ...]] = SETTING_NAMES
    defaults: ClassVar[Mapping[str, object]] = defaults_of(AudeeSettings, SearchSettings)
    #: A search has to be told of a generation before it can make the next.
    ahead = 0

    def __init__(self, setup: Setup, seeds: Iterable[SeedModel] | None = None) -> None:
        self._settings = AudeeSettings.from_mapping(setup.settings)
        self._seed, self._targets = setup.seed, setup.targets
        self._searchable = tuple(target for target in setup.targets if runs_populations(setup.traits[target]))
        self._models: Iterator[SeedModel] = iter(zoo_seeds(setup.seed) if seeds is None else seeds)
        self._model: SeedModel | None = None
        self._place = -1
        self._left = 0
        self._made = 0
        self._sound: list[_Sound] = []
        self._pending: deque[SearchRun] = deque()
        self._active: list[SearchRun] = []
        self._round: list[_Asked] = []
        self.tally = AudeeTally(setup.targets)

    # Asking

    def ask(self) -> Sequence[Ask]:
        if self._round:
            return []  # until it is told
        return self._searching() or self._mutating()

    def _mutating(self) -> list[Ask]:
        if not self._left and not self._next_model():
            return []
        assert self._model is not None
        asks = []
        for _ in range(min(_ROUND, self._left)):
            variant = self._variant(self._model)
            case = self._case(self._model, variant)
            oracles = (INVALID_VALUE,) if variant.invalid else (_ORACLE, _COUNTS)
            asks.append(Ask(case, oracles=oracles))
            self._round.append(_Asked(variant))
        return asks

    def _next_model(self) -> bool:
        self._model = next(self._models, None)
        if self._model is None:
            return False
        self._model = self._model.at_most(self._settings.inputs)
        self._place += 1
        self._left, self._made, self._sound = self._settings.variants, 0, []
        self.tally.begin(self._model)
        return self._left > 0

    def _variant(self, model: SeedModel) -> Variant:
        """The next one; every so many have an invalid value, if one can be found."""
        rng = np.random.default_rng([self._seed, _VARIANT, self._place, self._made])
        name = f"{model.graph.name}-v{self._made + 1}"
        before, after = (int(count * self._settings.invalid) for count in (self._made, self._made + 1))
        self._made += 1
        self._left -= 1
        wrong = invalid_variant(model.graph, model.weights, rng, name) if after > before else None
        return wrong or valid_variant(model.graph, model.weights, rng, name)

    def _case(self, model: SeedModel, variant: Variant) -> Case:
        names = {item.name for item in variant.graph.inputs}
        inputs = {name: array for name, array in model.inputs.items() if name in names}
        if variant.invalid:
            inputs = {name: array[:1] for name, array in inputs.items()}
        return Case(variant.graph, inputs=inputs, weights=variant.weights, seed=self._seed)

    def _searching(self) -> list[Ask]:
        """A generation of every search that is under way, and what failed in the last ones."""
        self._active = [run for run in self._active if not run.is_over or run.waiting]
        while self._pending and len(self._active) < _AT_ONCE:
            self._active.append(self._pending.popleft())
        asks = []
        for run in self._active:
            for ask in run.individuals():
                asks.append(ask)
                self._round.append(_Asked(run=run, individual=True))
            if not run.is_over:
                asks.append(run.ask())
                self._round.append(_Asked(run=run))
        return asks

    # Being told

    def tell(self, results: Sequence[Result]) -> None:
        asked, self._round = self._round, []
        for item, result in zip(asked, results, strict=False):
            if item.variant is not None:
                self._count_variant(item.variant, result)
            elif item.run is not None and item.individual:
                self.tally.count_individual(item.run, result)
            elif item.run is not None:
                item.run.tell(result)
                if item.run.is_over:
                    self.tally.count_search(item.run)
        if not self._left and self._sound and not self._pending and not self._active:
            self._plan_searches()

    def _count_variant(self, variant: Variant, result: Result) -> None:
        assert self._model is not None
        if variant.invalid:
            self.tally.count_invalid(variant.invalid, result)
            return
        found = self.tally.count_variant(variant, result)
        done = [target for target, status in result.endings.items() if status is Status.COMPLETED]
        able = [target for target in done if target in self._searchable]
        pairs = {pair for pair in itertools.combinations(able, 2) if pair not in found.pairs}
        targets = set(able) - found.nan
        self._sound.append(_Sound(variant, pairs if not found.nan else set(), targets))

    def _plan_searches(self) -> None:
        """Choose variants that did not fail, by seed, for every pair and every target."""
        model, sound, self._sound = self._model, self._sound, []
        assert model is not None
        order = np.random.default_rng([self._seed, _CHOICE, self._place]).permutation(len(sound))
        chosen = [sound[place] for place in order]
        if INCONSISTENCY in self._settings.goals:
            for pair in itertools.combinations(self._searchable, 2):
                own = [item.variant for item in chosen if pair in item.pairs][: self._settings.searched]
                self._plan(model, own, INCONSISTENCY, pair, self._settings.levels, 1)
        if NAN in self._settings.goals:
            for target in self._searchable:
                own = [item.variant for item in chosen if target in item.targets][: self._settings.searched]
                levels = [level for level in self._settings.levels if level in NAN_LEVELS] or self._settings.levels
                self._plan(model, own, NAN, (target,), levels, self._settings.repeats)

    def _plan(
        self,
        model: SeedModel,
        variants: Sequence[Variant],
        goal: str,
        targets: tuple[str, ...],
        levels: Sequence[str],
        repeats: int,
    ) -> None:
        for variant, level, repeat in itertools.product(variants, levels, range(repeats)):
            seed = int(np.random.default_rng([self._seed, _SEARCH, len(self.tally.curves), repeat]).integers(2**31))
            search = self._search(model, variant, level, seed + len(self._pending))
            if search is not None:
                run = SearchRun(
                    model.name,
                    variant.graph.name,
                    goal,
                    targets,
                    search,
                    self._settings.generations,
                    self._settings.first_failure,
                    self._settings.search_seconds,
                )
                self._pending.append(run)

    def _search(self, model: SeedModel, variant: Variant, level: str, seed: int) -> Search | None:
        """A search from one of the inputs, which the seed chooses; None where there is nothing to move."""
        row = seed % max(1, model.instances)
        inputs = {name: array[row : row + 1] for name, array in model.inputs.items()}
        graph, weights = variant.graph, variant.weights
        if level != WEIGHT:
            graph, weights, inputs = without_embeddings(graph, weights, inputs)  # type: ignore[assignment]
        try:
            return Search(expose(graph, weights, self._settings.watch), inputs, level, self._settings.search, seed)
        except UsageError:
            return None

    # Reporting

    def standing(self) -> Standing:
        """How far it has come: which model, and of searches the generation and the best fitness."""
        return Standing(detail=self._progress())

    def _progress(self) -> str:
        model = self._model.name if self._model else ""
        if not self._active:
            return f"{model}: {self._made} of {self._settings.variants} variants"
        run = max(self._active, key=lambda item: item.search.generation)
        search = run.search
        where = f"{model}: {run.goal} by {search.level}, generation {search.generation} of {run.generations}"
        return f"{where}, best fitness {search.best:.3g}, {len(self._pending) + len(self._active)} searches left"

    def tables(self) -> Mapping[str, Json]:
        return self.tally.to_json()
