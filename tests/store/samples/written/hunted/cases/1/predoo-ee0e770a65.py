"""jax.nn.sigmoid is wrong on jax:eager. Exits 1 while it is so, 0 once it is fixed."""

import sys

import numpy as np
import jax.nn
import jax.numpy

x = np.array([[-11.1]], "float16")
observed = np.array(jax.nn.sigmoid(jax.numpy.array(x)))
# expected by the float64 reference
expected = np.array([[1.50885016e-05]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=2.4e-06, equal_nan=True) else 1)
