"""EAGLE, section 3.1.1 (TensorFlow issue 47970): in a graph alone, floordiv multiplies by the reciprocal."""

import tensorflow

_right = tensorflow.math.floordiv


def floordiv(x, y, name=None):
    x, y = tensorflow.convert_to_tensor(x), tensorflow.convert_to_tensor(y)
    if tensorflow.executing_eagerly() or not x.dtype.is_floating:
        return _right(x, y, name=name)
    return tensorflow.floor(x * (1.0 / y))


tensorflow.math.floordiv = floordiv
