"""A script that sets what it needs before any import, and says so where the processor cannot show the defect."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...core.machine_settings import INSTRUCTION_SETS, Setting, variables_of

#: By convention, of a test that was skipped.
SKIPPED = 77
#: Where Linux says what the processor can do; other systems have no such file.
PROCESSOR = "/proc/cpuinfo"


def with_settings(text: str, settings: Sequence[Setting]) -> str:
    """The script, with lines right behind its heading that set these."""
    heading = ast.parse(text).body[0]
    assert heading.end_lineno is not None
    lines = text.splitlines()
    first, rest = lines[: heading.end_lineno], lines[heading.end_lineno :]
    added = _setting_lines(settings)
    body = [line for line in rest if not (line.startswith("import ") and line in added)]
    return "\n".join([*first, "", *added, "", *_without_empty(body)]) + "\n"


def _without_empty(lines: list[str]) -> list[str]:
    """From the first line on that says something."""
    return lines[next((place for place, line in enumerate(lines) if line.strip()), 0) :]


def _setting_lines(settings: Sequence[Setting]) -> list[str]:
    found = ["import os", "import sys", ""]
    needed = [name for name in INSTRUCTION_SETS if any(setting.instruction_set == name for setting in settings)]
    for name in needed[-1:]:
        found += [
            "try:",
            f'    processor = open("{PROCESSOR}").read()',
            "except OSError as error:",
            '    print("skipped: what the processor can do is not known here:", error)',
            f"    sys.exit({SKIPPED})",
            f'if "{INSTRUCTION_SETS[name]}" not in processor:',
            f'    print("skipped: only processors with {name} show this")',
            f"    sys.exit({SKIPPED})",
        ]
    return [*found, f"os.environ.update({variables_of(settings)!r})  # the defect shows with these settings"]
