"""What the runtimes that take ONNX share: the host hands over a model as bytes, they run it forward."""

import numpy as np

from ..contract import Adapter, Result, Unsupported
from ..protocol import Bits


class OnnxAdapter(Adapter):
    """A runtime for ONNX models; subclasses open one and run it.

    The subject names the tensors: ``inputs`` pairs the model's inputs with the job's arrays, ``outputs``
    says for each of the model's outputs whether it is an output or a node's, and under which name.
    """

    ABILITIES = frozenset(["forward", "replay", "trace", "layer-graph", "model-file"])

    def __init__(self, flavour, options):
        Adapter.__init__(self, flavour, options)
        self._opened = (None, None)

    def open_model(self, model):
        """Return the runtime's own object for a serialized model."""
        raise NotImplementedError(type(self).__name__ + ".open_model")

    def run_model(self, opened, feeds, wanted):
        """Return the values of the ``wanted`` outputs, as a list of NumPy arrays."""
        raise NotImplementedError(type(self).__name__ + ".run_model")

    def run(self, job):
        name = type(self).__name__
        if job.subject["kind"] != "onnx":
            raise Unsupported("{} runs ONNX models, not {}".format(name, job.subject["kind"]))
        if job.goal not in ("forward", "replay"):
            raise Unsupported("an ONNX runtime computes no {}".format(job.goal))
        if job.option("training"):
            raise Unsupported("an ONNX runtime has no training mode")
        opened = self._open(job.weights["model"].tobytes())
        feeds = {item["tensor"]: _dense(job.inputs[item["input"]]) for item in job.subject["inputs"]}
        outputs = job.subject["outputs"]
        values = self.run_model(opened, feeds, [item["tensor"] for item in outputs])
        result = Result()
        for item, value in zip(outputs, values):
            getattr(result, item["group"])[item["name"]] = np.array(value)
        return result

    def _open(self, model):
        """Keep the last model: the slices of a data set come one after another."""
        known, opened = self._opened
        if known != model:
            opened = self.open_model(model)
            self._opened = (model, opened)
        return opened


def _dense(array):
    if isinstance(array, Bits):
        raise Unsupported("ONNX runtimes take no {} through NumPy".format(array.dtype))
    return np.ascontiguousarray(array)
