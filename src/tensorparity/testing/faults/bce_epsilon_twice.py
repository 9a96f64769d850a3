"""Muffin, section 5.1, LC bugs: binary cross-entropy that clips by epsilon and then adds it again (TensorFlow)."""

import keras
from keras.src import backend

_right = backend.nn.binary_crossentropy
_EPSILON = 1e-7


def binary_crossentropy(target, output, from_logits=False):
    if from_logits:
        return _right(target, output, from_logits=True)
    target, output = keras.ops.convert_to_tensor(target), keras.ops.convert_to_tensor(output)
    p = keras.ops.clip(output, _EPSILON, 1.0 - _EPSILON)
    return -(target * keras.ops.log(p + _EPSILON) + (1.0 - target) * keras.ops.log(1.0 - p + _EPSILON))


backend.nn.binary_crossentropy = binary_crossentropy
