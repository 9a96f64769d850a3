"""ONNX Runtime on the CPU."""

from ..contract import import_library
from .onnx_base import OnnxAdapter

_LEVELS = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}


def make_adapter(flavour, options):
    """Return the adapter; ONNX Runtime has no flavours."""
    return OnnxRuntimeAdapter(flavour, options)


class OnnxRuntimeAdapter(OnnxAdapter):
    LIBRARIES = ("onnxruntime",)
    #: Said of operators, types, versions and domains that this build does not have.
    LACKING = (
        "NOT_IMPLEMENTED",
        "is not a registered function/op",
        "No Op registered for",
        "Unsupported model IR version",
        "*guarantees* support for models",
    )

    def __init__(self, flavour, options):
        OnnxAdapter.__init__(self, flavour, options)
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

    def open_model(self, model):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        level = _LEVELS[self.options.get("optimization", "all")]
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run_model(self, opened, feeds, wanted):
        return opened.run(wanted, feeds)
