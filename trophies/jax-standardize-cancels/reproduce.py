"""jax.nn.standardize: the variance as a difference of two large numbers."""

import jax
import numpy as np

x = (100 + 0.01 * np.random.default_rng(0).standard_normal((1, 17))).astype(np.float32)
wide = x.astype(np.float64)
expected = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
error = np.abs(np.asarray(jax.nn.standardize(x, epsilon=1e-5)) - expected).max()
print("expected an error below 0.05, observed", error)
raise SystemExit(int(error > 0.05))
