"""Eager torch: layers by its functions, an exported program by its own module, node after node."""

from ...contract import Unsupported
from .base import TorchAdapter


class EagerAdapter(TorchAdapter):
    ABILITIES = TorchAdapter.ABILITIES | frozenset(["gradients", "update", "mode:eager"])

    def __init__(self, flavour, options):
        TorchAdapter.__init__(self, flavour, options)
        self.mode = "eager: ExportedProgram.module() under no_grad"

    def run_graph(self, job):
        from .graphs import run_graph

        return run_graph(job, self._at_node)

    def _at_node(self, key):
        self.current_node = key

    def call_program(self, program, tensors):
        return program.call(program.module, tensors)

    def trace_program(self, program, tensors):
        from .stepping import trace_eagerly

        return trace_eagerly(program, tensors, self._at)

    def run_isolated(self, isolated):
        from .stepping import Stepper

        return Stepper(isolated.module, lambda node: self._at(node.meta.get("key"))).run(*isolated.arguments)

    def _widened(self, program, job):
        from .widening import run_wide

        if job.option("dtype") != "float64" or job.goal != "forward" or job.option("trace"):
            raise Unsupported("an exported program runs in its own dtypes, or forward in float64")
        return run_wide(program, job)

    def _at(self, key):
        if key:
            self.current_node = key
