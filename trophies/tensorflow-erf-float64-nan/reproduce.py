"""tf.math.erf: NaN for large numbers in float64."""

import tensorflow

observed = tensorflow.math.erf(tensorflow.constant([10.0, 1e100, 1e200], tensorflow.float64)).numpy()
print("expected [1. 1. 1.] observed", observed)
raise SystemExit(int(observed[2] != 1))
