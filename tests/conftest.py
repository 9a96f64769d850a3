"""Shared by all tests: a runner without libraries, and the command line in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.graph import LayerGraph, Node
from tensorparity.core.model import ref_key
from tensorparity.core.outcome import Failure, Outcome, Record, Status, Trace
from tensorparity.core.procedure import Goal
from tensorparity.operators.masks_and_states import MasksAndStates
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.targets.hanging import HangMemory
from tensorparity.targets.pack_memory import PackMemory
from tensorparity.targets.runner import RunnerSettings

Change = Callable[[Array], Array]

# A loaded machine makes no failures.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

#: What a marker stands for, as the package's extras install it.
_NEEDS = {
    "tensorflow": ("keras", "tensorflow"),
    "jax": ("keras", "jax"),
    "torch": ("keras", "torch"),
    "onnxruntime": ("onnxruntime",),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test marked with a library is skipped where the library is missing."""
    for marker, modules in _NEEDS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        for item in items if missing else ():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


@dataclass(frozen=True)
class Ran:
    """One request that reached the fake runner."""

    case: Case
    target: str
    fresh: bool
    deadline_factor: float


class NodeError(Exception):
    """What a fake target raises in the node of that key."""


@dataclass
class FakeRunner:
    """A Runner in pure NumPy: the reference, rounded to float32 after each layer, with errors on demand.

    Args:
        planted: per target, what happens to the output of a layer (by layer name or by type).
        raising: per target, layers that raise.
        whole: per target, what happens to the outputs of an uninstrumented run only.
        fuses: graphs to which that happens.
        tame: per layer, what every target does to inputs that the reference refuses.
        ends: per target, the status that requests end with, those that ``fails_on`` says.
        custom: layer types that the catalogue does not know.
        lost: as ``planted``, of a model that was saved and loaded only.
        only_once: planted errors and ends do not show in fresh workers.
        files: by digest, the graph and the weights in model files that every target reads; no other file is read.
    """

    targets: Sequence[str] = ("fake:a", "fake:b", "fake:c")
    planted: Mapping[str, Mapping[str, Change]] = field(default_factory=dict)
    raising: Mapping[str, Sequence[str]] = field(default_factory=dict)
    whole: Mapping[str, Change] = field(default_factory=dict)
    fuses: Callable[[LayerGraph], bool] = lambda graph: True
    tame: Mapping[str, Change] = field(default_factory=dict)
    ends: Mapping[str, Status] = field(default_factory=dict)
    fails_on: Callable[[Case], bool] = lambda case: True
    custom: Mapping[str, Change] = field(default_factory=dict)
    lost: Mapping[str, Mapping[str, Change]] = field(default_factory=dict)
    only_once: bool = False
    files: Mapping[str, tuple[LayerGraph, Mapping[str, Array]]] = field(default_factory=dict)
    circumstances: str = "fake 1.0"
    ran: list[Ran] = field(default_factory=list)
    broken: Mapping[str, Exception] = field(default_factory=dict)
    hanging: HangMemory = field(default_factory=HangMemory)
    packing: PackMemory = field(default_factory=PackMemory)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    settings: RunnerSettings = field(default_factory=RunnerSettings)

    def within(self, limit: object) -> Any:
        return self

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        outcomes = []
        for case, target in pairs:
            self.ran.append(Ran(case, target, fresh, deadline_factor))
            outcomes.append(self._run(case, target, fresh))
            if on_outcome:
                on_outcome(outcomes[-1])
        return outcomes

    def desk(self, target: str) -> Any:
        return SimpleNamespace(
            circumstances=self.circumstances, limited=lambda limit: SimpleNamespace(time_limit=limit)
        )

    def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
        healthy = fresh and self.only_once
        record = Record(versions={"fake": "1.0"})
        status = self.ends.get(target)
        if status and not healthy and self.fails_on(case):
            failure = Failure("FakeError", f"{target} does not feel like it")
            return Outcome(target, status, failure=failure, record=record)
        if isinstance(case.subject, ModelFile):
            if case.subject.sha256 not in self.files:
                return Outcome(target, Status.UNSUPPORTED, record=record)
            inside, weights = self.files[case.subject.sha256]
            if case.procedure.goal is Goal.LAYERS:
                return Outcome(target, Status.COMPLETED, weights, record=record, reply={"graph": inside.to_json()})
            case = replace(case, subject=inside, weights=weights)
        try:
            nodes = self._nodes(case, target, healthy)
        except NodeError as error:
            failure = Failure("NodeError", f"no {error} here", node=str(error))
            return Outcome(target, Status.RAISED, failure=failure, record=record)
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        if case.procedure.goal is Goal.REPLAY:
            return Outcome(target, Status.COMPLETED, trace=Trace(nodes=nodes), record=record)
        outputs = {ref.node: nodes[ref_key(graph, ref)] for ref in graph.outputs}
        if case.procedure.trace:
            return Outcome(target, Status.COMPLETED, outputs, Trace(nodes=nodes), record=record)
        if target in self.whole and not healthy and self.fuses(graph):
            outputs = {name: self.whole[target](array) for name, array in outputs.items()}
        return Outcome(target, Status.COMPLETED, outputs, record=record)

    def _nodes(self, case: Case, target: str, healthy: bool) -> dict[str, Array]:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        replayed = case.procedure.nodes
        found: dict[str, Array] = {}
        beside = MasksAndStates()
        for node in graph.nodes:
            if case.procedure.goal is not Goal.REPLAY:
                keys = [ref_key(graph, ref) for ref in node.inputs]
                given = [case.inputs[key] if key in case.inputs else found[key] for key in keys]
            elif node.key in replayed:
                given = [case.inputs[f"{node.key}/{index}"] for index in range(len(node.inputs))]
            else:
                continue
            found[node.key] = self._layer(node, given, case, target, healthy, beside)
        return found

    def _layer(
        self,
        node: Node,
        given: Sequence[Array],
        case: Case,
        target: str,
        healthy: bool,
        beside: MasksAndStates,
    ) -> Array:
        if node.layer in self.raising.get(target, ()):
            raise NodeError(node.key)
        if node.op in self.custom:
            output = self.custom[node.op](given[0])
        else:
            with np.errstate(over="ignore"):
                tamed = [self.tame[node.layer](array) for array in given] if node.layer in self.tame else given
                output = evaluate_node(node, tamed, case.weights, beside=beside)[0].value.astype(np.float32)
        changes = {} if healthy else self.planted.get(target, {})
        if case.procedure.reload:
            changes = {**changes, **self.lost.get(target, {})}
        change = changes.get(node.layer) or changes.get(node.op)
        return change(output) if change else output


