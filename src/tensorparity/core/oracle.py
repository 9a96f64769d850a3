"""The form of an oracle: outcomes in; verdicts, suspicions and checks out.

An oracle is pure. What has to be run before it can say more it asks for as *checks*: further cases with their targets
and the oracle that judges them. The examiner runs them and calls ``judge`` again with the answers, until none is asked
for any more; the last call's verdicts and suspicions count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .case import Case
from .comparison import Comparison
from .finding import Class
from .jsontext import Json
from .outcome import Outcome
from .signature import Key, same_key
from .suspicion import Suspicion
from .traits import Traits
from .verdict import Judgement, Verdict

#: The oracle that judges nothing: a check by it only wants the outcomes.
OUTCOMES = "outcomes"

#: name -> target (or ``a|b`` of a pair) -> a number per input row.
Measures = Mapping[str, Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class Setup:
    """What an engine or an oracle is made with.

    Args:
        settings: its section of ``tensorparity.toml`` (``[engine.NAME]``, ``[oracle.NAME]``), and what
            ``--set NAME.key=value`` says; part of a campaign's identity.
    """

    seed: int = 0
    targets: tuple[str, ...] = ()
    traits: Traits = field(default_factory=Traits)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A further case that has to be run before an oracle can say more.

    Args:
        oracle: who judges it, by name; ``OUTCOMES`` where only the outcomes are wanted.
        key: what a conviction by it is known by. A key that was convicted often enough is not run again: the longer the
            key, the closer two defects of one key are (the last part tells apart what the rest has in common).
        deadline: multiplies the deadline of a case.
    """

    case: Case
    targets: tuple[str, ...]
    oracle: str = OUTCOMES
    key: tuple[str, ...] = ()
    deadline: float = 1.0

    def __post_init__(self) -> None:
        """A plug-in may give lists; checks are compared, and their keys counted."""
        object.__setattr__(self, "targets", tuple(self.targets))
        object.__setattr__(self, "key", tuple(self.key))


@dataclass(frozen=True)
class Judged:
    """What an oracle says of one case.

    Args:
        verdicts: for every pair of targets, or for the whole.
        suspicions: diagnosed differences, not confirmed yet.
        checks: what must be run before more can be said; with any of these the rest is provisional.
        measures: numbers for whoever searches, by name, target and input row.
        comparisons: pairs of outputs with their maps of layers.
        memo: saves work when ``judge`` is called again, and changes nothing.
        notes: what a reader should know of how it was judged.
        told: what else the engine is told, as JSON: what its tables are made of.
        facts: what else the command's report is made of, by name; no engine is told of it.
    """

    verdicts: tuple[Verdict, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    checks: tuple[Check, ...] = ()
    measures: Measures = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()
    memo: Any = None
    notes: tuple[str, ...] = ()
    told: Mapping[str, Json] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def undecided(self) -> str:
        """Why nobody can tell; empty where somebody can, or all is well."""
        left = (verdict.reason for verdict in self.verdicts if verdict.judgement is Judgement.UNDECIDED)
        return next(left, "")

    def of_key(self, key: Key, klass: Class = Class.DEFECT) -> Suspicion | None:
        """The suspicion of this class that a key names, if there is one."""
        of_class = (s for s in self.suspicions if s.diagnosis.klass is klass)
        return next((s for s in of_class if same_key(key, s.key)), None)


@dataclass(frozen=True)
class Answer:
    """What came of a check; ``judged`` is None where it was skipped, because its key was known.

    Args:
        ran: by target, the case that it was really given.
    """

    check: Check
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    judged: Judged | None = None
    ran: Mapping[str, Case] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What an oracle judges.

    Args:
        outcomes: one mapping by target for each side of the case (an equivalence has two).
        ran: likewise, the case that each target was really given.
        answers: to all checks that were asked for so far, in their order.
        claim: the key of a suspicion, when it is confirmed or replayed; reduction asks without one, so that what
            it ends with convicts by itself.
    """

    case: Case
    outcomes: tuple[Mapping[str, Outcome], ...]
    ran: tuple[Mapping[str, Case], ...] = ()
    traits: Traits = field(default_factory=Traits)
    answers: tuple[Answer, ...] = ()
    claim: Key | None = None
    memo: Any = None

    @property
    def own(self) -> Mapping[str, Outcome]:
        """The outcomes of the case's first side; of most cases, all there are."""
        return self.outcomes[0]

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.outcomes[0])

    @property
    def completed(self) -> dict[str, Outcome]:
        return {target: outcome for target, outcome in self.own.items() if outcome.completed}


@dataclass(frozen=True)
class JudgingTime:
    """Seconds that judging one case took, for reports; oracles have no clock.

    Args:
        first: the first look at the outcomes.
        checks: running what was asked for, and judging with the answers.
    """

    first: float = 0.0
    checks: float = 0.0

    @property
    def total(self) -> float:
        return self.first + self.checks

    def plus(self, seconds: float, *, is_first: bool) -> JudgingTime:
        return JudgingTime(self.first + seconds * is_first, self.checks + seconds * (not is_first))


class Oracle(Protocol):
    """Made by a factory ``(setup: Setup) -> Oracle``; pure: it runs nothing, reads no clock and remembers nothing.

    What it answers depends on what it was made with and on what it is given. ``Judged.memo`` saves work and changes
    nothing.
    """

    def judge(self, seen: Seen) -> Judged:
        """What is to be said of a case, or what has to be run first; an answer for every case."""
        ...


class OracleFactory(Protocol):
    """What is registered under an oracle's name; in most cases its class.

    Beside being called it may say what the oracle is for, by attributes that may be left out:

    ``role``
        what it judges, where others can judge that in its place (``whole models``, ``training steps``). Whoever a user
        chooses decides wherever an engine named an oracle of the same role; one without a role, or with an empty one,
        is chosen for everything.
    ``only_measures``
        True where it tells a search what it has to know and decides nothing that others could decide: whoever a user
        chooses does not take its place.
    ``of_networks``
        True where it convicts in whole networks, of which witnesses of single layers know nothing.
    ``counts_votes``
        True where who is wrong is told by a vote of the targets alone: whoever can run a case has one, also those that
        are only asked about what was convicted otherwise.
    ``settings``
        the names of its settings. Others are refused with a usage error; where it does not say, all are accepted.
    """

    def __call__(self, setup: Setup) -> Oracle: ...


def role_of_factory(factory: OracleFactory) -> str:
    """``role`` of an oracle's factory; empty where it has none."""
    return str(getattr(factory, "role", ""))


def only_measures(factory: OracleFactory) -> bool:
    """``only_measures`` of an oracle's factory."""
    return bool(getattr(factory, "only_measures", False))


def counts_votes(factory: OracleFactory) -> bool:
    """``counts_votes`` of an oracle's factory."""
    return bool(getattr(factory, "counts_votes", False))


def is_of_networks(factory: OracleFactory) -> bool:
    """``of_networks`` of an oracle's factory."""
    return bool(getattr(factory, "of_networks", False))
