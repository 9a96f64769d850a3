"""Cases on their way to workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.errors import WorkerStartError
from ..core.outcome import Outcome
from .pool import Pool
from .replies import outcome_of
from .requests import Request


def nobody(outcome: Outcome) -> None:
    """Nobody asked to be told."""


class BegunCases:
    """A batch of cases that a pool is running.

    Args:
        prepared: requests, or outcomes that need no worker.
        broken: where targets whose worker cannot be started are noted.
    """

    def __init__(
        self,
        pool: Pool,
        prepared: Sequence[Request | Outcome],
        broken: dict[str, WorkerStartError],
        *,
        background: bool = False,
    ) -> None:
        self._pool = pool
        self._prepared = list(prepared)
        self._broken = broken
        self._positions = [i for i, item in enumerate(prepared) if isinstance(item, Request)]
        self._batch = pool.post([item for item in prepared if isinstance(item, Request)], background=background)

    def outcomes(self, tell: Callable[[Outcome], None] = nobody) -> list[Outcome]:
        """Wait for all of them; in the order of the cases, however they finish."""
        answers = {i: item for i, item in enumerate(self._prepared) if isinstance(item, Outcome)}
        try:
            for index, reply in self._batch:
                position = self._positions[index]
                request = self._prepared[position]
                assert isinstance(request, Request)
                if reply.error:
                    self._broken[request.target] = reply.error
                else:
                    self._broken.pop(request.target, None)  # it did not start once, and does now
                outcome = answers[position] = outcome_of(request.target, reply)
                tell(outcome)
        except BaseException:  # the caller goes away (Ctrl-C): busy workers would answer nobody
            self.cancel()
            raise
        return [answers[position] for position in range(len(self._prepared))]

    @property
    def ended(self) -> int:
        """How many have been answered that nobody has looked at yet."""
        return self._batch.ready

    def cancel(self) -> None:
        """Nobody will ask for the outcomes."""
        self._pool.cancel(self._batch)
