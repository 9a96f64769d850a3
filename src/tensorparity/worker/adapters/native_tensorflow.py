"""TensorFlow by its own functions: eagerly, or compiled by XLA."""

import contextlib

import numpy as np

from ..contract import Unsupported, import_library
from ..protocol import Bits
from .call_ways_tensorflow import NOT_COMPILED as _NOT_COMPILED
from .call_ways_tensorflow import TensorFlowWays
from .native import NativeAdapter


def make_adapter(flavour, options):
    """Return the adapter of the flavour ``eager`` or ``xla``."""
    return TensorFlowAdapter(flavour, options)


class TensorFlowAdapter(NativeAdapter):
    LIBRARIES = ("tensorflow", "tensorflow-cpu")
    PREFIXES = ("tensorflow.",)

    def __init__(self, flavour, options):
        NativeAdapter.__init__(self, flavour, options)
        self.mode = {"eager": "eager call", "xla": "tf.function(jit_compile=True)"}[flavour]
        self._functions = {}

    def ways(self):
        return TensorFlowWays(self)

    def start(self):
        tensorflow = import_library("tensorflow", least=(2, 12))
        tensorflow.config.threading.set_intra_op_parallelism_threads(self.threads)
        tensorflow.config.threading.set_inter_op_parallelism_threads(self.threads)

    def build(self):
        import tensorflow

        info = tensorflow.sysconfig.get_build_info()
        return {"git": str(tensorflow.version.GIT_VERSION), "cuda": bool(info.get("is_cuda_build"))}

    def context(self, job):
        import tensorflow

        tensorflow.random.set_seed(job.seed)
        return contextlib.ExitStack()

    def evaluate(self, expression, tensors):
        if self.flavour == "eager":
            return expression(tensors)
        import tensorflow

        if expression not in self._functions:
            self._functions[expression] = tensorflow.function(expression, jit_compile=True, autograph=False)
        try:
            return self._functions[expression](tensors)
        except tensorflow.errors.InvalidArgumentError as error:
            if _NOT_COMPILED in str(error):  # no kernel for XLA: a lack, which users are told of
                raise Unsupported(str(error).split(_NOT_COMPILED)[1].split(":", 1)[-1].strip().splitlines()[0])
            raise

    def forget(self):
        self._functions.clear()

    def list_apis(self):
        from ..apis.tensorflow_apis import list_apis

        return list_apis()

    def to_tensor(self, array, perm=None):
        import tensorflow

        if isinstance(array, Bits):
            array = _extended(array)
        tensor = tensorflow.convert_to_tensor(np.array(array))
        return tensorflow.transpose(tensor, perm) if perm else tensor

    def cast(self, tensor, dtype):
        import tensorflow

        return tensorflow.cast(tensor, dtype) if tensor.dtype.is_floating else tensor

    def to_numpy(self, tensor):
        return np.array(tensor)


def _extended(array):
    """Return the array in the dtype of the package that TensorFlow and JAX bring along."""
    import ml_dtypes

    return array.bits.view(getattr(ml_dtypes, array.dtype))
