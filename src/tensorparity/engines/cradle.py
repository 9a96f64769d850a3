"""CRADLE: models across targets, judged by whole outputs and then by their layers.

In a campaign the models are the zoo's with calibrated weights, so that it trains nothing and needs no network; they
are gone through one by one, what is quick first, so that a budget can end it after any of them. ``compare`` is the
same technique on one model of the user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.engine import Ask, Result
from ..core.jsontext import Json
from ..core.oracle import Setup
from ..core.outcome import Status
from ..oracles.measure.patterns import UniqueInconsistencies
from ..zoo.entries import ARCHITECTURES, ZOO
from ..zoo.weights import calibrated_weights, sample_inputs

_INSTANCES = 8
#: Who judges whole models, unless the user chose somebody else.
_ORACLE = "parity"


class CradleEngine:
    """One case is one architecture of the zoo with weights and inputs of its own seed, ``instances`` of them."""

    settings: ClassVar[tuple[str, ...]] = ("instances",)
    defaults: ClassVar[Mapping[str, object]] = {"instances": _INSTANCES}

    name = "cradle"
    #: A model is on its way while another is judged.
    ahead = 1

    def __init__(self, setup: Setup) -> None:
        self._seed = setup.seed
        self._asked = 0
        self._unique = UniqueInconsistencies()
        self._instances = int(setup.settings.get("instances", _INSTANCES))

    def ask(self) -> Sequence[Ask]:
        names = list(ARCHITECTURES)
        case = self._case(names[self._asked % len(names)], self._asked)
        self._asked += 1
        return [Ask(case, oracles=(_ORACLE,))]

    def tell(self, results: Sequence[Result]) -> None:
        """The zoo is gone through in order, whatever was found; inconsistent pairs are counted."""
        for result in results:
            self._unique.add(result.facts.get("inconsistent", ()))

    def tables(self) -> Mapping[str, Json]:
        """Table II: by pair of targets, how many inconsistencies there are, and how many of them are unique."""
        return self._unique.tables()

    def _case(self, name: str, index: int) -> Case:
        graph = ARCHITECTURES[name]()
        rng = np.random.default_rng([self._seed, 0xC7AD1E, index])
        inputs = sample_inputs(graph, rng, self._instances)
        seed = int(rng.integers(2**31))
        weights = calibrated_weights(graph, seed)
        return Case(graph, inputs=inputs, labels=self._labels(name, rng), weights=weights, seed=seed)

    def _labels(self, name: str, rng: np.random.Generator) -> dict[str, Array]:
        """Values for a regression, drawn like the inputs. Of a classifier that was not trained any label is as good as
        another, and says less than what the first target answers: that stands for it, and the oracle says so.
        """
        return {} if ZOO[name].classifies else {"": rng.standard_normal((self._instances, 1)).astype(np.float32)}


#: Judges a training.
_TRAINING = "training_drift"


class OneModel:
    """One model of the user's: first as it is, then trained, where that is wanted and anything came of the first.

    Args:
        asked: the model on the user's instances.
        training: the same model, trained; labels that have no name belong to its only output.
        name: the engine's, where somebody else than ``compare`` uses the technique.
    """

    ahead = 0

    def __init__(self, asked: Ask, training: Ask | None = None, name: str = "cradle") -> None:
        self.name = name
        self._rounds = [asked] if training is None else [asked, training]
        self._outputs: list[str] = []
        self._unique = UniqueInconsistencies()
        self._study: list[Json] = []

    def ask(self) -> Sequence[Ask]:
        return [_with_named_labels(self._rounds.pop(0), self._outputs)] if self._rounds else []

    def tell(self, results: Sequence[Result]) -> None:
        """Keep what the outputs are called, and group what is inconsistent; what nobody completes is not trained."""
        for result in results:
            self._outputs = list(result.facts.get("outputs", ()))
            if Status.COMPLETED not in result.endings.values():
                self._rounds.clear()
            self._unique.add(result.facts.get("inconsistent", ()))
            self._study += result.facts.get("threshold_study", ())

    def tables(self) -> Mapping[str, Json]:
        """Table II of one model, and what other thresholds would report, where somebody wants to know."""
        found: dict[str, Json] = {"unique_inconsistencies": [], **self._unique.tables()}
        return {**found, "threshold_study": self._study} if self._study else found


def ask_for_training(case: Case, targets: Sequence[str]) -> Ask:
    """A training, compared step by step."""
    return Ask(case, tuple(targets), (_TRAINING,))


def _with_named_labels(ask: Ask, outputs: Sequence[str]) -> Ask:
    """Labels without a name belong to the only output, once it is known what that is called."""
    if len(outputs) != 1 or "" not in ask.case.labels:
        return ask
    return replace(ask, case=replace(ask.case, labels={outputs[0]: ask.case.labels[""]}))
