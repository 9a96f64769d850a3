"""Keras on torch: gradients are retained on every node's output."""

import contextlib
import functools
import warnings

from ...contract import import_library
from ..pytorch.call_ways import require_compiler
from .base import KerasAdapter
from .program import output_key, unwatched


class TorchAdapter(KerasAdapter):
    ABILITIES = KerasAdapter.ABILITIES | frozenset(["export"])
    LIBRARIES = ("keras", "torch")
    EXPORTER = "keras-torch"

    def import_backend(self):
        torch = import_library("torch", least=(2, 0))
        torch.set_num_threads(self.threads)
        if self.options.get("onednn") == "0":  # torch has no environment variable for it
            torch.backends.mkldnn.set_flags(False)
        try:
            torch.set_num_interop_threads(self.threads)
        except RuntimeError:  # only before the first parallel work
            pass

    def caller(self, program):
        """Write weights into the parameters themselves, past all of Keras' checks."""
        import torch

        tensors = {name: variable.value for name, variable in program.weights().items()}

        def call(group, inputs):
            with torch.no_grad():
                for name, array in group[0].items():
                    tensors[name].copy_(torch.from_numpy(array))
                outputs = program.run(self.to_tensors(inputs), False, unwatched)
                return {name: tensor.numpy().copy() for name, tensor in outputs.items()}

        return call

    def compile_whole(self, program):
        import torch

        require_compiler()
        torch._dynamo.reset()  # it recompiles a function a few times only
        KerasAdapter.compile_whole(self, program)

    def set_seed(self, seed, drawn=True):
        import torch

        KerasAdapter.set_seed(self, seed, drawn)
        torch.manual_seed(seed % 2**32)

    def no_gradients(self):
        import torch

        return torch.no_grad()

    @contextlib.contextmanager
    def exporting(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tracing
            yield

    @contextlib.contextmanager
    def unoptimized_export(self):
        """Fold no constants; what the tracer simplifies besides has no switch."""
        import torch

        export = torch.onnx.export
        torch.onnx.export = functools.partial(_unfolded, export)
        try:
            yield
        finally:
            torch.onnx.export = export

    def build(self):
        import torch

        return {"git": str(torch.version.git_version), "mkldnn": bool(torch.backends.mkldnn.is_available())}

    def _eager(self, program, inputs, training, result):
        import torch

        with torch.no_grad():
            KerasAdapter._eager(self, program, inputs, training, result)

    def _trace(self, program, inputs, training, result):
        import torch

        with torch.no_grad():
            KerasAdapter._trace(self, program, inputs, training, result)

    def replay_forward(self, program, key, arrays, training, result):
        import torch

        with torch.no_grad():
            KerasAdapter.replay_forward(self, program, key, arrays, training, result)

    def to_numpy(self, tensor):
        import torch

        if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
            tensor = tensor.detach()
        return KerasAdapter.to_numpy(self, tensor)

    def differentiate(self, program, inputs, labels, loss, training, result):
        import keras

        tensors = self.to_tensors(inputs)
        for name in tensors:
            if tensors[name].is_floating_point():
                tensors[name] = tensors[name].detach().clone().requires_grad_(True)
        variables = program.trainable()
        for variable in variables.values():
            variable.value.grad = None
        nodes = {}

        def watch(key, tensor):
            if tensor.requires_grad:
                tensor.retain_grad()
            nodes[key] = tensor
            return tensor

        penalties = []
        outputs = program.run(tensors, training, watch, self._at, penalties)
        self._come_to("loss")
        value = loss({name: self.to_tensor(array) for name, array in labels.items()}, outputs, penalties)
        self._come_to("backward")
        if value.requires_grad:
            value.backward()
        result.loss = float(keras.ops.convert_to_numpy(value.detach()))
        result.outputs = {name: self.to_numpy(tensor) for name, tensor in outputs.items()}
        result.nodes = {key: self.to_numpy(tensor) for key, tensor in nodes.items()}
        grads = {name: variable.value.grad for name, variable in variables.items()}
        self._collect("input:", {name: tensor.grad for name, tensor in tensors.items()}, result)
        kept = {key: tensor.grad for key, tensor in nodes.items() if tensor.requires_grad}
        self._collect("node:", kept, result)
        self._collect("weight:", grads, result)
        return grads

    def _collect(self, prefix, grads, result):
        for name, gradient in grads.items():
            if gradient is not None:
                result.gradients[prefix + name] = self.to_numpy(gradient)

    def update(self, program, recipe, grads):
        import torch

        with torch.no_grad():
            KerasAdapter.update(self, program, recipe, grads)

    def replay_backward(self, program, key, arrays, cotangent, training, result):
        import torch

        tensors = [self.to_tensor(array) for array in arrays]
        tensors = [t.detach().clone().requires_grad_(True) if t.is_floating_point() else t for t in tensors]
        layer = program.by_key[key].layer_name
        named = {name: v for name, v in program.trainable().items() if name.startswith(layer + "/")}
        outputs = program.replay(key, tensors, training)
        sources = [t for t in tensors if t.requires_grad] + [v.value for v in named.values()]
        grads = []
        if outputs[0].requires_grad:
            pulled = self.to_tensor(cotangent).to(outputs[0].dtype)  # Keras may give another dtype elsewhere
            grads = list(torch.autograd.grad(outputs[0], sources, pulled, allow_unused=True))
        for index, output in enumerate(outputs):
            result.nodes[output_key(key, index)] = self.to_numpy(output)
        names = ["input:{}/{}".format(key, i) for i, t in enumerate(tensors) if t.requires_grad]
        names += ["weight:" + name for name in named]
        self._collect("", dict(zip(names, grads)), result)


def _unfolded(export, *args, **kwargs):
    """Call torch's exporter; the newer one optimizes by ``optimize``, the older one folds constants."""
    name = "optimize" if kwargs.get("dynamo") else "do_constant_folding"
    return export(*args, **dict(kwargs, **{name: False}))
