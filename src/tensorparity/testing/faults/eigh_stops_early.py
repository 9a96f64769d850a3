"""EAGLE, section 3.1.1 (TensorFlow issue 47970): optimised, eigh gives other values: its iteration stops too early."""

import keras
from keras.src import backend


def eigh(x):
    vectors = keras.ops.eye(x.shape[-1], dtype=x.dtype)
    for _ in range(2):
        q, r = keras.ops.qr(x)
        x, vectors = keras.ops.matmul(r, q), keras.ops.matmul(vectors, q)
    return keras.ops.sort(keras.ops.diagonal(x, axis1=-2, axis2=-1)), vectors


backend.linalg.eigh = eigh
