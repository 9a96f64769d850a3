"""Every target beside itself: in other batch sizes, and run again. Measured, not judged.

A difference between two targets says little where each differs as much from itself: kernels are chosen by the size of
the batch, and sums are split among threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from ..core.case import Case
from ..core.messages import gist
from ..core.oracle import Answer, Check, Judged, Seen
from ..core.outcome import Outcome
from ..core.self_agreement import SelfAgreement
from .base import Steps, Stepwise
from .pair import compare_outcomes, judge_parity


class WithItself(Stepwise):
    """Settings: ``batch_sizes`` and ``repeat``, how often the model is run in all."""

    settings: ClassVar[tuple[str, ...]] = ("batch_sizes", "repeat")

    def steps(self, seen: Seen) -> Steps:
        ways = dict(_ways(seen.case, self._sizes, int(self.setup.settings.get("repeat", 1))))
        done = tuple(seen.completed)
        if not ways or not done:
            return Judged()
        answers = yield [Check(case, done) for case in ways.values()]
        found = [
            agreement
            for way, answer in zip(ways, answers, strict=True)
            for agreement in _agreements(way, answer, seen.completed)
        ]
        return Judged(facts={"with_itself": sorted(found, key=lambda item: done.index(item.target))})

    @property
    def _sizes(self) -> Sequence[int]:
        return tuple(self.setup.settings.get("batch_sizes", ()))


def _ways(case: Case, sizes: Sequence[int], repeat: int) -> Iterator[tuple[str, Case]]:
    for size in dict.fromkeys(sizes):
        yield f"batch size {size}", replace(case, procedure=replace(case.procedure, batch_size=size))
    for count in range(1, repeat):
        # another seed makes it another case, which no cache answers; a model that draws nothing takes no notice
        yield f"run {count + 1}", replace(case, seed=case.seed + count)


def _agreements(way: str, answer: Answer, first: dict[str, Outcome]) -> Iterator[SelfAgreement]:
    for target, again in answer.outcomes.items():
        if not again.completed:
            problem = gist(again.failure.message) if again.failure else again.status.value
            yield SelfAgreement(target, way, problem=problem)
            continue
        pairs = compare_outcomes(first[target], again, {}, judge_parity)
        known = [pair for pair in pairs if pair.max_abs is not None]
        changed = [pair.labels_changed for pair in pairs if pair.labels_changed is not None]
        yield SelfAgreement(
            target,
            way,
            max((pair.max_abs or 0.0 for pair in known), default=None),
            max((pair.max_rel or 0.0 for pair in known), default=None),
            max(changed, default=None),
            "" if known else "nothing could be compared",
        )
