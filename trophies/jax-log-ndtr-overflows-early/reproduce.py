"""jax.scipy.special.log_ndtr: infinite before the range of float32 ends."""

import jax
import jax.scipy.special

observed = float(jax.scipy.special.log_ndtr(jax.numpy.float32(-2e19)))
print("expected -2e+38 observed", observed)
raise SystemExit(int(observed == -float("inf")))
