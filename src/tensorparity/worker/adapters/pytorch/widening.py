"""An exported program in float64: its numbers, its constants and the dtypes that its nodes ask for."""

import copy

import torch
from torch import fx

from ...contract import Result
from ...protocol import Bits
from .base import joined_instances, single_instances
from .tensors import to_numpy, to_tensor

_NARROW = (torch.float32, torch.float16, torch.bfloat16)
#: Nodes that compute nothing but complain of another dtype.
_ASSERTIONS = ("_assert_tensor_metadata", "_assert_scalar", "_assert_async")


def run_wide(program, job):
    """Run the program forward in float64; its outputs have float64 where they were floats."""
    module = _widened_module(program.exported.graph_module)
    with torch.no_grad():
        if not program.whole_sets:
            return _run(program, module, job.inputs)
        return joined_instances([_run(program, module, inputs) for inputs in single_instances(job.inputs)])


def _run(program, module, inputs):
    tensors = {name: _wide(to_tensor(inputs[name])) for name in program.inputs}
    flat = _Wide(module).run(*[_wide(value) for value in program.graph_arguments(tensors)])
    returned = next(node for node in program.graph.nodes if node.op == "output").args[0]
    result = Result()
    for node, value in zip(returned, flat):
        if isinstance(node, fx.Node) and node.name in program.outputs:
            array = to_numpy(value)
            result.outputs[program.title(node.name)] = array.bits if isinstance(array, Bits) else array
    return result


def _wide(value):
    return value.double() if isinstance(value, torch.Tensor) and value.dtype in _NARROW else value


class _Wide(fx.Interpreter):
    def call_function(self, target, args, kwargs):
        if any(name in str(target) for name in _ASSERTIONS):
            return None
        return fx.Interpreter.call_function(self, target, args, kwargs)

    def get_attr(self, target, args, kwargs):
        return _wide(fx.Interpreter.get_attr(self, target, args, kwargs))


def _widened_module(module):
    """Return a copy whose nodes ask for float64 wherever they asked for less, also inside branches and loops."""
    made = copy.deepcopy(module)
    for part in made.modules():
        if isinstance(part, fx.GraphModule):
            for node in part.graph.nodes:
                node.args = fx.node.map_aggregate(node.args, _wide_dtype)
                node.kwargs = fx.node.map_aggregate(node.kwargs, _wide_dtype)
            part.recompile()
    return made


def _wide_dtype(item):
    return torch.float64 if item in _NARROW and isinstance(item, torch.dtype) else item
