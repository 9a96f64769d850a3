"""The reproducer of a target for which nobody writes scripts: it replays the case file that stands beside it."""

from __future__ import annotations

from collections.abc import Sequence

from . import literals

_TEXT = '''"""{title}"""
import subprocess
import sys
from pathlib import Path

{here}
case = {case}
command = [sys.executable, "-m", "tensorparity", "replay", str(case), {arguments}]
ended = subprocess.run(command, capture_output=True, text=True)
print(ended.stdout + ended.stderr)
print("observed: the case", "still fails" if ended.returncode == 1 else "does not fail", "on", {suspect})
sys.exit(ended.returncode)
'''


def replay_text(title: str, suspect: str, targets: Sequence[str], case: str, here: str, options: Sequence[str]) -> str:
    """The text of the script.

    Args:
        case: the expression for the path of the case file; ``here`` is the line that makes it.
        options: further arguments of ``replay``.
    """
    return _TEXT.format(
        title=title.replace('"""', "'''"),
        here=here,
        case=case,
        arguments=", ".join(map(literals.value, ["--targets", ",".join(targets), *options])),
        suspect=literals.value(suspect),
    )
