"""tf.math.ndtri under XLA: infinite for small probabilities."""

import tensorflow

p = tensorflow.constant([1e-33, 1e-10])
observed = tensorflow.function(tensorflow.math.ndtri, jit_compile=True)(p).numpy()
print("expected [-12.047468 -6.361341] observed", observed, "without XLA", tensorflow.math.ndtri(p).numpy())
raise SystemExit(int(not abs(observed[0] + 12.047468) < 1e-4))
