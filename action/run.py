"""Step of the action: run the command, and hand its result to the job. Python's own library, nothing else.

Everything comes in by the environment, so that no input is ever pasted into a shell.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

#: Job summaries are cut at a megabyte by the host; this leaves room for other steps.
MOST_SUMMARY = 900_000


def main() -> None:
    folder = Path(os.environ["TENSORPARITY_FOLDER"])
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"tensorparity.{suffix}" for name, suffix in _SUFFIXES.items()}
    command = [*shlex.split(os.environ["TENSORPARITY_COMMAND"]), "--out", str(folder)]
    for name, path in files.items():
        path.unlink(missing_ok=True)  # of an earlier run
        command += ["--write", f"{name}={path}"]
    code = subprocess.run([sys.executable, "-m", "tensorparity", *command], check=False).returncode
    document = json.loads(files["json"].read_text()) if files["json"].exists() else {}
    _add("GITHUB_STEP_SUMMARY", _summary(files["markdown"], code))
    _add("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in _outputs(document, files, folder, code)))


_SUFFIXES = {"json": "json", "markdown": "md", "sarif": "sarif", "junit": "xml"}


def _outputs(document: dict[str, Any], files: dict[str, Path], folder: Path, code: int) -> list[tuple[str, object]]:
    page = folder / "report.html"
    return [
        ("code", code),
        ("findings", len(document.get("findings", []))),
        ("new-findings", document.get("stats", {}).get("new_defects", 0)),
        ("report-path", page if page.exists() else ""),
        ("sarif-path", files["sarif"] if files["sarif"].exists() else ""),
    ]


def _summary(markdown: Path, code: int) -> str:
    if not markdown.exists():
        return f"TensorParity ended with exit code {code} and no report; the log says why.\n"
    text = markdown.read_text()
    return text if len(text) <= MOST_SUMMARY else text[:MOST_SUMMARY] + "\n\nCut here; the artifact has the rest.\n"


def _add(variable: str, text: str) -> None:
    """Append to one of the runner's files; outside of a runner there is none."""
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
