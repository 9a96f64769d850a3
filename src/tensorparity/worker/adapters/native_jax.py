"""JAX by its own functions: operation by operation, or compiled as a whole."""

import contextlib

import numpy as np

from ..contract import import_library
from ..protocol import Bits
from .call_ways_jax import JaxWays
from .native import NativeAdapter

#: What exists in JAX behind its switch only.
_WIDE = frozenset(["float64", "complex128"])


def make_adapter(flavour, options):
    """Return the adapter of the flavour ``eager`` or ``jit``."""
    return JaxAdapter(flavour, options)


class JaxAdapter(NativeAdapter):
    """Float64 exists in JAX behind a switch, which is on for the calls that ask for float64 and for no others."""

    LIBRARIES = ("jax", "jaxlib")
    PREFIXES = ("jax.",)

    def __init__(self, flavour, options):
        NativeAdapter.__init__(self, flavour, options)
        self.mode = {"eager": "one operation at a time", "jit": "jax.jit"}[flavour]
        self._functions = {}

    def ways(self):
        return JaxWays(self)

    def start(self):
        import_library("jax", least=(0, 4))

    def context(self, job):
        import jax

        names = [str(getattr(array, "dtype", "")) for array in job.inputs.values()] + [job.option("dtype")]
        stack = contextlib.ExitStack()
        if _WIDE & set(names):
            switch = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
            stack.enter_context(switch(True))
        return stack

    def evaluate(self, expression, tensors):
        if self.flavour == "eager":
            return expression(tensors)
        import jax

        if expression not in self._functions:
            self._functions[expression] = jax.jit(expression)
        return self._functions[expression](tensors)

    def forget(self):
        import jax

        self._functions.clear()
        if self.flavour != self.EAGER:  # what single operations compile is shared by all calls, and worth keeping
            jax.clear_caches()

    def list_apis(self):
        from ..apis.jax_apis import list_apis

        return list_apis()

    def list_samples(self, options):
        from ..apis.jax_samples import list_samples

        return list_samples(options)

    def to_tensor(self, array, perm=None):
        import jax.numpy
        import ml_dtypes

        if isinstance(array, Bits):
            array = array.bits.view(getattr(ml_dtypes, array.dtype))
        tensor = jax.numpy.array(array)
        return jax.numpy.transpose(tensor, perm) if perm else tensor

    def cast(self, tensor, dtype):
        return tensor.astype(dtype) if jax_floating(tensor) else tensor

    def to_numpy(self, tensor):
        return np.array(tensor)


def jax_floating(tensor):
    """Return whether a tensor holds floating numbers."""
    import jax.numpy

    return jax.numpy.issubdtype(tensor.dtype, jax.numpy.floating)
