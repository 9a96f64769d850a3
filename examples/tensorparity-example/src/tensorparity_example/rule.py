"""The rule ``twice``: a ReLU of a ReLU is the ReLU."""

from __future__ import annotations

from dataclasses import replace

from tensorparity.plugin import ApiCall, Case, Counterpart, LayerGraph, Node, Ref


class Twice:
    """A ReLU of a ReLU is the ReLU: of calls, which ``equiv`` and ``hunt`` propose, and of graphs that end in one."""

    name = "twice"

    def applies(self, api: str) -> bool:
        """Whether it speaks of a public function; functions of no rule are not tried. May be left out."""
        return api.rpartition(".")[-1] == "relu"

    def counterpart(self, case: Case) -> Counterpart | None:
        subject = case.subject
        if isinstance(subject, ApiCall):
            return Counterpart(ApiCall(subject.api, (subject,))) if self.applies(subject.api) else None
        return _of_graph(subject) if isinstance(subject, LayerGraph) else None


def _of_graph(graph: LayerGraph) -> Counterpart | None:
    last = graph.nodes[-1]
    if last.op != "ReLU" or len(graph.outputs) != 1:
        return None
    before = Node(f"{last.layer}_before", "ReLU", last.inputs, last.params)
    once_more = replace(last, inputs=(Ref(before.name),))
    return Counterpart(replace(graph, nodes=(*graph.nodes[:-1], before, once_more)))


TWICE = Twice()
