"""tf.math.erfinv: infinite inside of its domain, and no digits near zero."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

end, small = tf.math.erfinv(tf.constant([0.99999994, 1e-6])).numpy()
print("expected 3.8325069 and 8.8622693e-07, observed", end, small)
raise SystemExit(int(end == float("inf") or abs(small / 8.8622693e-07 - 1) > 1e-4))