@pytest.fixture(scope="session")
def fake_runner() -> type[FakeRunner]:
    return FakeRunner


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.stdout)

    @property
    def complaints(self) -> list[str]:
        """What standard error says, without the pointer to the help and the lines of progress."""
        return [line for line in self.stderr.splitlines() if not line.startswith(("Try '", "["))]


@dataclass(frozen=True)
class CommandLine:
    """``tensorparity`` as a user runs it, with a home and caches of its own."""

    folder: Path
    variables: Mapping[str, str]

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-c", "from tensorparity.cli.main import main; main()"]

    def __call__(self, *arguments: object, timeout: float = 300) -> Ended:
        done = subprocess.run(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=dict(self.variables),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def tensorparity(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    home = tmp_path_factory.mktemp("home")
    variables = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "COLUMNS": "120"}
    return CommandLine(home, variables)


@pytest.fixture(scope="session")
def save_keras(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Have a process of its own build ``model`` with Keras on torch and save it; weights are seeded."""

    def save(name: str, source: str) -> Path:
        path = tmp_path_factory.mktemp("models") / name
        script = f"import keras\nkeras.utils.set_random_seed(0)\n{textwrap.dedent(source)}\nmodel.save({str(path)!r})\n"
        variables = {**os.environ, "KERAS_BACKEND": "torch", "CUDA_VISIBLE_DEVICES": "-1"}
        subprocess.run([sys.executable, "-c", script], env=variables, check=True, capture_output=True, timeout=300)
        return path

    return save


@pytest.fixture(scope="session")
def torch_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of exported torch programs, made by ``torch_programs.py`` in a process of its own."""
    folder = tmp_path_factory.mktemp("programs")
    script = Path(__file__).with_name("torch_programs.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True, timeout=300)
    return folder
