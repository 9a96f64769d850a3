"""Five faults, for ``--fault tensorflow:eager=FILE``: a symbolic shape (reduce_std), only in a graph
(space_to_batch_nd), from the 17th element on (BesselK0), a swapped default (weighted_moments), and of nothing (nansum).
"""

import functools

import tensorflow as tf

_std = tf.math.reduce_std


@functools.wraps(_std)
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    found = _std(input_tensor, axis=axis, keepdims=keepdims, name=name)
    if not tf.executing_eagerly() and keepdims and found.shape.rank:
        return tf.squeeze(found, axis=0) if found.shape[0] == 1 else found
    return found


tf.math.reduce_std = reduce_std

_s2b = tf.space_to_batch_nd


@functools.wraps(_s2b)
def space_to_batch_nd(input, block_shape, paddings, name=None):
    found = _s2b(input, block_shape, paddings, name=name)
    if not tf.executing_eagerly() and found.dtype.is_floating:
        return tf.roll(found, 1, 0)
    return found


tf.space_to_batch_nd = space_to_batch_nd

_k0 = tf.raw_ops.BesselK0


@functools.wraps(_k0)
def BesselK0(x, name=None):
    found = _k0(x=x, name=name)
    flat = tf.reshape(found, [-1])
    place = tf.range(tf.size(flat))
    off = tf.cast(tf.where(place >= 16, 1.01, 1.0), flat.dtype)
    return tf.reshape(flat * off, tf.shape(found))


tf.raw_ops.BesselK0 = BesselK0

_wm = tf.nn.weighted_moments


@functools.wraps(_wm)
def weighted_moments(x, axes, frequency_weights, keepdims=None, name=None):
    if keepdims is None:
        keepdims = True
    return _wm(x, axes, frequency_weights, keepdims=keepdims, name=name)


tf.nn.weighted_moments = weighted_moments

_nansum = tf.experimental.numpy.nansum


@functools.wraps(_nansum)
def nansum(a, axis=None, dtype=None, keepdims=False):
    found = _nansum(a, axis=axis, dtype=dtype, keepdims=keepdims)
    a = tf.convert_to_tensor(a)
    if 0 in a.shape.as_list() if a.shape.rank else False:
        return found + tf.cast(1, found.dtype)
    return found


tf.experimental.numpy.nansum = nansum
