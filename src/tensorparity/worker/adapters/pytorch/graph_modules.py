"""A program of torch's functions as one module, for compilers."""

import operator

import torch
from torch import fx

from .graphs import GraphProgram, function

#: What is added to a tensor so that its gradient can be asked for.
ADDED = "d:"


class GraphModule(object):
    """The module, the names of the tensors it takes, and of those it gives, which are ``wanted``.

    To each tensor of ``watched`` another one is added, which the module takes as ``d:`` and its name: the gradient of
    that one is the gradient there. With a ``loss`` nothing else that the module gives is differentiable.
    """

    def __init__(self, subject, wanted, watched=(), loss=None):
        self.taken, self.given = [], list(wanted)
        graph, values = fx.Graph(), {}
        program = GraphProgram(subject, _nobody)
        for name in _leaves(subject, wanted) + [ADDED + name for name in watched]:
            values[name] = graph.placeholder("leaf_{}".format(len(self.taken)))
            self.taken.append(name)

        def give(name, node):
            added = values.get(ADDED + name)
            values[name] = node if added is None else graph.call_function(torch.add, (node, added))

        for _, steps in subject["nodes"]:
            for name, args, kwargs, result in steps:
                given = [program.value(item, values) for item in args]
                named = {key: program.value(item, values) for key, item in kwargs.items()}
                node = graph.call_function(function(name), tuple(given), named)
                if isinstance(result, list):
                    for index, part in enumerate(result):
                        give(part, graph.call_function(operator.getitem, (node, index)))
                else:
                    give(result, node)
        found = [values[name] for name in self.given]
        if loss is not None:
            found = [
                node if name == loss else graph.call_method("detach", (node,)) for name, node in zip(self.given, found)
            ]
        graph.output(tuple(found))
        graph.eliminate_dead_code()
        self.module = fx.GraphModule(torch.nn.Module(), graph)

    def call(self, module, tensors):
        """Return what ``module``, this one or a compiled one, gives, by name."""
        return dict(zip(self.given, module(*[tensors[name] for name in self.taken])))


def _nobody(key):
    """Compiled code does not say which node is next."""


def _leaves(subject, wanted):
    """Return the names of inputs, weights and labels that steps use or that are asked for, each once."""
    found, waiting = {}, [{"$": name} for name in wanted]
    waiting += [[args, list(kwargs.values())] for _, steps in subject["nodes"] for _, args, kwargs, _ in steps]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict) and item.get("$", "t")[:2] in ("x:", "w:", "y:"):
            found[item["$"]] = True
    return sorted(found)
