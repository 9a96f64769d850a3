"""tf.nn.local_response_normalization: a NaN reaches channels outside of its window."""

import numpy as np
import tensorflow

x = np.ones((1, 1, 1, 7), np.float32)
x[..., 0] = np.nan
y = tensorflow.nn.local_response_normalization(x, depth_radius=2, bias=1.0, alpha=2.0**-13, beta=0.75).numpy()
print("expected four finite channels, observed", y.ravel())
raise SystemExit(int(bool(np.isnan(y[..., 3:]).any())))
