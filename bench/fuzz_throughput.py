"""How many networks a minute ``fuzz`` gets through, and where the time goes.

Usage: fuzz_throughput.py [MODELS] [VERTICES] [TARGETS]

Forward, loss and backward on three Keras targets, generation and judging included. Beside the rate: the depth of the
networks, the share of the CPU time spent inside the libraries (what is left is ours), and what was covered.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time

from tensorparity.commands.fuzz import FuzzSettings, fuzz, read_stages
from tensorparity.generators.networks.networks import NetworkSettings
from tensorparity.targets.runner import RunnerSettings

TARGETS = "keras:tensorflow,keras:jax,keras:torch"


def main(models: int = 60, vertices: int = 20, targets: str = TARGETS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = FuzzSettings(
            targets=targets.split(","),
            models=models,
            stages=read_stages("forward,loss,backward"),
            networks=NetworkSettings(max_vertices=vertices),
            store=folder,
            runner=RunnerSettings(),
        )
        began = time.monotonic()
        stats = fuzz(settings).facts.stats
        wall = time.monotonic() - began
    host = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    inside = sum(stats["cpu_seconds"].values())
    judging = sum(stats["tables"]["seconds"].values())
    print(f"{models} networks of {stats['mean_layers']:.1f} layers ({stats['mean_nodes']:.1f} nodes with reshaping)")
    print(
        f"{60 * models / wall:.1f} per minute with starting workers and confirming, {60 * models / judging:.1f} without"
    )
    for target, seconds in stats["cpu_seconds"].items():
        print(f"  {target}: {seconds / models:.2f} CPU s per network")
    print(f"  host: {host / models:.2f} CPU s per network")
    print(f"inside the libraries: {100 * inside / (inside + host):.0f} % of the CPU time")
    print(f"covered: {stats['coverage']}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*(int(text) for text in arguments[:2]), *arguments[2:])
