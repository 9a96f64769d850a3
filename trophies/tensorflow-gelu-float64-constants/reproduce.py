"""tf.nn.gelu: float64 with constants of float32."""

import math

import tensorflow

x = -0.8
observed = float(tensorflow.nn.gelu(tensorflow.constant([x], tensorflow.float64))[0])
expected = x / 2 * math.erfc(-x / math.sqrt(2))
print("expected", expected, "observed", observed)
raise SystemExit(int(abs(observed - expected) > 1e-12))
