"""What is kept of each kind of evidence in a report that somebody may show who may not show the inputs.

Allowed is what stands here and nothing else: names, shapes, dtypes, counts, errors in units of rounding, words of
documentation. Numbers that an input gave, messages of libraries and whatever a plug-in says in its own words are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ..core.evidence import Evidence
from ..core.jsontext import Json
from . import words

_PLACE = ("target", "layer", "op", "how", "against")

#: By code, the data that its sentence is made of; a code that is missing here is left out.
KEPT: Mapping[str, tuple[str, ...]] = {
    "off": (*_PLACE, "off", "ratio"),
    "not-finite": (*_PLACE, "observed", "expected"),
    "other-shape": (*_PLACE, "given", "wanted"),
    "other-dtype": (*_PLACE, "dtype"),
    "agree": ("targets", "against", "off", "ratio"),
    "all-agree": ("against",),
    "affected": ("count", "op", "layer"),
    "no-answer": ("target",),
    "announced": ("target", "given", "announced"),
    "outvoted-dtype": ("target", "given", "most"),
    "outside-slopes": ("target",),
    "kink": ("targets", "op"),
    "between-slopes": (),
    "guard": ("targets", "op"),
    "guard-formula": (),
    "ended": ("target", "status", "type", "api"),
    "completed": ("targets",),
    "accepted": (),
    "unsupported": ("target",),
    "freedom": ("name", "words", "source"),
    "defined": ("target", "words"),
    "formula": ("api", "words"),
    "documentation": ("library", "api", "test"),
    "not-again": (),
    "only-together": (),
    "two-answers": ("target",),
    "settings": ("tried", "missing", "needed"),
    "both-ways": ("target",),
    "says": ("target", "called", "observed", "expected", "dtype", "ratio"),
    "exported-layer": ("layer", "op", "how", "runtimes", "originals"),
    "exported-output": ("output", "runtimes", "originals", "together", "apart"),
    "exporter-doubt": ("target", "exporter"),
    "original-doubt": ("originals",),
    "no-layer-differs": (),
    "fused": ("target", "relative"),
    "stretch": ("layers", "checks"),
    "reduced": ("nodes", "numbers", "nodes_after", "numbers_after", "checks"),
    "not-reduced": ("by_file",),
    "file-itself": (),
    "script-doubt": ("written",),
    "model-completed": ("targets",),
    "no-runtime-completed": (),
    "pair-differs": ("a", "b", "output"),
    "rounding-carried": ("measured", "layers"),
    "layers-unknown": ("measured", "layers"),
    "introduction-rate": ("layer", "type", "rate"),
    "adjacent-layers": ("layers",),
    "right-before-saving": (),
    "optimizer-step": ("target", "optimizer", "ratio"),
    "accepts": ("target",),
    "refuses": ("target",),
    "breaks-rule": ("target", "rule"),
    "both-formulas": ("target", "how"),
    "filled-otherwise": ("target", "api"),
    "declared-valid": ("api", "by"),
    "differs-at": ("name", "wrong", "kind"),
    "paper-parts": ("a", "b", "distance", "layer"),
    "paper-vote": ("odd",),
    "paper-fails": ("target",),
    "paper-nan": ("layer", "targets"),
    "paper-labels": ("a", "b", "changed", "inputs"),
    "paper-places": ("places",),
    "guilty-parameters": ("guilty", "tried"),
    "descended": ("layer", "api", "target", "package", "right"),
    "passed-on": ("layer", "api"),
    "by-onednn": ("gone", "api"),
    "sometimes": (),
    "witness-runs": ("target",),
    "witness": ("target", "right", "ratio"),
}


def redacted_evidence(evidence: Evidence) -> Evidence | None:
    """The same observation without what may not be shown; None where nothing of it may be."""
    allowed = KEPT.get(evidence.code)
    if allowed is None:
        return None
    data = {name: _kept(name, evidence.data[name]) for name in allowed if name in evidence.data}
    shorter = _SHORTER.get(evidence.code)
    said = shorter(data) if shorter else words.sentence(Evidence(evidence.code, data))
    return Evidence(evidence.code, {**data, words.REDACTED: True}, said)


def _kept(name: str, value: Json) -> Json:
    """Of a number only whether it is one; of a call only whom it calls; of parameters only their names."""
    if name in ("observed", "expected"):
        return value if not math.isfinite(float(value)) else 0.0
    if name == "called":
        return str(value).partition("(")[0]
    if name == "guilty":
        return [{"parameter": one["parameter"]} for one in value]
    return value


def _number_or(value: Json) -> str:
    number = float(value)
    return "a number" if math.isfinite(number) else "NaN" if math.isnan(number) else "infinity"


def _not_finite(data: Mapping[str, Json]) -> str:
    given, expected = _number_or(data["observed"]), _number_or(data["expected"])
    return f"{data['target']} gives {given} where {words.who_is_right(data)} {expected}, in {words.where(data)}"


def _ended(data: Mapping[str, Json]) -> str:
    call = f" in {data['api']}" if data.get("api") else ""
    return f"{data['target']} {data['status']}{call}: {data['type']}"


def _says(data: Mapping[str, Json]) -> str:
    ratio = "" if data.get("ratio") is None else f": {float(data['ratio']):.3g} times what rounding explains"
    return f"{data['target']} is wrong about {data['called']} in {data['dtype']}{ratio}"


def _guilty(data: Mapping[str, Json]) -> str:
    names = ", ".join(one["parameter"] for one in data["guilty"])
    return f"guilty parameters: {names}" if names else "no parameter alone is guilty"


#: Sentences for codes whose own says what may not be shown.
_SHORTER: Mapping[str, Callable[[Mapping[str, Json]], str]] = {
    "not-finite": _not_finite,
    "no-answer": lambda data: f"{data['target']} gave no answer",
    "outside-slopes": lambda data: f"{data['target']} gives a gradient outside of what the formula allows",
    "ended": _ended,
    "says": _says,
    "both-ways": lambda data: f"{data['target']} answers the same input with NaN and with a number",
    "not-reduced": lambda data: f"not reduced{', shown by the file' if data.get('by_file') else ''}",
    "script-doubt": lambda data: f"reproducer {'not verified' if data.get('written') else 'missing'}",
    "pair-differs": lambda data: f"{data['a']} and {data['b']} differ in output {data['output']!r}",
    "accepts": lambda data: f"{data['target']} accepts what the documentation rules out",
    "breaks-rule": lambda data: f"{data['target']} breaks the rule {data['rule']!r}",
    "filled-otherwise": lambda data: f"{data['api']} on {data['target']} is not as documented",
    "differs-at": lambda data: "two computations differ that must agree",
    "paper-fails": lambda data: f"{data['target']} fails, where another target completes the model",
    "guilty-parameters": _guilty,
}
