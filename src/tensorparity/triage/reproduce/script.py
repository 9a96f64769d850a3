"""A script from parts: what it says of itself, how the observed value comes about, and the judgement."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.channels import is_text
from ...core.verdict import Kind
from . import literals
from .attachments import Attachment
from .claim import Claim

#: Lines beyond which nobody pastes a script into a report.
MOST_LINES = 36
_LONGEST_LINE = 8000
_MOST_COMPARED = 64
#: Numbers of so many bytes at most come back from nine digits.
_NINE_DIGITS = 4

#: Ends of a process or of patience: the script looks at itself from outside.
_FROM_OUTSIDE = (Kind.CRASH, Kind.HANG)


@dataclass(frozen=True)
class Reproducer:
    """A script and whether it has been seen to do what it says; ``remark`` says why not.

    Args:
        beside: the files that it reads from its own folder.
    """

    text: str
    verified: bool = False
    remark: str = ""
    beside: tuple[Attachment, ...] = ()

    def with_files(self, files: Sequence[Attachment]) -> Reproducer:
        return replace(self, beside=tuple(files))

    @property
    def marked_text(self) -> str:
        """The text; one that was not seen to show the defect says so first."""
        if self.verified:
            return self.text
        return f"# Not verified: {' '.join(self.remark.split())}\n{self.text}"


@dataclass(frozen=True)
class ScriptParts:
    """What a family of targets contributes.

    Args:
        imports: lines before anything else; environment variables first.
        steps: lines that end with ``observed = ...`` (an array).
    """

    imports: Sequence[str]
    steps: Sequence[str]


def assemble(title: str, kind: Kind, parts: ScriptParts, claim: Claim | None, exception: str = "") -> str:
    """The script: exits 1 while the defect exists, 0 once it is fixed.

    Args:
        exception: the type that must be raised for it to be the same defect; another one exits 2.

    Raises:
        Unprintable: if it gets too long to be read.
    """
    head = [*heading_lines(title), *parts.imports, ""]
    if kind in _FROM_OUTSIDE:
        lines = [*head, *_watched_lines(kind), "", *parts.steps, 'print("observed:", np.asarray(observed).tolist())']
    elif kind is Kind.ACCEPTS_INVALID:
        lines = [*head, *_refusal_lines(parts.steps)]
    elif kind is Kind.ERROR or claim is None:
        lines = [*head, *_guarded_lines(parts.steps, exception)]
    else:
        lines = [*head, *parts.steps, *_comparison_lines(kind, claim)]
    if len(lines) > MOST_LINES or max(map(len, lines)) > _LONGEST_LINE:
        raise literals.Unprintable(f"a script of {len(lines)} lines")
    return "\n".join(lines) + "\n"


def heading_lines(title: str) -> list[str]:
    """What the script says of itself."""
    return [f'"""{_harmless(title)} Exits 1 while the defect exists, 0 once it is fixed."""', ""]


def _harmless(title: str) -> str:
    """In one line that cannot end its quotes: the names in it may be a stranger's."""
    line = " ".join(title.split())
    return "".join(letter for letter in line if letter.isprintable() and letter not in '"\\')


def _comparison_lines(kind: Kind, claim: Claim) -> list[str]:
    expected, index = claim.expected, claim.worst_element()
    reason = f"expected by {claim.source}" + (f": {claim.formula}" if claim.formula else "")
    lines = textwrap.wrap(reason, 110, initial_indent="# ", subsequent_indent="# ")
    if kind is Kind.SHAPE or claim.observed is None or claim.observed.shape != expected.shape:
        return [
            *lines,
            f"expected = {literals.value(list(expected.shape))}",
            'print("expected shape:", expected)',
            'print("observed shape:", observed.shape)',
            "sys.exit(0 if observed.shape == expected else 1)",
        ]
    if kind is Kind.DTYPE and claim.dtype:
        return [
            *lines,
            f'print("expected dtype: {claim.dtype}")',
            'print("observed dtype:", observed.dtype)',
            f"sys.exit(0 if str(observed.dtype) == {literals.value(claim.dtype)} else 1)",
        ]
    if claim.summed is not None:
        lines.append(f"observed = observed[{', '.join(str(list(places)) for places in claim.summed)}].sum()")
    alone = claim.element is not None or expected.size > _MOST_COMPARED or (claim.off or 0.0) <= claim.tolerance
    if index is not None and alone:
        lines.append(f"observed = observed[{', '.join(map(str, index))}]")
        expected = np.asarray(expected[index])
    if claim.between is not None:
        low, high = claim.between
        return [
            *lines,
            f"low, high = {low:.9g}, {high:.9g}",
            'print("expected: from", low, "to", high)',
            'print("observed:", observed.tolist())',
            f"sys.exit(0 if low - {claim.tolerance:.2g} <= observed <= high + {claim.tolerance:.2g} else 1)",
        ]
    lines += [
        f"expected = {literals.wide(_with_fewer_digits(expected, claim.observed.dtype))}",
        'print("expected:", expected.tolist())',
        'print("observed:", observed.tolist())',
    ]
    close = f"np.allclose(observed, expected, rtol=0, atol={claim.tolerance:.2g}, equal_nan=True)"
    if is_text(expected):
        close = "np.array_equal(observed, expected)"
    return [*lines, f"sys.exit(0 if {close} else 1)"]


def _with_fewer_digits(expected: Array, observed: np.dtype[Any]) -> Array:
    """As many digits as bring the observed dtype back: nine for float32 and less, all of them for float64."""
    array = np.asarray(expected)
    if array.dtype.kind != "f" or observed.itemsize > _NINE_DIGITS:
        return array
    return np.array([float(f"{item:.9g}") for item in array.reshape(-1)], np.float64).reshape(array.shape)


def _guarded_lines(steps: Sequence[str], exception: str) -> list[str]:
    code = f"1 if type(error).__name__ == {exception!r} else 2" if exception.isidentifier() else "1"
    return [
        "try:",
        *(f"    {line}" if line else "" for line in steps),
        "except Exception as error:",
        '    print("expected: an answer")',
        '    print("observed:", type(error).__name__, str(error).strip()[:500])',
        f"    sys.exit({code})",
        'print("observed:", np.asarray(observed).tolist())',
    ]


def _watched_lines(kind: Kind) -> list[str]:
    """The script runs itself, and looks how that ends; an exception (exit code 1) is no death."""
    limit, fine = ("60", "code == 0") if kind is Kind.HANG else ("600", "code in (0, 1)")
    wanted = "an end" if kind is Kind.HANG else "an answer or an exception (exit code 0 or 1)"
    return [
        'if sys.argv[1:] != ["child"]:',
        "    try:",
        f'        code = subprocess.run([sys.executable, *sys.orig_argv[1:], "child"], timeout={limit}).returncode',
        "    except subprocess.TimeoutExpired:",
        f'        code = "still running after {limit} s"',
        f'    print("expected: {wanted}")',
        '    print("observed:", f"killed by signal {-code}" if str(code).startswith("-") else code)',
        f"    sys.exit(0 if {fine} else 1)",
    ]


def _refusal_lines(steps: Sequence[str]) -> list[str]:
    """What the documentation rules out must raise."""
    return [
        "try:",
        *(f"    {line}" if line else "" for line in steps),
        "except Exception as error:",
        '    print("observed:", type(error).__name__, str(error).strip()[:500])',
        "    sys.exit(0)",
        'print("expected: an exception")',
        'print("observed:", np.asarray(observed).tolist())',
        "sys.exit(1)",
    ]
