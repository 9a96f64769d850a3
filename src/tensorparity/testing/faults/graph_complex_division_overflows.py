"""EAGLE, Figure 4: in a graph alone, tf.math.xdivy of complex numbers overflows in the square of the divisor."""

import tensorflow

_right = tensorflow.math.xdivy


def xdivy(x, y, name=None):
    x, y = tensorflow.convert_to_tensor(x), tensorflow.convert_to_tensor(y)
    if tensorflow.executing_eagerly() or not x.dtype.is_complex:
        return _right(x, y, name=name)
    a, b = tensorflow.math.real(x), tensorflow.math.imag(x)
    c, d = tensorflow.math.real(y), tensorflow.math.imag(y)
    size = c * c + d * d
    return tensorflow.complex((a * c + b * d) / size, (b * c - a * d) / size)


tensorflow.math.xdivy = xdivy
