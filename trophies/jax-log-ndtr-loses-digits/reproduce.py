"""jax.scipy.special.log_ndtr: no digits left between 5 and 8."""

import math

import jax

jax.config.update("jax_enable_x64", True)
x = 8.0
expected = math.log1p(-0.5 * math.erfc(x / math.sqrt(2)))
observed = float(jax.scipy.special.log_ndtr(x))
print("expected", expected, "observed", observed)
raise SystemExit(int(abs(observed / expected - 1) > 1e-6))
