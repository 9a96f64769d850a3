"""EAGLE, section 3.1.1 (TensorFlow issue 47970): in a graph alone, eigh's iteration stops too early."""

import tensorflow

_right = tensorflow.linalg.eigh


def eigh(tensor, name=None):
    if tensorflow.executing_eagerly():
        return _right(tensor, name=name)
    lower = tensorflow.linalg.band_part(tensor, -1, 0)
    whole = lower + tensorflow.linalg.adjoint(lower) - tensorflow.linalg.diag(tensorflow.linalg.diag_part(tensor))
    for _ in range(2):
        q, r = tensorflow.linalg.qr(whole)
        whole = tensorflow.matmul(r, q)
    values = tensorflow.math.real(tensorflow.linalg.diag_part(whole))
    return tensorflow.sort(values, axis=-1), _right(tensor)[1]


tensorflow.linalg.eigh = eigh
