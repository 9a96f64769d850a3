"""What a case left open, and why: a lack of support is no open question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..core.outcome import Status
from ..core.verdict import Judgement, Verdict


@dataclass(frozen=True)
class OpenQuestions:
    """The reasons of one case, each once, however many pairs give it.

    Args:
        unsupported: those of pairs of which a target lacks something, by its own word.
    """

    undecided: frozenset[str]
    unsupported: frozenset[str]


def open_questions(verdicts: Iterable[Verdict], statuses: Mapping[str, Status]) -> OpenQuestions:
    lacking = {target for target, status in statuses.items() if status is Status.UNSUPPORTED}
    left = [verdict for verdict in verdicts if verdict.judgement is Judgement.UNDECIDED]
    return OpenQuestions(
        frozenset(verdict.reason for verdict in left if not lacking & set(verdict.targets)),
        frozenset(verdict.reason for verdict in left if lacking & set(verdict.targets)),
    )
