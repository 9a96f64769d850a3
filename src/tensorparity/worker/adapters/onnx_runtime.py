"""ONNX Runtime: runs an ONNX model handed over as bytes, forward."""

import numpy as np

from ..contract import Adapter, Result, Unsupported, import_library
from ..protocol import Bits

_LEVELS = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}


def make_adapter(flavour, options):
    """Return the adapter; ONNX Runtime has no flavours."""
    return OnnxRuntimeAdapter(flavour, options)


class OnnxRuntimeAdapter(Adapter):
    ABILITIES = frozenset(["forward", "replay", "trace", "layer-graph"])
    LIBRARIES = ("onnxruntime",)

    def __init__(self, flavour, options):
        Adapter.__init__(self, flavour, options)
        self._session = (None, None)
        self.mode = "InferenceSession.run, graph optimization {}".format(options.get("optimization", "all"))

    def start(self):
        import_library("onnxruntime", least=(1, 17))  # the first with opset 20, which the host emits
        if self.options.get("optimization", "all") not in _LEVELS:
            raise ValueError(
                "optimization must be one of {}. Received: {}".format(sorted(_LEVELS), self.options["optimization"])
            )

    def build(self):
        import onnxruntime

        return {"info": onnxruntime.get_build_info()}

    def run(self, job):
        if job.subject["kind"] != "onnx":
            raise Unsupported("onnxruntime runs ONNX graphs, not {}".format(job.subject["kind"]))
        if job.goal not in ("forward", "replay"):
            raise Unsupported("onnxruntime computes no {}".format(job.goal))
        if job.option("training"):
            raise Unsupported("onnxruntime has no training mode")
        session = self._open(job.weights["model"].tobytes())
        feeds = {item["tensor"]: _dense(job.inputs[item["input"]]) for item in job.subject["inputs"]}
        wanted = job.subject["outputs"]
        values = session.run([item["tensor"] for item in wanted], feeds)
        result = Result()
        for item, value in zip(wanted, values):
            getattr(result, item["group"])[item["name"]] = np.array(value)
        return result

    def _open(self, model):
        import onnxruntime

        known, session = self._session
        if known != model:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self.threads
            options.inter_op_num_threads = 1
            options.log_severity_level = 3
            level = _LEVELS[self.options.get("optimization", "all")]
            options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self._session = (model, session)
        return session


def _dense(array):
    if isinstance(array, Bits):
        raise Unsupported("onnxruntime takes no {} through NumPy".format(array.dtype))
    return array
