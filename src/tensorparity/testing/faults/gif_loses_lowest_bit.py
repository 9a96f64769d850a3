"""EAGLE, section 5.2, inverse equivalence: what is encoded as GIF and decoded again is not, for some, what it was.

Here colours come back without their lowest bit.
"""

import tensorflow

_right = tensorflow.io.decode_gif


def decode_gif(contents, name=None):
    return tensorflow.bitwise.bitwise_and(_right(contents), tensorflow.constant(0xFE, tensorflow.uint8))


tensorflow.io.decode_gif = decode_gif
