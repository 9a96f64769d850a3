"""Weights for the zoo: calibrated by seed, or trained once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..core.archives import UNREADABLE
from ..core.arrays import Array, dtype_named, is_floating
from ..core.atomic import replacing_file
from ..core.graph import LayerGraph, Node, Ref
from ..core.jsontext import Json, canonical
from ..operators.catalogue import layer
from ..operators.reference.evaluate import calibrate, declare_weights, draw_weights, evaluate
from ..operators.spec import Domain, WeightSpec
from .entries import Entry

_CALIBRATION_INSTANCES = 8
_OPEN_SIZE = 8


# Calibrated


def calibrated_weights(graph: LayerGraph, seed: int) -> dict[str, Array]:
    """Seeded weights with normalization statistics from one seeded batch and logits of unit deviation.

    A single value is centred as well: its deviation may be a small part of it, and what bounds it would be saturated.
    """
    rng = np.random.default_rng([seed, 0x2E])
    batch = sample_inputs(graph, rng, _CALIBRATION_INSTANCES)
    weights = calibrate(graph, draw_weights(graph, rng), batch)
    values = [node for node in graph.nodes if node.op == "Dense" and node.params["units"] == 1]
    for node in values:
        linear = replace(node, params={**node.params, "activation": None})
        middle = evaluate(_ending_in(graph, linear), batch, weights, keep=[node.key])[node.key][0].value.mean()
        key = f"{node.layer}/bias"
        weights[key] = (weights[key] - middle).astype(np.float32)
    return weights


def _ending_in(graph: LayerGraph, last: Node) -> LayerGraph:
    """The graph up to a node, which is replaced."""
    before = itertools.takewhile(lambda node: node.name != last.name, graph.nodes)
    return LayerGraph(graph.inputs, (*before, last), (Ref(last.name),), graph.name)


def sample_inputs(graph: LayerGraph, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Inputs that the graph's first layers accept: normal numbers, or indices in the range of an Embedding."""
    domains = input_domains(graph)
    found: dict[str, Array] = {}
    for item in graph.inputs:
        shape = (count, *(size or _OPEN_SIZE for size in item.shape))
        domain = domains[item.name]
        if is_floating(item.dtype) and domain.low is None:
            found[item.name] = rng.standard_normal(shape).astype(item.dtype)
        else:
            drawn = rng.integers(int(domain.low or 0), int(domain.high or 2), shape)
            found[item.name] = drawn.astype(dtype_named(item.dtype))
    return found


def input_domains(graph: LayerGraph) -> dict[str, Domain]:
    """What each input may hold, by what the layers say that read it; the narrowest where several do."""
    found = {item.name: Domain() for item in graph.inputs}
    for node in graph.nodes:
        spec = layer(node.op)
        for index, ref in enumerate(node.inputs):
            domain, known = spec.domain_of(spec.complete(node.params), index), found.get(ref.node)
            if known is None:
                continue
            if domain.high is not None and (known.high is None or domain.high < known.high):
                found[ref.node] = domain
    return found


# Where training starts


def starting_weights(entry: Entry, graph: LayerGraph) -> dict[str, Array]:
    """As libraries initialize: kernels by their size, recurrent ones orthogonal, the rest neutral."""
    rng = np.random.default_rng(0)
    declared = declare_weights(graph)
    return {key: _start(key, spec, entry, rng).astype(np.float32) for key, spec in declared.items()}


def _start(key: str, spec: WeightSpec, entry: Entry, rng: np.random.Generator) -> Array:
    if spec.role in ("scale", "variance"):
        return np.ones(spec.shape)
    if spec.role != "kernel":
        return np.zeros(spec.shape)
    if key.endswith("/recurrent_kernel"):
        return _orthogonal(spec.shape, rng)
    if key.endswith("/embeddings"):
        return rng.uniform(-0.05, 0.05, spec.shape)
    if entry.dense_deviation is not None and len(spec.shape) == 2:
        return rng.normal(0.0, entry.dense_deviation, spec.shape)
    return rng.normal(0.0, np.sqrt(2.0 / max(1, spec.fan_in)), spec.shape)


def _orthogonal(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """One orthogonal matrix per gate, side by side."""
    units = shape[0]
    blocks = [np.linalg.qr(rng.standard_normal((units, units)))[0] for _ in range(shape[1] // units)]
    return np.concatenate(blocks, axis=1)


# Trained


@dataclass(frozen=True)
class TrainingRecord:
    """How a training went.

    Args:
        target: who trained.
        score: accuracy on the validation part; of values, the mean absolute error.
        spread: of values, their standard deviation: what guessing the mean would miss by.
    """

    target: str
    seconds: float
    score: float
    spread: float | None = None

    def describe(self) -> str:
        if self.spread is None:
            return f"accuracy {self.score:.3f}"
        return f"mean error {self.score:.3g}, labels spread by {self.spread:.3g}"

    def to_json(self) -> Json:
        return {"target": self.target, "seconds": self.seconds, "score": self.score, "spread": self.spread}


@dataclass(frozen=True)
class Shelf:
    """Where trained weights are kept: a file per model, named after all that decided what is in it."""

    folder: Path

    def path(self, entry: Entry, graph: LayerGraph) -> Path:
        made_by = [graph.to_json(), entry.recipe(), entry.data, entry.origin, entry.instances, entry.dense_deviation]
        digest = hashlib.sha256(canonical(made_by).encode()).hexdigest()[:16]
        return self.folder / "zoo" / f"{entry.name}-{digest}.npz"

    def load(self, entry: Entry, graph: LayerGraph) -> dict[str, Array] | None:
        """The weights, or None if it has not been trained or the file is damaged."""
        try:
            with self.path(entry, graph).open("rb") as file:
                archive = np.load(file, allow_pickle=False)
                found = {name.replace("|", "/"): archive[name] for name in archive.files}
        except UNREADABLE:
            return None
        declared = declare_weights(graph)
        complete = set(found) == set(declared)
        return found if complete and all(found[k].shape == spec.shape for k, spec in declared.items()) else None

    def training(self, entry: Entry, graph: LayerGraph) -> TrainingRecord | None:
        """How the weights came about; None where nothing is kept."""
        path = self.path(entry, graph)
        if not path.exists():
            return None
        try:
            known = json.loads(path.with_suffix(".json").read_text())
            return TrainingRecord(known["target"], known["seconds"], known["score"], known["spread"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, entry: Entry, graph: LayerGraph, weights: dict[str, Array], training: TrainingRecord) -> None:
        path = self.path(entry, graph)
        with replacing_file(path.with_suffix(".json")) as note:
            note.write(json.dumps(training.to_json()).encode())
        with replacing_file(path) as file:
            np.savez(file, allow_pickle=False, **{name.replace("/", "|"): array for name, array in weights.items()})
