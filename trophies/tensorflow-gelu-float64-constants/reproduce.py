"""tf.nn.gelu: its constants are float32 numbers in float64, too."""

import math
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

x = 1.0
expected = 0.5 * x * math.erfc(-x / math.sqrt(2))
observed = float(tf.nn.gelu(tf.constant(x, tf.float64)))
print("expected", expected, "observed", observed)
raise SystemExit(int(abs(observed / expected - 1) > 1e-12))
