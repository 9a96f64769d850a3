"""The ways in which TensorFlow runs a call: graphs, XLA, mapped over a Dataset, vectorized, saved, symbolic."""

import contextlib
import tempfile

import numpy as np

from ..contract import Unsupported
from .call_runs import Ways, basis, cotangent

#: How XLA says that it has no such operation.
NOT_COMPILED = "Detected unsupported operations when trying to compile graph"


def _function(jit):
    def run(function, tensors, kept):
        import tensorflow as tf

        if "function" not in kept:
            kept["function"] = tf.function(lambda given: _plain(function(given)), jit_compile=jit, autograph=False)
        return _compiled(kept["function"], tensors)

    return run


def _captured(jit):
    """Return a way that has all inputs as constants of one graph."""

    def run(function, rows, kept):
        import tensorflow as tf

        whole = tf.function(lambda: [_plain(function(row)) for row in rows], jit_compile=jit, autograph=False)
        return _compiled(whole)

    return run


def _compiled(whole, *given):
    import tensorflow as tf

    try:
        return whole(*given)
    except tf.errors.InvalidArgumentError as error:
        if NOT_COMPILED in str(error):  # a lack, which users are told of
            raise Unsupported(str(error).split(NOT_COMPILED)[1].split(":", 1)[-1].strip().splitlines()[0])
        raise


def _plain(value):
    """Return a result that may leave a graph: what is no tensor becomes one."""
    import tensorflow as tf

    if isinstance(value, dict) and set(value) == {"values", "gradients"}:  # of a function that was pulled back
        return value
    return tf.nest.map_structure(lambda leaf: leaf if leaf is None else tf.convert_to_tensor(leaf), _expanded(value))


def _expanded(value):
    import tensorflow as tf

    return tf.nest.flatten(value, expand_composites=True)


def _any_size(function, tensors, kept):
    """Trace with open sizes, and see to it that what was announced holds of what comes."""
    import tensorflow as tf

    names = list(tensors)
    specs = [tf.TensorSpec([None] * len(tensors[name].shape), tensors[name].dtype) for name in names]
    if "open" not in kept:
        whole = tf.function(lambda *given: _plain(function(dict(zip(names, given)))), autograph=False)
        kept["open"] = whole.get_concrete_function(*specs)
    concrete = kept["open"]
    values = concrete(*[tensors[name] for name in names])
    for said, given in zip(tf.nest.flatten(concrete.structured_outputs), tf.nest.flatten(values)):
        if not said.shape.is_compatible_with(given.shape):
            raise AssertionError("announced as {}, but it is {}".format(said.shape, given.shape))
    return values


def _symbolic(function, tensors, kept):
    """Return zeros of the shapes and dtypes that are announced for inputs of known sizes."""
    import tensorflow as tf

    whole = tf.function(lambda given: _plain(function(given)), autograph=False)
    said = tf.nest.flatten(whole.get_concrete_function(tensors).structured_outputs)
    if any(form.shape.rank is None or None in form.shape.as_list() for form in said):
        raise Unsupported("the sizes are left open")
    return [np.zeros(form.shape.as_list(), form.dtype.as_numpy_dtype) for form in said]


def _saved(function, tensors, kept):
    import tensorflow as tf

    module = tf.Module()
    module.call = tf.function(lambda given: _plain(function(given)), autograph=False)
    module.call.get_concrete_function(tensors)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        return tf.saved_model.load(folder).call(tensors)


def _dataset(function, rows, kept):
    import tensorflow as tf

    stacked = {key: tf.stack([tensors[key] for tensors in rows]) for key in rows[0]}
    if not stacked:
        raise Unsupported("the call takes no tensors")
    return list(tf.data.Dataset.from_tensor_slices(stacked).map(lambda given: tuple(_plain(function(given)))))


def _vectorized(function, rows, kept):
    import tensorflow as tf

    stacked = {key: tf.stack([tensors[key] for tensors in rows]) for key in rows[0]}
    if not stacked:
        raise Unsupported("the call takes no tensors")
    found = tf.vectorized_map(lambda given: tuple(_plain(function(given))), stacked, fallback_to_while_loop=False)
    return [[leaf[place] for leaf in found] for place in range(len(rows))]


