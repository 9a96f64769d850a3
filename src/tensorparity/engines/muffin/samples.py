"""Real samples of the paper's data sets, where they can be had."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import UsageError
from ...generators.networks.palettes import Samples
from ...zoo.datasets import DATASETS

#: The zoo's name of each of the paper's data sets that can be had without a network.
_IN_THE_ZOO = {
    "mnist": "mnist",
    "fashion-mnist": "fashion-mnist",
    "cifar10": "cifar10",
    "sine-wave": "sine",
    "stock-price": "google-price",
}


def samples_of(names: Sequence[str]) -> tuple[dict[str, Samples], dict[str, str]]:
    """The samples of these data sets, and in words where they are from, or why there are none."""
    found: dict[str, Samples] = {}
    said: dict[str, str] = {}
    for name in names:
        source = DATASETS.get(_IN_THE_ZOO.get(name, ""))
        if source is None:
            said[name] = "by shape alone"
            continue
        try:
            part = source.load().validation
        except UsageError as error:
            said[name] = f"by shape alone: {error}"
            continue
        found[name] = Samples(next(iter(part.inputs.values())), part.labels)
        said[name] = source.origin
    return found, said
