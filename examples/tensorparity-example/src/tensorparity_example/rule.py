"""The rule ``twice``: a ReLU of a ReLU is the ReLU."""

from __future__ import annotations

from dataclasses import replace

from tensorparity.plugin import Case, Counterpart, LayerGraph, Node, Ref


class Twice:
    """Applies to graphs that end in a ReLU."""

    name = "twice"

    def counterpart(self, case: Case) -> Counterpart | None:
        graph = case.subject
        if not isinstance(graph, LayerGraph) or graph.nodes[-1].op != "ReLU" or len(graph.outputs) != 1:
            return None
        last = graph.nodes[-1]
        before = Node(f"{last.layer}_before", "ReLU", last.inputs, last.params)
        once_more = replace(last, inputs=(Ref(before.name),))
        return Counterpart(replace(graph, nodes=(*graph.nodes[:-1], before, once_more)), rule=self.name)


TWICE = Twice()
