"""Localizers: rules that accuse layers of a model that ran on two targets, behind one interface.

CRADLE's introduction rate, Muffin's predecessor rule and the isolated replay look at one scene; each names the places
it accuses, the most suspicious first: a layer and, where a rule can tell, the parameter of it. The replay is the one
that diagnoses; the papers' rules stand beside it, so that a reader sees what each would have said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...core.comparison import LayerDeviation
from ...core.graph import LayerGraph
from ...core.outcome import Outcome
from ...core.place import Place
from ...operators.reference.rounding import K
from ..muffin import inconsistencies


@dataclass(frozen=True)
class LocalizedPair:
    """What there is to judge by: two traced runs of one model on the same input.

    Args:
        layers: the localization map of the pair, isolated errors included where they were measured.
        limits: by node key, the isolated error that rounding explains, where that is not K.
        loss: the catalogue's name of the loss, where the runs had one.
    """

    graph: LayerGraph
    a: Outcome
    b: Outcome
    layers: tuple[LayerDeviation, ...]
    limits: Mapping[str, float] = field(default_factory=dict)
    loss: str = ""


Localizer = Callable[[LocalizedPair], list[Place]]


def by_replay(scene: LocalizedPair) -> list[Place]:
    """Wrong alone, on identical inputs: beyond what rounding explains, the furthest first."""
    errors = {layer.key: layer.isolated_error for layer in scene.layers if layer.isolated_error is not None}
    accused = [key for key, error in errors.items() if not error <= scene.limits.get(key, K)]
    return [Place(key) for key in sorted(accused, key=lambda key: -errors[key])]


def by_rate(scene: LocalizedPair) -> list[Place]:
    """CRADLE: an introduction rate strictly above the third quartile, the highest first."""
    ordered = sorted(scene.layers, key=lambda item: -(item.rate or 0.0))
    return [Place(layer.key) for layer in ordered if layer.highlighted]


def by_predecessors(scene: LocalizedPair) -> list[Place]:
    """Muffin: parts by more than t while all before it (backward: all behind it) agree; in the order of the graph."""
    found = inconsistencies(scene.graph, scene.loss, scene.a, scene.b)
    return [Place(key) for key in dict.fromkeys(item.node or item.layer for item in found)]


#: What ``localize`` looks with, by the name that users give: the replay, and an oracle that runs things of its own.
BESIDE_THE_REPLAY: Mapping[str, str] = {"replay": "", "audee": "causal"}

#: By name, the one that diagnoses first. Audee's rule runs things of its own, and so is an oracle.
LOCALIZERS: Mapping[str, Localizer] = {"replay": by_replay, "cradle": by_rate, "muffin": by_predecessors}


def accusations(scene: LocalizedPair) -> dict[str, tuple[Place, ...]]:
    """What every rule says."""
    return {name: tuple(localizer(scene)) for name, localizer in LOCALIZERS.items()}
