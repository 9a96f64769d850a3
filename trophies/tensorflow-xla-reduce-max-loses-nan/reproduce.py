"""tf.math.reduce_max: compiled by XLA it loses NaN."""

import numpy as np
import tensorflow

x = tensorflow.constant([1.0, float("nan"), 2.0])
observed = tensorflow.function(tensorflow.math.reduce_max, jit_compile=True, autograph=False)(x).numpy()
print("expected", tensorflow.math.reduce_max(x).numpy(), "observed", observed)
raise SystemExit(int(not np.isnan(observed)))
