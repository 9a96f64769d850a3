"""What ``compare`` was asked for besides outputs, and gave no answer to, or not the one that was hoped for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..core.self_agreement import SelfAgreement
from ..core.severity import DIGITS
from ..reporting import words


def unanswered(
    training: bool | None, itself: Iterable[SelfAgreement] | None, searched: Iterable[int] | None
) -> tuple[str, ...]:
    """Clauses for the headline, which never says "the same" beside one.

    Args:
        training: whether the model was trained; None where nobody asked, as below.
        itself: every target beside itself.
        searched: by pair of targets, how many inputs the search of ``--stress`` looked at.
    """
    found: list[str] = []
    if training is False:
        found.append(words.not_trained())
    if itself is not None:
        found += _beside_itself(tuple(itself))
    if searched is not None:
        found += _stressed(tuple(searched))
    return tuple(found)


def _beside_itself(found: tuple[SelfAgreement, ...]) -> Iterator[str]:
    if not found:
        yield words.not_beside_itself()
    for target in dict.fromkeys(item.target for item in found):
        own = [item for item in found if item.target == target]
        silent = [item.way for item in own if item.problem]
        if silent:
            yield words.silent_beside_itself(target, silent)
        changed = [item for item in own if item.labels_changed]
        if changed:
            yield words.changes_own_labels(target, [(item.way, item.labels_changed or 0) for item in changed])
        apart = [item for item in own if item not in changed and item.max_rel is not None and not item.max_rel < DIGITS]
        if apart:
            yield words.differs_from_itself(target, [(item.way, item.max_rel or 0.0) for item in apart])


def _stressed(evaluations: tuple[int, ...]) -> Iterator[str]:
    missed = sum(not amount for amount in evaluations)
    if missed or not evaluations:
        yield words.not_searched(missed, len(evaluations))
