"""What has been used, and what to use next: fitness-proportionate selection, steered by what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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


class Coverage:
    """Counts of layers, of (layer, parameter, value) entries and of pairs of adjacent layers.

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
        found: dict[str, Json] = {}
        for parameter in parameters:
            counts = np.array([self.entries[entry_of(spec.name, parameter.name, value)] for value in parameter.valid])
            keep = not parameter.required and rng.random() < _KEEP_DEFAULT
            if keep and (not self._steered or counts.all() or rng.random() < _KEEP_DEFAULT):
                continue
            weights = 1.0 / (counts + 1.0) ** (2 if self._steered else 0)
            found[parameter.name] = parameter.valid[int(rng.choice(len(counts), p=weights / weights.sum()))]
        return found

    def use(self, spec: LayerSpec, params: Mapping[str, Json], before: Sequence[str]) -> None:
        """Count a layer that made it into a network."""
        self.layers[spec.name] += 1
        complete = spec.complete(params)
        for parameter in (*spec.parameters, *spec.call_parameters):
            entry = entry_of(spec.name, parameter.name, complete[parameter.name])
            self.entries[entry] += 1
            self._missing.get(spec.name, set()).discard(entry)
        for other in before:
            self.pairs[other, spec.name] += 1

    def use_network(self, case: Case) -> None:
        """Count what a network is as a whole."""
        self.policies[case.procedure.dtype or PLAIN.name] += 1

    def to_json(self) -> dict[str, Json]:
        declared = [entry for entries in self._declared.values() for entry in entries]
        used = sum(entry in self.entries for entry in declared)
        return {
            "layers": {"used": sum(name in self.layers for name in self.names), "declared": len(self.names)},
            "values": {"used": used, "declared": len(declared)},
            "pairs": {"used": len(self.pairs), "declared": len(self.names) ** 2},
            "policies": {
                "used": len(self.policies),
                "declared": len(self._policies),
                "networks": {name: self.policies[name] for name in self._policies},
            },
        }

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
