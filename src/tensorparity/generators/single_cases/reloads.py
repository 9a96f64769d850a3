"""Layers saved and loaded again: all of the catalogue's in turn.

A configuration that loses a setting shows in no network, which is run as it was built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...core.case import Case
from ...core.policies import PLAIN
from ...core.procedure import Goal, Mode
from ...operators.catalogue import layer_names
from ..networks.networks import NetworkGenerator, NetworkSettings

#: Networks of one layer that are drawn for one that has it; shapes may come out that it does not take.
_ATTEMPTS = 12


def reload_cases(seed: int, layers: Sequence[str] = ()) -> Iterator[Case]:
    """All layers in turn, again and again with other values; the n-th case depends on seed, layers and n alone.

    A layer that does not come out in a few networks misses its turn.
    """
    for _, case in networks_of_one(seed, layers):
        yield replace(case, procedure=replace(case.procedure, reload=True, mode=Mode.EAGER))


def networks_of_one(seed: int, layers: Sequence[str] = ()) -> Iterator[tuple[str, Case]]:
    """All layers in turn, again and again, each in a network of its own in inference."""
    names = layers or tuple(layer_names())
    generators = {name: NetworkGenerator(seed, _settings(name)) for name in names}
    while True:
        for name, generator in generators.items():
            drawn = (generator.next() for _ in range(_ATTEMPTS))
            case = next((network.case for network in drawn if name in network.layers), None)
            if case is not None:
                yield name, case


def _settings(name: str) -> NetworkSettings:
    return NetworkSettings(layers=(name,), unit=True, policies=(PLAIN.name,), goal=Goal.FORWARD, training=False)
