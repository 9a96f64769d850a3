"""jax.lax.lgamma: no digits near 1 and 2, where it is zero."""

import math

import jax
import numpy as np

x = np.float32(2.0001)
observed, expected = float(jax.lax.lgamma(jax.numpy.float32(x))), math.lgamma(float(x))
print("expected", expected, "observed", observed)
raise SystemExit(int(abs(observed - expected) > 1e-4 * abs(expected)))
