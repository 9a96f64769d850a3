"""A network with one value that its declaration refuses: who refuses it clearly, who stumbles, who computes on.

A clear refusal names the parameter or what is wrong with its value: that is right, whatever the exception's type. A
raw one (an assertion, a missing key or attribute) is counted apart; it is an error only where more others accept the
call. What one target silently computes while the others refuse it is ``accepts-invalid``, if one of them names
the parameter: else they only stumbled over the value, and nobody says what it should be. What documentation rules out
by name is judged by it alone (``refusal``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.jsontext import Json
from ..core.oracle import Judged, Seen, Setup
from ..core.outcome import Failure, Outcome, Status
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Stage, Verdict
from ..operators.refused import Refused, refused_value
from .failure_search import ending_of
from .measure.diagnose import public_name
from .measure.support import is_refusal
from .refusal import RefusalOracle

#: The oracle's name, and that of its count of endings.
INVALID_VALUE = "invalid_value"

#: Exceptions that say that nobody thought of it.
RAW_TYPES = frozenset(
    ["AssertionError", "AttributeError", "IndexError", "KeyError", "NameError", "RecursionError", "UnboundLocalError"]
    + ["ZeroDivisionError", "OverflowError", "StopIteration", "SystemError"]
)
_RAW_WORDS = re.compile(
    r"INTERNAL ASSERT|internal error|please report a bug|Segmentation fault|Check failed:"
    r"|not supported between instances of|unsupported operand type",
    re.IGNORECASE,
)
#: What the interpreter and NumPy say of any code that takes something for what it is not.
_INTERPRETERS_WORDS = re.compile(
    r"(?:not enough|too many) values to unpack|cannot unpack non-iterable"
    r"|missing \d+ required (?:positional|keyword-only) argument|takes (?:from )?\d+ .*positional arguments? but"
    r"|got (?:an unexpected keyword|multiple values for) argument|sequence item \d+: expected"
    r"|can't multiply sequence by non-int|can only concatenate|^must be (?:str|real number|tuple|list), not "
    r"|'\S+' object (?:is not|cannot be interpreted|has no attribute|does not support)"
    r"|object of type '\S+' has no len|argument of type '\S+' is not|unhashable type|bad operand type for"
    r"|\b(?:int|float|complex)\(\) argument|invalid literal for int|could not convert string to float"
    r"|cannot convert float (?:NaN|infinity) to integer|indices must be integers|only integer scalar arrays"
    r"|(?:integer|float) division|math domain error|name '\S+' is not defined|std::bad_alloc"
)
#: What Keras puts around any exception of a layer, whatever it says; and the colours of a terminal.
_AROUND = re.compile(
    r"Error when deserializing class .*?Exception encountered: |Exception encountered when calling [\w.]+\(\)\."
    r"|Arguments received by .*|\x1b\[\d*m",
    re.DOTALL,
)
#: How a violated condition is put into words.
_CONDITION = re.compile(
    r"must|should|expected|invalid|cannot|can't be|could not|not allowed|not supported|unsupported"
    r"|unknown|positive|negative|non-negative|greater|less than|at least|at most|out of (?:range|bounds)"
    r"|too (?:large|small)|received|required|requires|needs? to|has to|only|incompatible|mismatch|wrong"
    r"|does not match|not a valid",
    re.IGNORECASE,
)


def is_clear_refusal(failure: Failure, parameter: str) -> bool:
    """Whether an exception tells a user what to change: it names the parameter, or the condition that is violated."""
    message = own_words(failure)
    if failure.type in RAW_TYPES or _RAW_WORDS.search(message) or _INTERPRETERS_WORDS.search(message):
        return False
    return _names(message, parameter) or _CONDITION.search(message) is not None


def own_words(failure: Failure) -> str:
    """What was said of the matter, without what a library puts around any exception."""
    return _AROUND.sub("", failure.message).strip()


def _names(message: str, parameter: str) -> bool:
    return bool(parameter) and re.search(rf"\b{re.escape(parameter)}\b", message) is not None


@dataclass
class Reactions:
    """How the targets took a value that should be refused.

    Args:
        named: of those who refuse it clearly, who name the parameter: they have looked at the value, the others
            stumbled over it somewhere.
    """

    accepted: list[str] = field(default_factory=list)
    clear: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    died: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, outcomes: Mapping[str, Outcome], parameter: str) -> Reactions:
        found = cls()
        for target, outcome in outcomes.items():
            if outcome.completed:
                found.accepted.append(target)
            elif outcome.status is Status.CRASHED:
                found.died.append(target)
            elif outcome.status is Status.TIMED_OUT:
                found.hung.append(target)
            elif outcome.status is Status.RAISED and outcome.failure is not None:
                clear = is_clear_refusal(outcome.failure, parameter) or is_refusal(outcome)
                (found.clear if clear else found.raw).append(target)
                if clear and _names(own_words(outcome.failure), parameter):
                    found.named.append(target)
        return found

    def measures(self) -> dict[str, dict[str, list[float]]]:
        """One number per target, for tables: 1 where it reacted in that way."""
        named = {"accepts": self.accepted, "refuses": self.clear, "raises-raw": self.raw}
        named |= {"dies": self.died, "hangs": self.hung}
        return {name: {target: [1.0] for target in targets} for name, targets in named.items() if targets}


class InvalidValueOracle:
    """Judges one network with one invalid value."""

    settings: ClassVar[tuple[str, ...]] = ()

    name = INVALID_VALUE

    def __init__(self, setup: Setup) -> None:
        self._ruled_out = RefusalOracle(setup)

    def judge(self, seen: Seen) -> Judged:
        graph = seen.case.subject
        refused = refused_value(graph) if isinstance(graph, LayerGraph) else None
        if refused is None:
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, "nothing in it is ruled out"),))
        reactions = Reactions.of(seen.own, refused.parameter)
        if refused.declared and (reactions.accepted or reactions.died or reactions.hung):
            judged = self._ruled_out.judge(seen)
            return _with_measures(judged, reactions)
        found = _suspicions(seen, refused, reactions)
        return Judged(_verdicts(seen, reactions, found), tuple(found), measures=reactions.measures())


def _with_measures(judged: Judged, reactions: Reactions) -> Judged:
    return replace(judged, measures={**judged.measures, **reactions.measures()})


def _suspicions(seen: Seen, refused: Refused, reactions: Reactions) -> list[Suspicion]:
    found = []
    refusing = [*reactions.clear, *reactions.raw]
    if reactions.died and (reactions.accepted or refusing):
        found.append(_suspicion(seen, refused, Kind.CRASH, reactions.died))
    if reactions.hung and (reactions.accepted or refusing):
        found.append(_suspicion(seen, refused, Kind.HANG, reactions.hung))
    if reactions.raw and not reactions.clear and _outvoted(seen, reactions.raw, reactions.accepted):
        found.append(_suspicion(seen, refused, Kind.ERROR, reactions.raw))
    elif reactions.accepted and reactions.named and _outvoted(seen, reactions.accepted, reactions.clear):
        found.append(_suspicion(seen, refused, Kind.ACCEPTS_INVALID, reactions.accepted))
    return found


def _outvoted(seen: Seen, some: Sequence[str], others: Sequence[str]) -> bool:
    """More independent implementations take the value in another way."""
    return len(seen.traits.implementations(others)) > len(seen.traits.implementations(some))


def _suspicion(seen: Seen, refused: Refused, kind: Kind, suspects: Sequence[str]) -> Suspicion:
    worst = seen.own[suspects[0]]
    others = [target for target in seen.own if target not in suspects]
    api, parameters = public_name(refused.node.op), _parameters(refused)
    diagnosis = Diagnosis(
        Class.DEFECT,
        tuple(suspects),
        node=refused.node.key,
        api=api,
        parameters=parameters,
        evidence=(
            *(_told(seen.own[target], api, parameters) for target in suspects),
            *(_told(seen.own[target], api, parameters) for target in others if seen.own[target].status in _TELLING),
        ),
    )
    exception = worst.failure.type if worst.failure else ""
    return Suspicion(kind, diagnosis, seen.case, tuple(seen.own), exception, Stage.BUILD)


_TELLING = (Status.COMPLETED, Status.RAISED, Status.CRASHED, Status.TIMED_OUT)


def _told(outcome: Outcome, api: str, parameters: Mapping[str, Json]) -> Evidence:
    if outcome.completed:
        return observed("accepts", target=outcome.target, parameters=dict(parameters))
    return ending_of(outcome, api, dict(parameters))


def _parameters(refused: Refused) -> dict[str, Json]:
    if refused.parameter:
        return {refused.parameter: refused.value}
    return dict(refused.node.params)


def _verdicts(seen: Seen, reactions: Reactions, found: Sequence[Suspicion]) -> tuple[Verdict, ...]:
    if found:
        return tuple(
            Verdict(Judgement.FAIL, s.targets, f"{s.kind.value} on {', '.join(s.diagnosis.suspects)}", kind=s.kind)
            for s in found
        )
    if reactions.accepted and (reactions.clear or reactions.raw):
        return (Verdict(Judgement.UNDECIDED, seen.targets, "some accept the value and some refuse it"),)
    if reactions.accepted:
        return (Verdict(Judgement.PASS, seen.targets, "everybody accepts the value"),)
    if not reactions.clear and not reactions.raw:
        return (Verdict(Judgement.UNDECIDED, seen.targets, "nobody says anything of the value"),)
    if reactions.raw:
        return (Verdict(Judgement.PASS, seen.targets, "nobody accepts the value; some do not say why"),)
    return (Verdict(Judgement.PASS, seen.targets, "everybody refuses the value and says why"),)
