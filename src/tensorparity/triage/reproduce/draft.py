"""The draft of an upstream report: what a maintainer asks for first, in the order they read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np

from ...core.arrays import Array, dtype_name
from ...core.outcome import Record
from ...core.suspicion import Suspicion
from ...core.traits import TargetTraits
from ...oracles.documentation import DOCUMENTATION, suspecting_documentation
from ...reporting import wording, words
from .claim import Claim
from .script import Reproducer

_MOST_SHOWN = 16


def draft(
    title: str,
    suspect: str,
    suspicion: Suspicion,
    claim: Claim | None,
    script: Reproducer | None,
    records: Mapping[str, Record],
    evidence: Sequence[str],
    traits: TargetTraits,
) -> str:
    """Markdown, complete but for what only a person can add.

    Args:
        evidence: in words.
        records: the circumstances of every target that ran the case.
        traits: of the suspect.
    """
    parts = [
        f"# {title}",
        _warning_text(records.get(suspect)),
        _summary(suspect, suspicion, claim),
        _section("Code or documentation", _which_is_wrong(suspicion)),
        _section("To reproduce", _script(script)),
        _section("Expected", _expected_text(claim)),
        _section("Observed", _observed_text(claim, evidence)),
        _section("How this was judged", _judgement(traits, suspicion, claim)),
        _section("Evidence", "\n".join(f"- {line}" for line in evidence)),
        _section("Environment", _environment(suspect, records)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _warning_text(record: Record | None) -> str:
    if record is None or not record.fault:
        return ""
    return f"**Do not send this: the fault `{record.fault}` was planted in the library.**"


def _summary(suspect: str, suspicion: Suspicion, claim: Claim | None) -> str:
    """What the title says, with all parameters, as the script writes them."""
    diagnosis = suspicion.diagnosis
    params = ", ".join(f"`{wording.parameters({name: value})}`" for name, value in diagnosis.parameters.items())
    what = f"`{diagnosis.api}`" if diagnosis.api else "The model"
    symptom = words.symptom(suspicion.kind, diagnosis)
    lines = [f"{what} {'with ' + params + ' ' if params else ''}{symptom}, here on {suspect}."]
    if _is_about_numbers(claim) and claim.off is not None and np.isfinite(claim.off):
        lines.append(f"The result is off by {claim.off:.3g}; rounding explains at most {claim.tolerance:.2g}.")
    return " ".join(lines)


def _is_about_numbers(claim: Claim | None) -> TypeGuard[Claim]:
    """Whether it is numbers that differ, and not the dtype or the shape that they come in."""
    return claim is not None and not claim.dtype and claim.off is not None


def _which_is_wrong(suspicion: Suspicion) -> str:
    """Where code and shipped tests agree against the documentation, that it is the suspect."""
    suspects = suspecting_documentation(suspicion).suspects
    if not any(name.endswith(DOCUMENTATION) for name in suspects):
        return ""
    return (
        "All backends agree with each other and with a test that the library ships (see the evidence). The "
        "documentation says otherwise, and is the suspect: please correct it, or code and test."
    )


def _script(script: Reproducer | None) -> str:
    if script is None or not script.text:
        return "No script: the case file shows it (`tensorparity replay`)."
    said = (
        "It was run in a fresh process and exits 1 while the defect exists, 0 once it is fixed."
        if script.verified
        else f"Not verified: {script.remark}"
    )
    return f"{said}\n\n```python\n{script.text}```"


def _expected_text(claim: Claim | None) -> str:
    if claim is None:
        return "An answer."
    if claim.dtype:
        return f"By {claim.source}: dtype `{claim.dtype}`."
    formula = f"\n\nFormula: {claim.formula}." if claim.formula else ""
    return f"By {claim.source}:\n\n```\n{_array_text(claim.expected, claim)}\n```{formula}"


def _observed_text(claim: Claim | None, evidence: Sequence[str]) -> str:
    if claim is None or claim.observed is None:
        return evidence[0] if evidence else ""
    if claim.dtype:
        return f"dtype `{dtype_name(claim.observed)}`"
    return f"```\n{_array_text(claim.observed, claim)}\n```"


def _array_text(array: Array, claim: Claim) -> str:
    if claim.observed is not None and claim.observed.shape != claim.expected.shape:
        return f"shape {array.shape}"
    if array.size <= _MOST_SHOWN:
        return str(np.asarray(array).tolist())
    index = claim.worst_element()
    return f"shape {array.shape}; at {index}: {array[index]!r}" if index is not None else f"shape {array.shape}"


def _judgement(traits: TargetTraits, suspicion: Suspicion, claim: Claim | None) -> str:
    if claim is None:
        return ""
    lines = [
        _baseline(claim),
        "- The inputs are exact in the dtype under test, and every weight is set: nothing is drawn.",
    ]
    if "tie" in suspicion.features:
        lines.append("- The inputs hold a tie; the gradient was compared with what the other libraries give there.")
    tolerance = traits.tolerances.get(_tested_dtype(claim))
    if tolerance is not None and _is_about_numbers(claim) and claim.off is not None:
        index = claim.worst_element() if claim.expected.ndim else ()
        expected = float(np.abs(claim.expected[index])) if index is not None and claim.expected.size else 0.0
        inside = tolerance.allows(claim.off, expected)
        lines.append(
            f"- The library's own default tolerance ({tolerance.source}: rtol={tolerance.rtol:g}, "
            f"atol={tolerance.atol:g}) is {'not ' if inside else ''}exceeded."
        )
    return "\n".join(lines)


def _tested_dtype(claim: Claim) -> str:
    """Of the answer; losses come as plain numbers."""
    if claim.group == "losses" or claim.observed is None:
        return "float32"
    return dtype_name(claim.observed)


def _baseline(claim: Claim) -> str:
    if not claim.precise:
        if claim.dtype or claim.stated:
            return f"- Baseline: {claim.source}."
        gives = "give" if " and " in claim.source else "gives"
        return f"- Baseline: what {claim.source} {gives} on the same inputs, in {_tested_dtype(claim)} as well."
    how = ", evaluated in float64 from the documented formula on the same inputs" if claim.formula else ""
    return f"- Higher-precision baseline: {claim.source}{how}."


def _environment(suspect: str, records: Mapping[str, Record]) -> str:
    record = records.get(suspect, Record())
    lines = [f"- {name} {version}" for name, version in record.versions.items()]
    lines += [f"- Python {record.python.split()[0]}" if record.python else ""]
    lines += [f"- device {record.device}" if record.device else "", f"- threads {record.threads}"]
    lines += [f"- `{name}={value}`" for name, value in record.flags.items()]
    agreeing = _others(suspect, records)
    return "\n".join(line for line in [*lines, *agreeing] if line)


def _others(suspect: str, records: Mapping[str, Record]) -> Sequence[str]:
    return [
        f"- compared with {target} ({', '.join(f'{name} {version}' for name, version in record.versions.items())})"
        for target, record in records.items()
        if target != suspect and record.versions
    ]
