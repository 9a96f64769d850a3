"""The ways in which Keras runs a call: as its backend does, symbolically, and as a model of symbolic tensors."""

import contextlib

import numpy as np

from ...contract import Unsupported
from ..call_runs import Ways, flat
from ..native import resolve
from .applications import APPLICATIONS, without_download
from .model_ways import model_ways


def _announced(function, tensors, kept):
    """Return zeros of the shapes and dtypes that Keras announces."""
    import keras

    found = flat(function({key: _symbol(tensor) for key, tensor in tensors.items()}))
    if not all(isinstance(leaf, keras.KerasTensor) for leaf in found):
        raise Unsupported("the call gives something else than tensors")
    if any(None in leaf.shape for leaf in found):
        raise Unsupported("the sizes are left open")
    return [keras.ops.zeros(leaf.shape, dtype=leaf.dtype) for leaf in found]


def _announced_open(every):
    """Return a way that announces for open sizes, of the first axis or of every one; what is said must hold."""

    def run(function, tensors, kept):
        import keras

        said = function({key: _symbol(tensor, every) for key, tensor in tensors.items()})
        leaves = flat(said)
        if not leaves or not all(isinstance(leaf, keras.KerasTensor) for leaf in leaves):
            raise Unsupported("the call gives something else than tensors")
        given = function(tensors)
        require_same_structure(said, given)
        real = flat(given)
        return [keras.ops.zeros(filled(one.shape, other), one.dtype) for one, other in zip(leaves, real)]

    return run


def filled(said, given):
    """Return a shape with its open sizes as they are in what is given, if that has as many axes."""
    sizes = tuple(getattr(given, "shape", ()))
    known = len(sizes) == len(said)
    return tuple((sizes[place] if known else 0) if size is None else size for place, size in enumerate(said))


def require_same_structure(said, given):
    """Raise where an announced result is built in another way; a list may be a tuple."""
    one, other = structure_of(said), structure_of(given)
    if one != other:
        raise AssertionError("announced as {}, but it is {}".format(one, other))


def structure_of(value):
    """Return mappings and sequences as they are nested, in words."""
    if isinstance(value, dict):
        return "{" + ", ".join("{}: {}".format(key, structure_of(value[key])) for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(structure_of(item) for item in value) + ")"
    return "None" if value is None else "tensor"


def _model(function, tensors, kept):
    """Build a model of symbolic tensors out of the call, and run that."""
    import keras

    names = list(tensors)
    if "model" not in kept:
        symbols = [_symbol(tensors[name]) for name in names]
        kept["model"] = keras.Function(symbols, function(dict(zip(names, symbols))))
    return kept["model"]([tensors[name] for name in names])


def _symbol(tensor, every=None):
    """Return the symbol of a tensor; with all of its sizes open, or the first one, where ``every`` is set."""
    import keras

    shape = tuple(tensor.shape)
    if every is not None:
        shape = (None,) * len(shape) if every else (None,) * len(shape[:1]) + shape[1:]
    return keras.KerasTensor(shape, keras.backend.standardize_dtype(tensor.dtype))


#: By backend: what ``jit_compile=True`` of a model is there, in the backend's own words.
_JIT = {"tensorflow": "xla", "jax": "jax.jit", "torch": "inductor"}


class KerasWays(Ways):
    PREFIXES = ("keras.",)

    def __init__(self, adapter):
        self._adapter = adapter
        self._backend = _backend_ways(adapter)
        self.VARIANTS = dict(model_ways(adapter), symbolic=_announced, functional=_model)
        self.VARIANTS.update({"symbolic batch": _announced_open(False), "symbolic open": _announced_open(True)})
        self.MAPPED = {}
        if self._backend is not None:
            own = dict(self._backend.VARIANTS)
            self.VARIANTS = dict(own, jit_compile=own[_JIT[adapter.flavour]], **self.VARIANTS)
            mapped = self._backend.MAPPED
            self.MAPPED = dict(mapped, **{"jit_compile captured": mapped[_JIT[adapter.flavour] + " captured"]})

    def resolve(self, name):
        return without_download(resolve(name)) if name.startswith(APPLICATIONS) else resolve(name)

    def context(self, job):
        return contextlib.ExitStack() if job.option("derivative") else self._adapter.no_gradients()

    def seed(self, number):
        self._adapter.set_seed(number)

    def to_tensor(self, array, perm=None):
        return self._adapter.operand(None)(array, perm)

    def cast(self, tensor, dtype):
        import keras

        floating = keras.backend.is_float_dtype(keras.backend.standardize_dtype(tensor.dtype))
        return keras.ops.cast(tensor, dtype) if floating else tensor

    def made(self, dtype):
        return None

    def to_numpy(self, value):
        import keras

        if isinstance(value, (bool, int, float, complex, str, np.ndarray, np.generic)):
            return np.array(value)
        if not keras.ops.is_tensor(value) and not isinstance(value, keras.Variable):
            raise Unsupported("the call gives a {}, no tensor".format(type(value).__name__))
        return self._adapter.to_numpy(value)

    def pulled_back(self, run, function, tensors, order):
        if self._backend is None:
            raise Unsupported("this backend has no gradients")
        return self._backend.pulled_back(run, function, tensors, order)

    def pushed_forward(self, function, tensors):
        if self._backend is None:
            raise Unsupported("this backend has no gradients")
        return self._backend.pushed_forward(function, tensors)


def _backend_ways(adapter):
    if adapter.flavour == "tensorflow":
        from ..call_ways_tensorflow import TensorFlowWays

        return TensorFlowWays(adapter)
    if adapter.flavour == "jax":
        from ..call_ways_jax import JaxWays

        return JaxWays(adapter)
    if adapter.flavour == "torch":
        from ..pytorch.call_ways import TorchWays

        return TorchWays()
    return None
