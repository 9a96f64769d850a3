"""Functions, losses, metrics and layers of Keras as single calls, for every backend of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...core.case import Case
from ..api_inputs import ApiInputs

#: What has weights draws them on each backend in its own way, so only what has none is the same call everywhere.
_PLACES = ("keras.ops.", "keras.activations.", "keras.losses.", "keras.metrics.", "keras.utils.")
_PER_TURN = 2


def backend_cases(
    inputs: ApiInputs, seed: int, shipped: Mapping[str, Sequence[Case]] | None = None
) -> Iterator[tuple[str, Case]]:
    """Calls with the name of the function to learn for, round after round over all of them, without end.

    What a target said of a call goes back by ``inputs.learn``; functions are taken in an order drawn by seed.
    """
    names = [name for name in sorted(inputs.listing.apis) if name.startswith(_PLACES)]
    order = [names[place] for place in np.random.default_rng(seed).permutation(len(names))]
    yield from ((name, case) for name in order for case in (shipped or {}).get(name, ()))
    empty = not order
    while not empty:
        empty = True
        for name in order:
            for case in inputs.configurations(name, _PER_TURN):
                empty = False
                yield name, case
