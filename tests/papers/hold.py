"""``make papers``: change every symbol that a claim is about, and see the named test fail.

Writes the table to docs/papers_held.md and exits 1 where a change is survived.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from mutations import MUTATIONS, Mutation  # noqa: E402

_HEAD = """# Claims that are held

Written by `make papers`. Each line is one change of a symbol that a claim of [papers.md](papers.md) is about; the test
that the page names was run with the change in place, and failed.

| claim | symbol | changed | into | held by |
| --- | --- | --- | --- | --- |
"""


def survives(mutation: Mutation) -> str:
    """Why the change was not noticed; nothing where the test failed, as it should."""
    asked = {"module": f"tensorparity.{mutation.module}", "symbol": mutation.symbol}
    change = json.dumps({**asked, "old": mutation.old, "new": mutation.new})
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "mutating", "-p", "no:cacheprovider"]
    command += [mutation.test, *(["-k", mutation.only] if mutation.only else [])]
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "TENSORPARITY_MUTATION": change}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    if ended.returncode == 1 and "failed" in ended.stdout:
        return ""
    last = (ended.stdout.strip().splitlines() or ended.stderr.strip().splitlines() or ["nothing"])[-1]
    return f"exit {ended.returncode}: {last}"


def line(mutation: Mutation) -> str:
    cells = (
        mutation.claim,
        f"`{mutation.module}:{mutation.symbol}`",
        *(_code(t) for t in (mutation.old, mutation.new)),
    )
    held = f"`{mutation.test}`" + (f' (`-k "{mutation.only}"`)' if mutation.only else "")
    return "| " + " | ".join((*cells, held)) + " |"


def _code(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return f"`{plain}`" if plain else "nothing"


def table() -> str:
    return _HEAD + "\n".join(map(line, MUTATIONS)) + "\n"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="where the table goes, if all are held")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="claims that begin so")
    parser.add_argument("--skip", type=int, default=0, help="so many of the first")
    options = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if mutation.claim.startswith(options.only)][options.skip :]
    survived = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutation, why in zip(chosen, pool.map(survives, chosen), strict=True):
            survived += bool(why)
            said = f"survived ({why})" if why else "noticed"
            _say(f"{mutation.claim}: {mutation.module}:{mutation.symbol}: {mutation.new!r}: {said}")
    _say(f"{len(chosen) - survived} of {len(chosen)} changes are noticed by the test that the page names")
    if options.write and not survived:
        options.write.write_text(table(), encoding="utf-8")
    return int(bool(survived))


if __name__ == "__main__":
    sys.exit(main())
