"""tf.math.lgamma under XLA: no digits near 1 and 2, where it is zero."""

import math

import tensorflow

x = tensorflow.constant(2.0001)
expected = math.lgamma(float(x))
observed = float(tensorflow.function(tensorflow.math.lgamma, jit_compile=True)(x))
print("expected", expected, "observed", observed, "without XLA", float(tensorflow.math.lgamma(x)))
raise SystemExit(int(abs(observed - expected) > 1e-4 * abs(expected)))
