"""The ONNX project's reference evaluator: slow, in NumPy, written for clarity; an arbiter."""

from ..contract import import_library
from .onnx_base import OnnxAdapter


def make_adapter(flavour, options):
    """Return the adapter of the evaluator."""
    return OnnxReferenceAdapter(flavour, options)


class OnnxReferenceAdapter(OnnxAdapter):
    LIBRARIES = ("onnx",)
    LACKING = (
        "is unknown, known functions",
        "No registered schema for operator",
        "No registered implementation for operator",
    )

    def __init__(self, flavour, options):
        OnnxAdapter.__init__(self, flavour, options)
        self.mode = "onnx.reference.ReferenceEvaluator"

    def start(self):
        import_library("onnx", least=(1, 14))

    def open_model(self, model):
        import onnx
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(onnx.load_from_string(model))

    def run_model(self, opened, feeds, wanted):
        return opened.run(wanted, feeds)

    def failing_tensors(self, error):
        """Return the outputs of the outermost node on the stack: the evaluator runs them one after another."""
        traceback = error.__traceback__
        while traceback is not None:
            frame = traceback.tb_frame
            if frame.f_code.co_name == "run" and hasattr(frame.f_locals.get("node"), "output"):
                return tuple(frame.f_locals["node"].output)
            traceback = traceback.tb_next
        return ()
