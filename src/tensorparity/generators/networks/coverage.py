"""What has been used, and what to use next: fitness-proportionate selection, steered by what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.case import Case
from ...core.jsontext import Json, canonical
from ...core.policies import PLAIN
from ...operators.catalogue import layer
from ...operators.spec import LayerSpec, Parameter

_NEW_PAIR = 1.5
_FITS = 4.0
#: A parameter that has a default keeps it with this chance once all its values have been used.
_KEEP_DEFAULT = 0.5
#: So often one layer has other values than the defaults of parameters that are rare, of how many of them at once; and
#: so often while some of these values are still unused.
_RARELY, _AT_ONCE, _WANTED = 0.05, 2, 0.3


@dataclass(frozen=True, slots=True)
class Use:
    """One layer in one network: its values, and itself behind each layer that it follows."""

    layer: str
    entries: tuple[tuple[str, str, str], ...]
    pairs: tuple[tuple[str, str], ...]


class NetworkCoverage:
    """Counts of layers, of (layer, parameter, value) entries and of pairs of adjacent layers, reshaping aside.

    A generator's own one counts what was generated, which steers. What was run is told to another one.

    Args:
        names: the layers that may be chosen.
        steered: beyond the paper's 1 / (c + 1), prefer layers with unused values and unseen neighbours.
        policies: the dtype policies that networks may have.
    """

    def __init__(self, names: Sequence[str], *, steered: bool = True, policies: Sequence[str] = (PLAIN.name,)) -> None:
        self.names = tuple(names)
        self._policies = tuple(policies)
        self._steered = steered
        self.layers: Counter[str] = Counter()
        self.entries: Counter[tuple[str, str, str]] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.policies: Counter[str] = Counter()
        #: Networks of edges, and by style and layer how often they had it: what else it is used in says nothing there.
        self.edge_networks = 0
        self.edges: Counter[tuple[str, str]] = Counter()
        self._declared = {name: declared_entries(layer(name)) for name in self.names}
        self._missing = {name: set(entries) for name, entries in self._declared.items()}

    def choose_layer(
        self, rng: np.random.Generator, candidates: Sequence[str], before: Sequence[str], rank: int | None = None
    ) -> str:
        """Equation 1: the chance of a layer is its score over the sum of the scores in its category.

        Args:
            before: the layers it would follow.
            rank: of what it would be given; layers that take it need no reshaping.
        """
        scores = np.array([self._score(name, before) * self._fitness(name, rank) for name in candidates])
        return candidates[int(rng.choice(len(candidates), p=scores / scores.sum()))]

    def choose_edge(self, rng: np.random.Generator, candidates: Sequence[str], style: str) -> str:
        """A layer for values of a style, those first that have had the fewest."""
        scores = np.array([1.0 / (self.edges[style, name] + 1) ** 2 for name in candidates])
        return candidates[int(rng.choice(len(candidates), p=scores / scores.sum()))]

    def _fitness(self, name: str, rank: int | None) -> float:
        return _FITS if self._steered and rank in layer(name).ranks else 1.0

    def _score(self, name: str, before: Sequence[str]) -> float:
        score = 1.0 / (self.layers[name] + 1)
        if not self._steered:
            return score
        declared = self._declared[name]
        missing = len(self._missing[name])
        score *= 1.0 + missing / max(1, len(declared)) + min(missing, 30) / 10.0
        return score * (_NEW_PAIR if any((other, name) not in self.pairs for other in before) else 1.0)

    def choose_params(
        self, rng: np.random.Generator, spec: LayerSpec, parameters: Sequence[Parameter]
    ) -> dict[str, Json]:
        """A value for each parameter: what was used least is most likely."""
        found = self._choose_rare(rng, spec, [parameter for parameter in parameters if parameter.rare])
        for parameter in parameters:
            if parameter.rare:
                continue
            counts = np.array([self.entries[entry_of(spec.name, parameter.name, value)] for value in parameter.valid])
            keep = not parameter.required and rng.random() < _KEEP_DEFAULT
            if keep and (not self._steered or counts.all() or rng.random() < _KEEP_DEFAULT):
                continue
            weights = 1.0 / (counts + 1.0) ** (2 if self._steered else 0)
            found[parameter.name] = parameter.valid[int(rng.choice(len(counts), p=weights / weights.sum()))]
        return found

    def _choose_rare(
        self, rng: np.random.Generator, spec: LayerSpec, parameters: Sequence[Parameter]
    ) -> dict[str, Json]:
        """Values of a few parameters of a few layers: they must not be in the way of all others."""
        counts = {
            (parameter.name, index): self.entries[entry_of(spec.name, parameter.name, value)]
            for parameter in parameters
            for index, value in enumerate(parameter.valid)
            if value != parameter.default
        }
        wanted = self._steered and not all(counts.values())
        if not counts or rng.random() >= (_WANTED if wanted else _RARELY):
            return {}
        least = sorted(counts, key=lambda entry: (counts[entry], rng.random()))
        drawn = dict(reversed(least[:_AT_ONCE]))  # of one parameter twice, the value that was used less
        values = {parameter.name: parameter.valid for parameter in parameters}
        return {name: values[name][index] for name, index in drawn.items()}

    def use(self, spec: LayerSpec, params: Mapping[str, Json], before: Sequence[str]) -> Use:
        """Count a layer that made it into a network."""
        complete = spec.complete(params)
        names = [parameter.name for parameter in (*spec.parameters, *spec.call_parameters)]
        entries = tuple(entry_of(spec.name, name, complete[name]) for name in names)
        use = Use(spec.name, entries, tuple((other, spec.name) for other in before))
        self.add([use])
        return use

    def add(self, uses: Iterable[Use]) -> None:
        """Count the layers of a network: its ``uses``."""
        for use in uses:
            self.layers[use.layer] += 1
            self.entries.update(use.entries)
            self._missing.get(use.layer, set()).difference_update(use.entries)
            self.pairs.update(use.pairs)

    def use_network(self, case: Case) -> None:
        """Count what a network is as a whole."""
        self.policies[case.procedure.dtype or PLAIN.name] += 1

    def to_json(self) -> dict[str, Json]:
        declared = [entry for entries in self._declared.values() for entry in entries]
        used = sum(entry in self.entries for entry in declared)
        return {
            "layers": {"used": sum(name in self.layers for name in self.names), "declared": len(self.names)},
            "values": {"used": used, "declared": len(declared)},
            "pairs": {"used": self._pairs_used(), "declared": len(self.names) ** 2},
            "policies": {
                "used": len(self.policies),
                "declared": len(self._policies),
                "networks": {name: self.policies[name] for name in self._policies},
            },
        }

    def _pairs_used(self) -> int:
        """Of layers that may be chosen: an input, and layers that only fit others to each other, are none."""
        chosen = set(self.names)
        return sum(first in chosen and second in chosen for first, second in self.pairs)

    def missing(self) -> list[tuple[str, str, str]]:
        """Declared entries that no network has."""
        return [entry for entries in self._declared.values() for entry in entries if entry not in self.entries]


#: Values by how Python writes them: the same few are asked for again and again.
_CANONICAL: dict[str, str] = {}


def entry_of(name: str, parameter: str, value: Json) -> tuple[str, str, str]:
    written = repr(value)
    if written not in _CANONICAL:
        _CANONICAL[written] = canonical(value)
    return name, parameter, _CANONICAL[written]


def declared_entries(spec: LayerSpec) -> list[tuple[str, str, str]]:
    """Every valid value of every parameter of a layer."""
    return [
        entry_of(spec.name, parameter.name, value)
        for parameter in (*spec.parameters, *spec.call_parameters)
        for value in parameter.valid
    ]
