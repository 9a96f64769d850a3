"""Table 4, and the paper's split of root causes in our classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..core.evidence import Evidence
from ..core.finding import Class, Diagnosis, Finding
from ..core.jsontext import Json
from ..core.verdict import Kind
from ..triage.guilty_parameters import GUILTY_PARAMETERS

#: How the paper calls what a bug looks like, by our kinds.
_BEHAVIOUR: Mapping[Kind, str] = {
    Kind.NAN: "nan",
    Kind.CRASH: "crash",
    Kind.HANG: "crash",
    Kind.ERROR: "crash",
    Kind.ACCEPTS_INVALID: "accepts-invalid",
}


def bug_table(findings: Sequence[Finding], targets: Sequence[str]) -> dict[str, Json]:
    """Distinct defects by behaviour and suspect; one that several targets share stands under each of them."""
    found: dict[str, Counter[str]] = {}
    for finding in findings:
        if finding.is_defect:
            behaviour = _BEHAVIOUR.get(finding.kind, "inconsistency")
            own = found.setdefault(behaviour, Counter())
            own.update(finding.diagnosis.suspects)
            own["total"] += 1
    return {behaviour: dict(own) for behaviour, own in sorted(found.items())}


def _places(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """The layer with each of its guilty parameters; where nobody looked for them, with those that reduction left."""
    api = diagnosis.api or "a model"
    looked = [said for said in diagnosis.evidence if isinstance(said, Evidence) and said.code == GUILTY_PARAMETERS]
    if not looked:
        return [(api, ", ".join(sorted(diagnosis.parameters)))]
    guilty = [
        (str(said.data.get("layer") or api), str(one["parameter"])) for said in looked for one in said.data["guilty"]
    ]
    return guilty or [(api, "")]


def root_causes(findings: Sequence[Finding], blameless: Mapping[str, int]) -> dict[str, Json]:
    """What the differences are: distinct (layer, parameter) pairs by class.

    The paper's bugs are our defects, its implementation differences our documented freedoms, its precision ours.
    """
    pairs: dict[str, set[tuple[str, ...]]] = {}
    for finding in findings:
        pairs.setdefault(finding.diagnosis.klass.value, set()).update(_places(finding.diagnosis))
    return {
        "pairs": {klass.value: len(pairs.get(klass.value, ())) for klass in Class},
        "set_aside": dict(blameless),
    }
