"""tf.math.log1p under XLA: up to 128 units in the last place off in float64."""

import numpy as np
import tensorflow

x = np.linspace(-0.4142, -0.38, 1000)
expected, compiled = np.log1p(x), tensorflow.function(tensorflow.math.log1p, jit_compile=True)
for name, function in (("without XLA", tensorflow.math.log1p), ("with XLA", compiled)):
    units = np.abs(function(tensorflow.constant(x)).numpy() - expected) / np.spacing(np.abs(expected))
    print(name, "expected at most 2 units in the last place; observed", units.max(), "at", x[units.argmax()])
raise SystemExit(int(units.max() > 10))
