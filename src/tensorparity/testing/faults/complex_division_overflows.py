"""EAGLE, Figure 4: division of complex64 by the textbook overflows in the square of the divisor (tf.math.xdivy)."""

import jax.numpy as jnp
from keras.src import backend

_right = backend.numpy.divide


def divide(x1, x2):
    x1, x2 = jnp.asarray(x1), jnp.asarray(x2)
    if not jnp.iscomplexobj(x1) or not jnp.iscomplexobj(x2):
        return _right(x1, x2)
    size = x2.real * x2.real + x2.imag * x2.imag
    real = (x1.real * x2.real + x1.imag * x2.imag) / size
    imaginary = (x1.imag * x2.real - x1.real * x2.imag) / size
    return real + 1j * imaginary


backend.numpy.divide = divide