class TensorFlowWays(Ways):
    PREFIXES = ("tensorflow.",)
    VARIANTS = {
        "tf.function": _function(None),
        "xla": _function(True),
        "any size": _any_size,
        "symbolic": _symbolic,
        "saved": _saved,
    }
    MAPPED = {
        "dataset": _dataset,
        "vmap": _vectorized,
        "tf.function captured": _captured(None),
        "xla captured": _captured(True),
    }

    def __init__(self, adapter):
        self._adapter = adapter

    def resolve(self, name):
        from .native import resolve

        return resolve(name)

    def context(self, job):
        return contextlib.ExitStack()

    def seed(self, number):
        import tensorflow as tf

        tf.random.set_seed(number)

    def to_tensor(self, array, perm=None):
        return self._adapter.to_tensor(array, perm)

    def cast(self, tensor, dtype):
        import tensorflow as tf

        if tensor.dtype.is_complex and dtype == "float64":
            return tf.cast(tensor, tf.complex128)
        return tf.cast(tensor, dtype) if tensor.dtype.is_floating else tensor

    def dtype(self, name):
        import tensorflow as tf

        return tf.as_dtype(name)

    def leaves(self, value):
        return [leaf for leaf in _expanded(value) if leaf is not None]

    def to_numpy(self, value):
        import tensorflow as tf

        if isinstance(value, tf.TensorShape):
            value = value.as_list()
        if isinstance(value, tf.DType):
            value = value.name
        if isinstance(value, (tf.Tensor, tf.Variable)):
            value = value.numpy()
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if not isinstance(value, (bool, int, float, complex, str, list, np.ndarray, np.generic)):
            raise Unsupported("the call gives a {}, no tensor".format(type(value).__name__))
        return _with_texts(np.array(value))

    def pushed_forward(self, function, tensors):
        import tensorflow as tf

        if any(tensor.dtype.is_complex for tensor in tensors.values()):
            raise Unsupported("complex numbers are pulled back only")
        found, values = {}, _plain(function(tensors))
        if any(value.dtype.is_complex for value in values):
            raise Unsupported("complex numbers are pulled back only")
        for key, tensor in tensors.items():
            if not tensor.dtype.is_floating:
                continue
            slopes = []
            for direction in basis(tensor.shape):
                with tf.autodiff.ForwardAccumulator(tensor, tf.cast(tf.constant(direction), tensor.dtype)) as pushed:
                    ends = _plain(function(tensors))
                slopes.append(_slope(ends, [pushed.jvp(end) for end in ends], tensor.dtype))
            found[key] = tf.reshape(tf.stack(slopes), tensor.shape) if slopes else tf.zeros_like(tensor)
        return values, found

    def pulled_back(self, run, function, tensors, order):
        import tensorflow as tf

        keys = [key for key, tensor in tensors.items() if tensor.dtype.is_floating or tensor.dtype.is_complex]
        if not keys:
            raise Unsupported("none of its arguments is differentiable")

        def differentiated(given):
            with tf.GradientTape() as outer:
                outer.watch([given[key] for key in keys])
                with tf.GradientTape() as tape:
                    tape.watch([given[key] for key in keys])
                    values = _plain(function(given))
                first = _gradients(tape, values, [given[key] for key in keys])
            found = {key: value for key, value in zip(keys, first) if value is not None}
            if order > 1:
                second = _gradients(outer, list(found.values()), [given[key] for key in keys])
                found.update({"second " + key: value for key, value in zip(keys, second) if value is not None})
            return {"values": values, "gradients": found}

        found = run(differentiated, tensors)
        if isinstance(found, dict):
            return found["values"], found["gradients"]
        raise Unsupported("this way gives no gradients")


def _gradients(tape, values, sources):
    import tensorflow as tf

    ends = [value for value in values if value.dtype.is_floating or value.dtype.is_complex]
    if not ends:
        raise Unsupported("what the call gives does not depend differentiably on its arguments")
    weights = [tf.cast(tf.constant(cotangent(end.shape)), end.dtype) for end in ends]
    return tape.gradient(ends, sources, output_gradients=weights)


def _slope(ends, tangents, dtype):
    """Return how results change in the direction in which they were pushed, weighed as a pull is."""
    import tensorflow as tf

    parts = [
        tf.cast(tf.reduce_sum(tangent * tf.cast(tf.constant(cotangent(end.shape)), end.dtype)), dtype)
        for end, tangent in zip(ends, tangents)
        if tangent is not None and end.dtype.is_floating
    ]
    return tf.add_n(parts) if parts else tf.zeros((), dtype)


def _with_texts(array):
    """Return the array, of bytes as text: TensorFlow's strings are bytes."""
    if array.dtype.kind in "SO":
        decoded = [item.decode("latin-1") if isinstance(item, bytes) else str(item) for item in array.ravel()]
        return np.array(decoded, dtype=object).reshape(array.shape)
    return array
