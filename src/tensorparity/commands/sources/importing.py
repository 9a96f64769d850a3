"""Having a worker train a graph of ours."""

from __future__ import annotations

from ...core.arrays import Array
from ...core.case import Case
from ...core.errors import RunError
from ...core.graph import LayerGraph
from ...core.jsontext import Json
from ...core.messages import gist
from ...targets.requests import End, Reply
from ...targets.runner import LocalRunner
from ...zoo.data import Part

_TRAIN_SECONDS = 3600.0


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
