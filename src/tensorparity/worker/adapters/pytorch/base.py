"""What eager and compiled torch share: layers, loading programs, single calls, and the import of a program's layers."""

import json

import numpy as np

from ...contract import Adapter, Export, Result, Unsupported, import_library, inspected_path
from ...protocol import Bits
from ..call_runs import CallRuns, is_varied
from ..expressions import Expression, outputs_of
from ..native import resolve
from .call_ways import TorchWays
from .graphs import KIND as GRAPH
from .tensors import to_numpy, to_tensor

_PROGRAMS_KEPT = 2
_EXPRESSIONS_KEPT = 64


class TorchAdapter(Adapter):
    """Torch on layers and exported programs; subclasses say how a program, its trace and single nodes are run."""

    ABILITIES = frozenset(
        ["forward", "replay", "trace", "import", "export", "model-file", "batch_size", "call", "api-call"]
        + ["layer-graph", "dtype", "pack"]
    )
    LIBRARIES = ("torch",)

    def __init__(self, flavour, options):
        Adapter.__init__(self, flavour, options)
        self._programs = []
        self._expressions = {}
        self._runs = CallRuns(TorchWays())

    def start(self):
        torch = import_library("torch", least=(2, 5))
        torch.set_num_threads(self.threads)
        try:
            torch.set_num_interop_threads(self.threads)
        except RuntimeError:  # only before the first parallel work
            pass

    def build(self):
        import torch

        return {"git": str(torch.version.git_version), "mkldnn": bool(torch.backends.mkldnn.is_available())}

    def run(self, job):
        import torch

        self.current_node = None
        if job.subject["kind"] == "api-call":
            self.require("api-call")
            return self._runs.run(job) if is_varied(job) else self._call(job)
        if job.subject["kind"] == GRAPH:
            torch.manual_seed(job.seed)
            return self.run_graph(job)
        return self._run_program(job)

    def run_pack(self, jobs):
        if not all(job.subject["kind"] == "api-call" and is_varied(job) for job in jobs):
            raise Unsupported("only calls that are compiled are packed")
        return self._runs.run_pack(jobs)

    def _run_program(self, job):
        import torch

        runs = {"forward": self._forward, "replay": self._replay}
        if job.goal not in runs:
            raise Unsupported("torch runs exported programs forward only, not {}".format(job.goal))
        for option in ("training", "reload", "data_format", "mode"):
            if job.option(option):
                raise Unsupported("an exported program has no option {!r}".format(option))
        program = self.program(job.subject)
        if job.option("dtype"):
            return self._widened(program, job)
        torch.manual_seed(job.seed)
        with torch.no_grad():
            if not program.whole_sets:
                return runs[job.goal](program, job.inputs, job)
            return joined_instances([runs[job.goal](program, inputs, job) for inputs in single_instances(job.inputs)])

    def run_graph(self, job):
        """Run layers, which the host has turned into calls of torch's functions."""
        raise NotImplementedError(type(self).__name__ + ".run_graph")

    def program(self, subject):
        """Return the subject's program, from the last few if it is among them."""
        if subject["kind"] != "model-file" or subject["format"] != "torch":
            raise Unsupported("torch runs exported programs (.pt2), not {}".format(subject.get("format", "layers")))
        for position, (known, program) in enumerate(self._programs):
            if known == subject["sha256"]:
                self._programs.append(self._programs.pop(position))
                return program
        program = self.load(inspected_path(subject))
        self._programs = self._programs[1 - _PROGRAMS_KEPT :] + [(subject["sha256"], program)]
        return program

    def load(self, path):
        from .program import load_program

        return load_program(path)

    def list_apis(self):
        from ...apis.torch_apis import list_apis

        return list_apis()

    def list_samples(self, options):
        from ...apis.torch_samples import list_samples

        return list_samples(options)

    def _forward(self, program, inputs, job):
        tensors = {name: to_tensor(inputs[name]) for name in program.inputs}
        result = Result()
        if job.option("trace"):
            nodes, outputs = self.trace_program(program, tensors)
            result.nodes = {key: to_numpy(tensor) for key, tensor in nodes.items()}
        else:
            size = None if program.whole_sets else job.option("batch_size")
            outputs = self._call_in_batches(program, tensors, size)
        result.outputs = {program.title(name): to_numpy(tensor) for name, tensor in outputs.items()}
        return result

    def _widened(self, program, job):
        """Run the program in float64, node after node; only eager torch does."""
        raise Unsupported("an exported program has no option 'dtype' here")

    def _call_in_batches(self, program, tensors, size):
        import torch

        if not size or size >= min(len(tensor) for tensor in tensors.values()):
            return self.call_program(program, tensors)
        count = min(len(tensor) for tensor in tensors.values())
        pieces = []
        for start in range(0, count, size):
            pieces.append(self.call_program(program, {k: v[start : start + size] for k, v in tensors.items()}))
        return {name: torch.cat([piece[name] for piece in pieces]) for name in pieces[0]}

    def call_program(self, program, tensors):
        """Return outputs by name, in the mode users get."""
        raise NotImplementedError(type(self).__name__ + ".call_program")

    def trace_program(self, program, tensors):
        """Return (output per node by key, outputs by name)."""
        raise NotImplementedError(type(self).__name__ + ".trace_program")

    def _replay(self, program, inputs, job):
        from .isolation import Isolated

        if job.cotangents:
            raise Unsupported("torch replays the nodes of a program forward only")
        given = {name: to_tensor(array) for name, array in inputs.items()}
        isolated = Isolated(program, job.option("nodes", ()), given)
        result = Result()
        values = self.run_isolated(isolated)
        result.nodes = {name: to_numpy(value) for name, value in zip(isolated.names, values)}
        return result

    def run_isolated(self, isolated):
        """Return the values of ``isolated.names``."""
        raise NotImplementedError(type(self).__name__ + ".run_isolated")

    def import_model(self, path, trust):
        from .description import describe

        return describe(self.load(path)), {}, []

    def export_model(self, path, form, trust):
        from .to_onnx import export_onnx

        if form != "onnx":
            raise Unsupported("torch programs are exported to onnx, not {}".format(form))
        program = self.load(path)
        model, steps, layers = export_onnx(program)
        files = {"model": np.frombuffer(model, np.uint8), "steps": np.frombuffer(steps, np.uint8)}
        return Export("torch.onnx", files, layers, len(program.traced_nodes()))

    def make_model(self, recipe):
        from ...factories import make_from_factory

        return make_from_factory(recipe)

    def _call(self, job):
        import torch

        expression = self.expression_of(job.subject)
        tensors = self.tensors_of(expression, job)
        torch.manual_seed(job.seed)
        with torch.no_grad():
            values = self.call_expression(expression, tensors)
        return self.result_of(job, self._runs.ways.leaves(values))

    def tensors_of(self, expression, job):
        """Return the arrays of a call as tensors, in the dtype the job asks for."""
        import torch

        tensors = expression.tensors(job.inputs, to_tensor)
        dtype = job.option("dtype")
        if dtype:
            wanted = getattr(torch, dtype)
            tensors = {key: item.to(wanted) if item.is_floating_point() else item for key, item in tensors.items()}
        return tensors

    def result_of(self, job, values):
        result = Result()
        result.outputs = outputs_of(job, [self._runs.ways.to_numpy(value) for value in values])
        return result

    def expression_of(self, subject):
        """Keep expressions: the compiler knows again what it has compiled by the function's identity."""
        key = json.dumps(subject, sort_keys=True)
        if key not in self._expressions:
            if len(self._expressions) >= _EXPRESSIONS_KEPT:
                self._expressions.clear()
            self._expressions[key] = Expression(subject, ("torch.",), resolve, self._runs.ways.dtype)
        return self._expressions[key]

    def call_expression(self, expression, tensors):
        """Return the value of a call, in this flavour."""
        return expression(tensors)


def single_instances(inputs):
    """Return the inputs of each run: one item of every array."""
    count = min(len(array) for array in inputs.values())
    return [{name: _item(array, index) for name, array in inputs.items()} for index in range(count)]


def _item(array, index):
    return Bits(array.dtype, array.bits[index]) if isinstance(array, Bits) else array[index]


def joined_instances(results):
    """Return one result of all runs, with an axis of instances before the others."""
    whole = Result()
    for group in ("outputs", "nodes"):
        parts = [getattr(result, group) for result in results]
        setattr(whole, group, {name: _upon_another([part[name] for part in parts]) for name in parts[0]})
    return whole


def _upon_another(arrays):
    if isinstance(arrays[0], Bits):
        return Bits(arrays[0].dtype, np.stack([array.bits for array in arrays]))
    if len({array.shape for array in arrays}) > 1:
        raise Unsupported("an output has another shape from instance to instance")
    return np.stack(arrays)
