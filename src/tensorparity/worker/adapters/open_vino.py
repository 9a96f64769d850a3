"""OpenVINO on the CPU, in float32: its default may compute in a shorter type."""

from ..contract import Unsupported, import_library
from .onnx_base import OnnxAdapter


def make_adapter(flavour, options):
    """Return the adapter; OpenVINO has no flavours here."""
    return OpenVinoAdapter(flavour, options)


class OpenVinoAdapter(OnnxAdapter):
    LIBRARIES = ("openvino",)
    LACKING = ("No conversion rule found for operations",)

    def __init__(self, flavour, options):
        OnnxAdapter.__init__(self, flavour, options)
        self.mode = "compiled model on CPU, inference precision f32"

    def start(self):
        openvino = import_library("openvino", least=(2024, 0))
        self._core = openvino.Core()

    def build(self):
        import openvino

        return {"version": openvino.get_version()}

    def run(self, job):
        """The plugin has no inference precision beyond f32: a single function in float64 is nothing to ask it for."""
        if job.goal == "call" and any(array.dtype == "float64" for array in job.inputs.values()):
            raise Unsupported("OpenVINO computes float64 as float32 on the CPU")
        return OnnxAdapter.run(self, job)

    def open_model(self, model):
        network = self._core.read_model(model, b"")
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": self.threads,
            "NUM_STREAMS": 1,
        }
        return self._core.compile_model(network, "CPU", settings)

    def run_model(self, opened, feeds, wanted):
        values = opened(feeds)
        by_name = {}
        for port in opened.outputs:
            for name in port.get_names():
                by_name[name] = values[port]
        return [by_name[name] for name in wanted]
