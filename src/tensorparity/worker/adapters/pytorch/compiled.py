"""torch.compile with its default backend, inductor, which needs a C++ compiler."""

import json

from ...contract import Result, Unsupported
from ..call_runs import is_varied
from ..expressions import Pack
from .base import TorchAdapter
from .call_ways import require_compiler
from .graphs import GraphProgram, gradients_of, joined, output_key, replayed, slices_of
from .tensors import to_numpy

_CALLS_KEPT = 6  # dynamo recompiles one function eight times at most, and all expressions are one function to it
_GRAPHS_KEPT = 16


class CompiledAdapter(TorchAdapter):
    """The trace compiles one graph with every node's output exposed, a replay all its nodes as one unit.

    Both are compiled code like the whole, only cut in other places. Gradients are those of the compiled backward pass;
    to ask for them at the nodes, a zero is added to what each gives.
    """

    ABILITIES = TorchAdapter.ABILITIES | frozenset(["gradients"])

    def __init__(self, flavour, options):
        TorchAdapter.__init__(self, flavour, options)
        self.mode = "inductor: torch.compile(ExportedProgram.module())"
        self._wholes = {}
        self._exposed = {}
        self._calls = {}
        self._pack = ("", None, None)
        self._graphs = {}

    def start(self):
        TorchAdapter.start(self)
        from torch._functorch import config as differentiation
        from torch._inductor import config

        config.compile_threads = 1
        differentiation.donated_buffer = False  # a replay goes backward several times, node by node

    def run(self, job):
        require_compiler()
        return TorchAdapter.run(self, job)

    def load(self, path):
        import torch

        torch._dynamo.reset()  # the limit of recompilations counts per function, not per program
        self._wholes, self._exposed = {}, {}
        return TorchAdapter.load(self, path)

    def run_graph(self, job):
        """Layers as one unit: what is asked for decides what is exposed, and so what can be fused."""
        import torch

        if job.option("mode") == "eager":
            raise Unsupported("eager torch is a target of its own, torch:eager")
        if job.option("population"):
            raise Unsupported("torch.compile runs no populations of weights here; torch:eager does")
        if job.goal == "gradients":
            return self._gradients(job)
        if job.goal not in ("forward", "replay"):
            raise Unsupported("layers in torch are run forward and backward, not to {!r}".format(job.goal))
        if job.cotangents:
            return self._pull_back(job)
        result = Result()
        with torch.no_grad():
            pieces = [self._run_layers(subject, part, result) for subject, part in slices_of(job)]
        result.outputs = joined(pieces)
        return result

    def _run_layers(self, subject, job, result):
        outputs, nodes = dict(subject["outputs"]), {}
        if job.option("trace"):
            nodes = dict(subject["traced"])
        for key, _, names, _ in subject["replays"]:
            nodes.update({output_key(key, index): name for index, name in enumerate(names)})
        program = GraphProgram(subject, self._nowhere)
        built, module = self._layers(subject, sorted(set(outputs.values()) | set(nodes.values())))
        found = built.call(module, program.tensors(job))
        result.nodes = {key: to_numpy(found[name]) for key, name in nodes.items()}
        return {name: to_numpy(found[tensor]) for name, tensor in outputs.items()}

    def _gradients(self, job):
        import torch

        from .graph_modules import ADDED

        subject = job.subject
        program = GraphProgram(subject, self._nowhere)
        leaves = program.tensors(job, differentiable=True)
        with torch.no_grad():
            once = program.run(dict(leaves))  # for the shapes only
        nodes = dict(subject["traced"])
        watched = sorted(
            name for name in set(nodes.values()) - set(leaves) if once[name].is_floating_point() and once[name].numel()
        )
        wanted = sorted(set(nodes.values()) | {name for _, name in subject["outputs"]} | {subject["loss"]})
        built, module = self._layers(subject, wanted, watched, subject["loss"])
        added = {ADDED + name: torch.zeros_like(once[name]).requires_grad_(True) for name in watched}
        found = built.call(module, dict(leaves, **added))
        sources = {key: added.get(ADDED + name, leaves.get(name)) for key, name in nodes.items()}
        sources = {key: tensor for key, tensor in sources.items() if tensor is not None}
        return gradients_of(job, found[subject["loss"]], leaves, found, sources)

    def _pull_back(self, job):
        program = GraphProgram(job.subject, self._nowhere)
        leaves = program.tensors(job, differentiable=True)
        names = {name for _, _, outputs, _ in job.subject["replays"] for name in outputs}
        built, module = self._layers(job.subject, sorted(names))
        return replayed(job, self._nowhere, leaves, dict(leaves, **built.call(module, leaves)))

    def _layers(self, subject, wanted, watched=(), loss=None):
        """Return the program as a module, and that compiled, from the last few if it is among them."""
        import torch

        from .graph_modules import GraphModule

        key = json.dumps([subject, wanted, list(watched), loss], sort_keys=True)
        if key not in self._graphs:
            if len(self._graphs) >= _GRAPHS_KEPT:
                torch._dynamo.reset()
                self._graphs.clear()
            built = GraphModule(subject, wanted, watched, loss)
            self._graphs[key] = (built, torch.compile(built.module, dynamic=False))
        return self._graphs[key]

    def _nowhere(self, key):
        """Compiled code does not say where it is."""

    def call_program(self, program, tensors):
        import torch

        if program not in self._wholes:
            self._wholes[program] = torch.compile(program.module)
        return program.call(self._wholes[program], tensors)

    def call_expression(self, expression, tensors):
        import torch

        if expression not in self._calls:
            if len(self._calls) >= _CALLS_KEPT:
                torch._dynamo.reset()
                self._calls.clear()
            self._calls[expression] = torch.compile(expression.__call__, dynamic=False, fullgraph=True)
        return self._calls[expression](tensors)

    def run_pack(self, jobs):
        import torch

        require_compiler()
        if is_varied(jobs[0]):
            return self._runs.run_pack(jobs)
        if any(job.subject["kind"] != "api-call" or job.goal != "call" for job in jobs):
            raise Unsupported("only single calls are packed")
        key = json.dumps([job.subject for job in jobs], sort_keys=True)
        if self._pack[0] != key:
            torch._dynamo.reset()
            self._calls.clear()
            pack = Pack([self.expression_of(job.subject) for job in jobs])
            self._pack = (key, pack, torch.compile(pack.__call__, dynamic=False, fullgraph=True))
        _, pack, compiled = self._pack
        tensors = {str(place): self.tensors_of(pack.expressions[place], job) for place, job in enumerate(jobs)}
        with torch.no_grad():
            return [self.result_of(job, values) for job, values in zip(jobs, compiled(tensors))]

    def trace_program(self, program, tensors):
        import torch

        from .stepping import Exposed

        if program not in self._exposed:
            exposed = Exposed(program)
            self._exposed[program] = (exposed, torch.compile(exposed.module))
        exposed, module = self._exposed[program]
        return exposed.split(module(*program.graph_arguments(tensors)))

    def run_isolated(self, isolated):
        import torch

        return torch.compile(isolated.module, dynamic=False)(*isolated.arguments)
