"""Keras on NumPy and on OpenVINO: backends that compute forward only."""

from ...contract import Unsupported, import_library
from .base import KerasAdapter

_FORWARD = KerasAdapter.ABILITIES - frozenset(["gradients", "update", "fit", "train"])


class ForwardAdapter(KerasAdapter):
    """A Keras backend without gradients."""

    ABILITIES = _FORWARD

    def run(self, job):
        if job.goal in ("gradients", "update", "fit") or job.cotangents:
            raise Unsupported("Keras on {} computes no gradients".format(self.flavour))
        return KerasAdapter.run(self, job)

    def train(self, job, training):
        raise Unsupported("Keras on {} does not train".format(self.flavour))


class NumpyAdapter(ForwardAdapter):
    """Convolution and pooling of this backend are computed by JAX, so it is no independent vote there."""

    LIBRARIES = ("keras", "jax", "jaxlib")

    def import_backend(self):
        import_library("jax", least=(0, 4))


class OpenVinoAdapter(ForwardAdapter):
    LIBRARIES = ("keras", "openvino")

    def import_backend(self):
        in_full_precision(import_library("openvino", least=(2024, 0)))

    def run(self, job):
        """The plugin has no inference precision beyond f32: a single function in float64 is nothing to ask it for."""
        if job.goal == "call" and any(array.dtype == "float64" for array in job.inputs.values()):
            raise Unsupported("OpenVINO computes float64 as float32 on the CPU")
        return ForwardAdapter.run(self, job)


def in_full_precision(openvino):
    """Models are compiled for float32 unless somebody says otherwise: processors with bfloat16 would use that.

    Keras asks for it where it runs an operation eagerly, and not where it compiles a whole model.
    """
    compile_model = openvino.compile_model

    def compiled(model, device_name="AUTO", config=None):
        return compile_model(model, device_name, dict({"INFERENCE_PRECISION_HINT": "f32"}, **(config or {})))

    openvino.compile_model = compiled
