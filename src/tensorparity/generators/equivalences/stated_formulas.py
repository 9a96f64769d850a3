"""The formula that a docstring states, in its own words: what findings by rule 7 quote."""

from __future__ import annotations

import re

#: How docstrings set a formula apart, the plainest first: a block of mathematics or of code, or a passage in a line.
_FORMS = (
    re.compile(r"^[^\S\n]*\.\. math::[^\S\n]*\n+((?:[^\S\n]+\S.*\n?)+)", re.MULTILINE),
    re.compile(r"^[^\S\n]*\.\. math::[^\S\n]*(\S.*)", re.MULTILINE),
    re.compile(r"Formula:\s*```(?:python)?\s*\n([^`]+)```"),
    re.compile(r":math:`([^`]+)`"),
    re.compile(r"\\\\?\((.+?)\\\\?\)"),
    re.compile(r"\$\$?\s*([^$\n]+?)\s*\$\$?"),
    re.compile(r"`([^`\n]+)`"),
)
#: What makes a passage a formula: something is computed, or defined to be what is computed.
_COMPUTES = re.compile(r"[-+*/^]|\\(?:frac|log|exp|sqrt|max|min|times|cdot)|\w\(\w")
_DEFINES = re.compile(r"=|\\(?:frac|log|exp|sqrt|max|min)|\w ?[-+*/^] ?\(?\w|\w\(\w")
#: Code that shows a call, names, shapes and types is none.
_NO_FORMULA = re.compile(
    r">>>|://|^if |\binf\b|\bimport\b|\bTensor\b|dtype|shape|^(?:tf|torch|jax|keras|np)\.[\w.]+(?:\(.*\))?$|^[\w.~-]+$"
)
_LONGEST = 300


def stated_formula(doc: str) -> str:
    """The first formula of a docstring, on one line; empty where it states none."""
    for form in _FORMS:
        for match in form.finditer(doc):
            text = " ".join(match[1].split())
            if len(text) <= _LONGEST and _is_formula(text):
                return text
    return ""


def _is_formula(text: str) -> bool:
    return bool(_COMPUTES.search(text) and _DEFINES.search(text)) and not _NO_FORMULA.search(text)
