"""One benchmark in two source trees, alternating: the ratio of the CPU seconds they spend.

Usage: two_trees.py OLD NEW [--times N] BENCH [ARGUMENTS ...]

OLD and NEW are working trees (``git worktree add``); each runs its own copy of ``bench/BENCH`` with its own package.
The machine is shared and noisy, so the two take turns, and the ratio is taken turn by turn. CPU seconds are those of
the benchmark and of every process it waited for; workers are among them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from measuring import median, spread, table


def cpu_seconds(tree: Path, bench: str, arguments: list[str]) -> tuple[float, float]:
    """CPU seconds and wall seconds of one run in a tree."""
    variables = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, str(tree / "bench" / bench), *arguments]
    began = time.monotonic()
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.executable, command, variables, file_actions=silent)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{tree.name}: {bench} ended with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("bench", help="a file of bench/")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    rows, ratios = [], []
    for turn in range(options.times):
        (old, old_wall), (new, new_wall) = (
            cpu_seconds(tree.resolve(), options.bench, options.arguments) for tree in (options.old, options.new)
        )
        ratios.append(new / old)
        rows.append(
            [str(turn + 1), f"{old:.1f}", f"{new:.1f}", f"{new / old:.3f}", f"{old_wall:.0f}", f"{new_wall:.0f}"]
        )
        print(*rows[-1], file=sys.stderr, flush=True)
    print(table(["turn", "old CPU s", "new CPU s", "ratio", "old wall s", "new wall s"], rows))
    print(f"{options.bench} {' '.join(options.arguments)}: median ratio {median(ratios):.3f}, {spread(ratios, 3)}")


if __name__ == "__main__":
    main()
