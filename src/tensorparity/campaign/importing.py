"""Having a worker read a model file into a LayerGraph, or train a graph of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.arrays import Array
from ..core.case import Case
from ..core.errors import ModelRefusedError, RunError
from ..core.graph import LayerGraph
from ..core.jsontext import Json
from ..core.messages import gist
from ..core.model import Model
from ..operators.catalogue import has_layer, layer
from ..targets.requests import End, Reply
from ..targets.runner import LocalRunner
from ..zoo.data import Part

_IMPORT_SECONDS = 300.0
_TRAIN_SECONDS = 3600.0
#: Of an unknown layer's configuration: what concerns Keras' bookkeeping, not the computation.
_BOOKKEEPING = ("name", "trainable", "dtype", "build_config")


def import_graph(runner: LocalRunner, model: Model, targets: Sequence[str], trust: bool) -> Model:
    """The model with its graph and weights, read by the first target that can.

    Raises:
        ModelRefusedError: if no target that reads such files succeeds.
    """
    assert model.file is not None
    readers = [target for target in targets if model.reads_file(target) and target not in runner.broken]
    problem = f"none of the targets reads .{model.file.format} files"
    for target in readers:
        header = {"do": "import", "path": model.file.path, "sha256": model.file.sha256, "trust": trust}
        reply = runner.ask(target, header, {}, _IMPORT_SECONDS)
        if reply.end is End.ANSWERED and reply.header["status"] == "completed":
            graph = LayerGraph.from_json(_trim(reply.header["graph"]))
            weights = {name.partition(":")[2]: array for name, array in reply.arrays.items()}
            return replace(model, graph=graph, weights=weights)
        problem = f"{target}: {_problem(reply)}"
    raise ModelRefusedError(f"{model.name} could not be read: {problem}")


def _trim(graph: Json) -> Json:
    """Keep of each layer's configuration what the catalogue declares and what is not at its default."""
    for node in graph["nodes"]:
        params = node["params"]
        if has_layer(node["op"]):
            spec = layer(node["op"])
            declared = spec.significant(params)
            if declared.get("data_format") == "channels_last":
                del declared["data_format"]  # Keras writes its default out
            node["params"] = declared
        else:
            node["params"] = {name: value for name, value in params.items() if name not in _BOOKKEEPING}
    return graph


def train_graph(
    runner: LocalRunner,
    target: str,
    graph: LayerGraph,
    weights: dict[str, Array],
    part: Part,
    recipe: dict[str, Json],
) -> dict[str, Array]:
    """Have ``target`` fit the graph from these weights; return the weights.

    Raises:
        RunError: if training failed.
    """
    case = Case(graph, inputs=part.inputs, labels={graph.outputs[0].node: part.labels}, weights=weights)
    header = {"do": "train", "case": case.header(), "training": recipe}
    reply = runner.ask(target, header, case.arrays(), _TRAIN_SECONDS)
    if reply.end is not End.ANSWERED or reply.header["status"] != "completed":
        raise RunError(f"training {graph.name} on {target} failed: {_problem(reply)}")
    return {name.partition(":")[2]: array for name, array in reply.arrays.items()}


def _problem(reply: Reply) -> str:
    if reply.end is not End.ANSWERED:
        return f"{reply.end.value} ({reply.ending})" if reply.end is End.DIED else str(reply.end.value)
    failure = reply.header["failure"]
    return f"{failure['type']}: {gist(failure['message'])}"
