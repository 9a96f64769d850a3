"""The kinds of single cases, and a few of each for every round of networks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...core.case import Case
from ...core.engine import Ask, Result
from ..equivalences.exported_models import export_cases
from .functions import function_cases
from .initializers import initializer_cases
from .invalid import invalid_cases
from .losses import loss_cases
from .metrics import metric_cases
from .reloads import reload_cases
from .subgradients import pulled_back_cases
from .weighed_losses import weighed_loss_cases

#: From the seed and the layers of the networks, of which there are none by default.
Begin = Callable[[int, Sequence[str]], Iterator[Case]]


@dataclass(frozen=True)
class Stream:
    """One kind of single cases.

    Args:
        begin: all of them, in the order in which they are run; where they end, rounds have none.
        per_round: how many of them go with a round of networks.
        counted_as: what a report calls how many there were.
        oracle: who judges them, where that does not follow from the case.
    """

    begin: Begin
    per_round: int
    counted_as: str
    oracle: str = ""


#: By what ``--stages`` calls them.
STREAMS: Mapping[str, Stream] = {
    "losses": Stream(lambda seed, layers: loss_cases(seed), 4, "loss_cases"),
    "weights": Stream(lambda seed, layers: weighed_loss_cases(seed), 2, "weighed_loss_cases"),
    "metrics": Stream(lambda seed, layers: metric_cases(seed), 2, "metric_cases"),
    "functions": Stream(lambda seed, layers: function_cases(seed), 4, "function_cases"),
    "reloads": Stream(reload_cases, 1, "reload_cases"),
    "exports": Stream(export_cases, 1, "export_cases"),
    "kinks": Stream(pulled_back_cases, 4, "kink_cases"),
    "initializers": Stream(lambda seed, layers: initializer_cases(seed), 2, "initializer_cases", "drawn"),
}
#: With any of these, what documentation rules out is tried as well.
INVALID = Stream(lambda seed, layers: invalid_cases(seed), 4, "invalid_cases")


class SingleCases:
    """A few cases of every chosen kind, round after round.

    Args:
        kinds: names of ``STREAMS``.
        layers: those of the networks; by default all.
    """

    def __init__(self, seed: int, kinds: Sequence[str], layers: Sequence[str] = ()) -> None:
        chosen = [*(STREAMS[kind] for kind in kinds), *([INVALID] if kinds else [])]
        self._streams = [(stream, stream.begin(seed, layers)) for stream in chosen]
        self._counts = {stream.counted_as: 0 for stream in STREAMS.values()}
        #: By digest, what those that were asked and not yet told are counted as.
        self._asked: dict[str, str] = {}

    def round(self) -> list[Ask]:
        """The next few of every kind."""
        found: list[Ask] = []
        for stream, cases in self._streams:
            drawn = list(itertools.islice(cases, stream.per_round))
            if stream is not INVALID:
                self._asked |= {case.digest: stream.counted_as for case in drawn}
            found += [Ask(case, oracles=(stream.oracle,) if stream.oracle else (), counted=False) for case in drawn]
        return found

    def tell(self, results: Sequence[Result]) -> None:
        """Count those that were run: rounds are asked ahead, and a budget may end before them."""
        for kind in (self._asked.pop(result.digest, "") for result in results):
            if kind:
                self._counts[kind] += 1

    def counts(self) -> dict[str, int]:
        """How many of each kind were run, as a report calls them."""
        return dict(self._counts)
