"""A report without the user's data: what somebody may show to others who may not see the inputs.

Left out are the inputs with their pictures, labels and predictions, scripts (which hold inputs), single numbers that
an input gave, messages of libraries (which quote both; the exception's type stays), and folders of files. Case files
in the store are complete: nobody else can replay what is not there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

from ..core.comparison import Comparison
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.outcome import Status
from .facts import Facts, TargetFacts
from .redacted_evidence import redacted_evidence

_LEFT_OUT = "left out: the inputs, what they gave, messages of libraries, and scripts (--redact)"
#: A path from a root, from home or from here; in a sentence, in quotes or behind an equals sign.
_PATH = re.compile(
    r"""(?<![\w.~:/])(?:~|\.\.?)?/(?:[^\s/'"`,;()\[\]]+/)*[^\s/'"`,;()\[\]]+|\b[A-Za-z]:\\[^\s'"`,;()]+"""
)
#: How our own sentences quote a library: how a run ended, then its words.
_ENDINGS = "|".join(re.escape(status.value) for status in Status)
_QUOTED = re.compile(
    rf"\b({_ENDINGS}|could not be read|not stressed|not searched|high-precision run)\s*:\s.*", re.DOTALL
)
_EXCEPTION = re.compile(r"\b((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt))\b\s*:.*", re.DOTALL)
_TYPE = re.compile(r"[A-Za-z_][\w.]*")
#: Statuses whose reason is a sentence of ours.
_OURS = ("skipped", "missing", "not examined")
#: Longer lists among parameters are a vocabulary or weights, longer texts are somebody's.
_MOST_ITEMS, _LONGEST_TEXT = 8, 24


def redacted(facts: Facts) -> Facts:
    """The same answer without the data that it was found with."""
    pairs = None if facts.comparisons is None else tuple(map(_without_example, facts.comparisons))
    precise = facts.high_precision
    return replace(
        facts,
        subject=_name_of(facts.subject),
        targets=tuple(map(_without_message, facts.targets)),
        stats=_without_troubles(facts.stats),
        comparisons=pairs,
        scripts={},
        drafts={},
        engine_tables={},
        findings=tuple(_without_numbers(finding) for finding in facts.findings),
        undecided=_plain_reasons(facts.undecided),
        unsupported=_plain_reasons(facts.unsupported),
        high_precision=replace(precise, left_out=plain(precise.left_out)) if precise else None,
        self_agreement=tuple(replace(own, problem="failed" if own.problem else "") for own in facts.self_agreement),
        planted={target: plain(fault) for target, fault in facts.planted.items()},
        alerts=tuple(map(plain, facts.alerts)),
        unanswered=tuple(map(plain, facts.unanswered)),
        notes=(*map(plain, facts.notes), _LEFT_OUT),
    )


def plain(text: str) -> str:
    """A sentence of ours without what it quotes of a library, and files by their names alone."""
    cut = _EXCEPTION.sub(r"\1", _QUOTED.sub(r"\1", text))
    return _PATH.sub(lambda found: PurePath(found[0].replace("\\", "/")).name, cut)


def _without_message(target: TargetFacts) -> TargetFacts:
    """How it ended by the type of the exception alone."""
    if target.status in _OURS or not target.reason:
        return replace(target, reason=plain(target.reason))
    kind = target.reason.partition(":")[0].strip()
    return replace(target, reason=kind if _TYPE.fullmatch(kind) else "the message is left out")


def _without_example(pair: Comparison) -> Comparison:
    return replace(pair, example=None, verdict=replace(pair.verdict, reason=plain(pair.verdict.reason)))


def _without_troubles(stats: Mapping[str, Json]) -> dict[str, Json]:
    if "stress" not in stats:
        return dict(stats)
    return {
        **stats,
        "stress": [{**pair, "trouble": "failed" if pair.get("trouble") else ""} for pair in stats["stress"]],
    }


def _plain_reasons(reasons: Mapping[str, int]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for reason, amount in reasons.items():
        found[plain(reason)] += amount
    return dict(found)


def _without_numbers(finding: Finding) -> Finding:
    diagnosis = finding.diagnosis
    kept = tuple(filter(None, map(redacted_evidence, diagnosis.observations)))
    told = replace(diagnosis, evidence=kept, closeup=None, parameters=_parameters(diagnosis.parameters))
    return replace(finding, diagnosis=told, reproducer=None, not_reduced="")


def _parameters(parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value if _is_short(value) else "..." for name, value in parameters.items()}


def _is_short(value: Json) -> bool:
    """A setting, as opposed to data."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and not _PATH.search(value)
    if isinstance(value, (list, tuple)):
        return len(value) <= _MOST_ITEMS and all(isinstance(item, (int, bool)) for item in value)
    return value is None or isinstance(value, (bool, int, float))


def _name_of(subject: str) -> str:
    """A file by its name alone."""
    return PurePath(subject).name if "/" in subject and "://" not in subject else subject
