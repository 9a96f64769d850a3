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
from ...generators.search.genetic import SearchSettings
from ...oracles.invalid_value import INVALID_VALUE
from .planning import Plan, Sound
from .searches import SearchRun
from .seeds import SeedModel, zoo_seeds
from .settings import DATA, SETTING_NAMES, AudeeSettings
from .tables import AudeeTally

#: Who judges a whole network, unless the user chose somebody else; and who counts for the tables.
_ORACLE, _COUNTS = "parity", "audee_measures"
_ROUND = 8
#: Searches side by side: as many as workers keep programs of.
_AT_ONCE = 4
_VARIANT = 0x11


@dataclass(frozen=True)
class _Asked:
    """What a case of a round is: a variant, a generation of a search, or an individual that failed in one."""

    variant: Variant | None = None
    run: SearchRun | None = None
    individual: bool = False


class AudeeEngine:
    """Mutates and searches seed models, by default those of the zoo, one after another without end."""

    name = "audee"
    settings: ClassVar[tuple[str, ...]] = SETTING_NAMES
    defaults: ClassVar[Mapping[str, object]] = defaults_of(AudeeSettings, SearchSettings)
    #: A search has to be told of a generation before it can make the next.
    ahead = 0

    def __init__(self, setup: Setup, seeds: Iterable[SeedModel] | None = None) -> None:
        # a hunt is for findings, which nobody makes of numbers that nobody has
        usual = {} if seeds is not None else {"within": DATA}
        self._settings = AudeeSettings.from_mapping({**usual, **setup.settings})
        if seeds is None and self._settings.watch:
            raise UsageError("audee's fitness layer is one of a seed model, and a hunt has many: use mutate")
        self._seed = setup.seed
        self._plan = Plan(self._settings, setup.seed, setup.targets, setup.traits)
        self._models: Iterator[SeedModel] = iter(zoo_seeds(setup.seed) if seeds is None else seeds)
        self._model: SeedModel | None = None
        self._place = -1
        self._left = 0
        self._made = 0
        self._sound: list[Sound] = []
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
        pairs = {pair for pair in itertools.combinations(done, 2) if pair not in found.pairs}
        targets = set(done) - found.nan
        self._sound.append(Sound(variant, pairs if not found.nan else set(), targets))

    def _plan_searches(self) -> None:
        """Choose variants that did not fail, by seed, for every pair and every target."""
        sound, self._sound = self._sound, []
        assert self._model is not None
        self._pending.extend(self._plan.searches(self._model, sound, self._place, len(self.tally.curves)))

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
        return {**self.tally.to_json(), "weightless": list(self._plan.weightless)}
