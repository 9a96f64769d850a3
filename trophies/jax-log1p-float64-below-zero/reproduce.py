"""jax.numpy.log1p: up to 127 ulp off in float64."""

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
x = np.linspace(-0.4142, -0.38, 1000)
observed, expected = np.asarray(jax.numpy.log1p(x)), np.log1p(x)
ulps = np.abs(observed - expected) / np.spacing(np.abs(expected))
print("expected at most 2 ulp; observed", ulps.max(), "at x =", x[ulps.argmax()])
raise SystemExit(int(ulps.max() > 10))
