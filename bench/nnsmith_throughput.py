"""How many small forward networks a CPU-minute sees generated, run on torch and ONNX Runtime, and compared.

Usage: nnsmith_throughput.py [MODELS] [NODES] [PYTHON OF NNSMITH] [SECONDS]

Ours: networks of up to NODES layers, and of so few that they have as many nodes as NNSmith's; generated, lowered twice,
run by torch:eager and onnxruntime with one thread each, and judged node by node against the references and each other.
CPU time is that of this process and of both workers, after they were started. Only networks that both completed count.
With the interpreter of an environment that has NNSmith (0.1.0, with the same torch and onnxruntime), its own loop is
measured beside it: it generates the model, runs it in torch, exports it and runs the file in ONNX Runtime. Operators
and values of both are counted in the ONNX files.

``--profile`` prints where our own process spends its time instead.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from measuring import cpu_of, spending, table

from tensorparity.core.capabilities import within_reach
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.graph import LayerGraph
from tensorparity.core.onnx.model import parse_model
from tensorparity.core.oracle import Setup
from tensorparity.core.policies import PLAIN
from tensorparity.core.procedure import Goal
from tensorparity.core.verdict import Judgement, Stage
from tensorparity.generators.networks.networks import Network, NetworkGenerator, NetworkSettings
from tensorparity.oracles.step_facts import STEP
from tensorparity.targets.catalogue import ONNXRUNTIME, traits_of
from tensorparity.targets.lowering.onnx import lower_to_onnx
from tensorparity.targets.lowering.onnx_layers import LAYERS as IN_ONNX
from tensorparity.targets.lowering.pytorch.layers import LAYERS as IN_TORCH
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.examine import Examined, Examiner

TARGETS = ("torch:eager", "onnxruntime")
#: Layers at most of a network that has, with what fits their shapes to each other, as many nodes as one of NNSmith's.
FEWER = 2
#: Networks of one round trip.
ROUND = 32


@dataclass
class Counts:
    """What was run, in the words of both tools."""

    models: int = 0
    nodes: int = 0
    elements: int = 0
    operators: set[str] = field(default_factory=set)
    values: set[tuple[str, str, str]] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    failing: int = 0

    def add(self, step: Examined) -> None:
        done = [outcome for outcome in step.own.values() if outcome.completed]
        if len(done) < len(TARGETS):
            self.refused.update(step.judged.facts[STEP].unsupported.values())
            return
        self.models += 1
        assert isinstance(step.case.subject, LayerGraph)
        self.nodes += len(step.case.subject.nodes)
        self.elements += sum(array.size for array in done[0].trace.nodes.values())
        self.failing += any(verdict.judgement is Judgement.FAIL for verdict in step.judged.verdicts)

    def look_into(self, case: Case) -> None:
        lowered = lower_to_onnx(within_reach(case, ONNXRUNTIME.traits))
        if isinstance(lowered, str):
            return
        for node in parse_model(lowered[1]["weights:model"].tobytes()).graph.nodes:
            self.operators.add(node.op)
            self.values |= {(node.op, name, repr(value)) for name, value in node.attributes.items()}


class Ours:
    """Generation, both targets and the judgement, in rounds."""

    def __init__(self, vertices: int, seed: int = 1) -> None:
        layers = tuple(sorted(set(IN_ONNX) & set(IN_TORCH)))
        # Both lower float32 alone.
        settings = NetworkSettings(
            layers=layers, max_vertices=vertices, goal=Goal.FORWARD, training=False, policies=(PLAIN.name,)
        )
        self.generator = NetworkGenerator(seed, settings)
        self._runner = open_runner(TARGETS, RunnerSettings(workers=len(TARGETS)))
        stages = {"training_step": {"stages": [Stage.BUILD.value, Stage.FORWARD.value]}}
        self._examiner = Examiner(self._runner, Setup(seed, TARGETS, traits_of(TARGETS)), settings=stages)

    def __enter__(self) -> Ours:
        return self

    def __exit__(self, *ending: object) -> None:
        self._runner.close()

    def round(self) -> tuple[list[Network], list[Examined]]:
        networks = [self.generator.next() for _ in range(ROUND)]
        return networks, self._examiner.examine([Ask(network.case, oracles=("training_step",)) for network in networks])


def _workers() -> float:
    return sum(cpu_of(process) for process in psutil.Process().children(recursive=True))


def measure_ours(models: int, vertices: int) -> tuple[Counts, float, str]:
    """Counts, CPU seconds, and where they went."""
    counts, cases = Counts(), []
    with Ours(vertices) as ours:
        ours.round()  # starts the workers
        with spending(_workers) as spent:
            while counts.models < models:
                networks, steps = ours.round()
                cases += [network.case for network in networks]
                for step in steps:
                    counts.add(step)
        covered = ours.generator.coverage.to_json()
    for case in cases:
        counts.look_into(case)
    layers, values = covered["layers"], covered["values"]
    said = [
        f"{1000 * spent.here / counts.models:.1f} ms per model in our process",
        f"{1000 * spent.others / counts.models:.1f} ms in the workers",
        f"layers {layers['used']} of {layers['declared']}, their values {values['used']} of {values['declared']}",
        f"{sum(counts.refused.values())} networks refused by a target, {counts.failing} judged to fail",
    ]
    return counts, spent.cpu, "; ".join(said)


def measure_nnsmith(python: str, seconds: int, nodes: int) -> dict[str, float]:
    """NNSmith's loop in its own environment; that its first run probes all operators is not counted."""
    driver = Path(__file__).with_name("nnsmith_driver.py")
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(driver), str(seconds), str(nodes), str(Path(folder) / "reports")]
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        variables.pop("PYTHONPATH", None)
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, check=False)
    for line in ended.stdout.splitlines():
        if line.startswith("RESULT "):
            found: dict[str, float] = json.loads(line.removeprefix("RESULT "))
            return found
    raise SystemExit(f"NNSmith ended with {ended.returncode}:\n{ended.stderr[-2000:]}")


def row(name: str, counts: Sequence[float]) -> list[str]:
    models, cpu, nodes, elements, operators, values = counts
    return [
        name,
        f"{models:.0f}",
        f"{60 * models / cpu:.0f}",
        f"{nodes / models:.1f}",
        f"{elements / models:.0f}",
        f"{operators:.0f}",
        f"{values:.0f}",
    ]


def main(models: int = 600, vertices: int = 5, python: str = "", seconds: int = 60) -> None:
    rows, remarks = [], []
    for most in (vertices, FEWER):
        counts, cpu, more = measure_ours(models, most)
        found = [counts.models, cpu, counts.nodes, counts.elements, len(counts.operators), len(counts.values)]
        rows.append(row(f"TensorParity, MAX_v = {most}", found))
        remarks.append(f"MAX_v = {most}: {more}")
    if python:
        other = measure_nnsmith(python, seconds, vertices)
        names = ("models", "cpu_seconds", "nodes", "elements", "operators", "values")
        rows.append(row("NNSmith", [other[name] for name in names]))
    head = ["", "models", "per CPU-minute", "nodes", "elements compared", "operator types", "parameter values"]
    print(table(head, rows))
    print("\n".join(remarks))


def profile(rounds: int = 12, vertices: int = 5) -> None:
    with Ours(vertices) as ours:
        ours.round()
        profiler = cProfile.Profile()
        profiler.enable()
        for _ in range(rounds):
            ours.round()
        profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--profile"]:
        profile(*map(int, arguments[1:]))
    else:
        numbers = [int(text) for text in arguments[:2]]
        main(*numbers, *arguments[2:3], *(int(text) for text in arguments[3:]))
