"""End-to-end seconds of ``compare`` per model of the zoo, beside the paper's "under 5 minutes".

Every command is a process of its own that starts its workers, runs the model on its data on every target, compares,
looks at the layers, and writes the report; outcomes are not taken from a cache.

    python bench/zoo_times.py --models lenet5,resnet20
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from measuring import median, table

from tensorparity.zoo.entries import ARCHITECTURES

TARGETS = "keras:tensorflow,keras:jax,keras:torch,onnxruntime"
PAPER = 300.0


@dataclass(frozen=True)
class Run:
    """One command: seconds on the wall, its phases, and what it said."""

    model: str
    code: int
    seconds: float
    phases: dict[str, float]
    cases: int
    findings: int

    def cells(self) -> list[str]:
        phases = [f"{self.phases.get(name, 0.0):.1f}" for name in ("extract", "compare", "localize", "high precision")]
        return [self.model, str(self.cases), *phases, f"{self.seconds:.1f}", str(self.findings)]


def measure(model: str, targets: str) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-c", "from tensorparity.cli.main import main; main()", "compare", f"zoo:{model}",
            "--targets", targets, "--no-cache", "--out", folder, "--format", "json", "--quiet",
        ]  # fmt: skip
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    document = json.loads(done.stdout)
    stats = document["stats"]
    return Run(model, done.returncode, seconds, stats["phases"], stats["cases"], len(document["findings"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(ARCHITECTURES))
    parser.add_argument("--targets", default=TARGETS)
    options = parser.parse_args()
    runs: list[Run] = []
    for model in options.models.split(","):
        runs.append(measure(model, options.targets))
        print(" ".join(runs[-1].cells()), flush=True)
    head = (
        "model",
        "inputs",
        "extract s",
        "compare s",
        "localize s",
        "high precision s",
        "whole command s",
        "findings",
    )
    print(table(head, [run.cells() for run in runs]))
    seconds = [run.seconds for run in runs]
    print(
        f"median {median(seconds):.1f} s, longest {max(seconds):.1f} s over {len(runs)} models at load "
        f"{os.getloadavg()[0]:.1f}; the paper's median is under {PAPER:.0f} s"
    )


if __name__ == "__main__":
    main()
