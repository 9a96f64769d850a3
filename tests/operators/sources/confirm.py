"""Sources run on cases, and what they confirm: the largest scaled errors per reference, and every failure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.operators.catalogue import layer_names

from . import table
from .cases import Case, layer_cases, loss_cases, optimizer_cases, seeded
from .measure import BOUND, Slope, draw_direction, gradient_error, scaled_error, slope

#: Shares of all numbers that a direction moves: fewer where kinks are too close for all.
_SHARES = (1.0, 0.25, 0.05)

Name = tuple[str, str]


@dataclass
class Confirmation:
    """What one source says of one reference.

    Args:
        values, gradients: the largest scaled errors.
        cases, sloped, kinked: how many cases; how many whose gradient was compared; how many too close to a kink.
        failures: what was wrong, in words.
    """

    values: float = 0.0
    gradients: float = 0.0
    cases: int = 0
    sloped: int = 0
    kinked: int = 0
    failures: list[str] = field(default_factory=list)

    def add_values(self, error: float, about: str) -> None:
        self.cases += 1
        self.values = max(self.values, error)
        if not error <= BOUND:
            self.failures.append(f"{about}: values off by {error:.2g}")

    def add_gradients(self, error: float | None, about: str) -> None:
        if error is None:
            self.kinked += 1
            return
        self.sloped += 1
        self.gradients = max(self.gradients, error)
        if not error <= BOUND:
            self.failures.append(f"{about}: gradients off by {error:.2g}")


def draw_cases(draws: int, draw_example: Callable[..., Any]) -> Iterator[Case]:
    """Of everything that a library has a source for."""
    for name in layer_names():
        if _in_a_library(table.LAYERS[name]):
            yield from layer_cases(name, draws, draw_example)
    for name, sources in table.LOSSES.items():
        if _in_a_library(sources):
            yield from loss_cases(name, draws)
    for name, sources in table.OPTIMIZERS.items():
        if _in_a_library(sources):
            yield from optimizer_cases(name, draws)


def _in_a_library(sources: table.Sources) -> bool:
    return any(library in sources for library in table.LIBRARIES)


def launch(library: str, folder: Path, cases: Sequence[Case]) -> subprocess.Popen[str]:
    """A process that computes the cases; what it says goes into a file, so that nobody waits for a full pipe."""
    folder.mkdir(parents=True, exist_ok=True)
    told = [case.document() for case in cases if library in table.sources_of(case.kind, case.name)]
    (folder / "cases.json").write_text(json.dumps(told))
    np.savez(folder / "arrays.npz", **{f"{case.key}/{name}": a for case in cases for name, a in case.given().items()})
    here = Path(__file__).parents[1]
    path = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    files = [str(folder / name) for name in ("cases.json", "arrays.npz", "results.npz", "answers.json")]
    with open(folder / "messages", "w") as messages:
        return subprocess.Popen(
            [sys.executable, "-m", "sources.child", library, *files],
            env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
            cwd=folder,
            stdout=messages,
            stderr=messages,
            text=True,
        )


class Judge:
    """Compares what sources computed with the references; slopes of references are computed once for all sources."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self._slopes: dict[tuple[str, float], tuple[dict[str, Array], Slope]] = {}

    def confirmations(self, library: str, folder: Path) -> dict[Name, Confirmation]:
        answers = json.loads((folder / "answers.json").read_text())["cases"]
        with np.load(folder / "results.npz", allow_pickle=False) as file:
            results = dict(file)
        found: dict[Name, Confirmation] = {}
        for case in self._cases:
            if library in table.sources_of(case.kind, case.name):
                one = found.setdefault((case.kind, case.name), Confirmation())
                self._compare(case, answers[case.key], results, one)
        return found

    def _compare(self, case: Case, answer: dict[str, Any], results: Mapping[str, Array], one: Confirmation) -> None:
        if "error" in answer:
            one.failures.append(f"{case.about()}: {answer['error']}")
            return
        evaluations = case.reference(case.arrays)
        named = [name for name in answer["names"] if name.startswith("output/")]
        if len(named) != len(evaluations):
            one.failures.append(f"{case.about()}: {len(named)} outputs, expected {len(evaluations)}")
            return
        errors = [scaled_error(results[f"{case.key}/output/{n}"], found) for n, found in enumerate(evaluations)]
        one.add_values(max(errors), case.about())
        if case.moved:
            gradients = {name: results[f"{case.key}/gradient/{name}"] for name in case.moved}
            one.add_gradients(self._gradient_error(case, gradients), case.about())

    def _gradient_error(self, case: Case, gradients: Mapping[str, Array]) -> float | None:
        for share in _SHARES:
            direction, found = self._slope(case, share)
            error = gradient_error(found, direction, case.cotangents, gradients)
            if error is not None:
                return error
        return None

    def _slope(self, case: Case, share: float) -> tuple[dict[str, Array], Slope]:
        key = (case.key, share)
        if key not in self._slopes:
            rng = seeded(f"{case.key} {share}")
            direction = draw_direction(case.arrays, case.moved, rng, share, relative=case.relative)
            self._slopes[key] = direction, slope(case.reference, case.arrays, direction)
        return self._slopes[key]
