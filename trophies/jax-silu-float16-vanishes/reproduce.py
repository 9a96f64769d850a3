"""jax.nn.silu and jax.nn.sigmoid: nothing is left below -11.1 in float16."""

import jax

x = jax.numpy.array([-11.0, -12.0], dtype="float16")
observed = jax.nn.silu(x)
print("expected -1.837e-04 and -7.373e-05; observed", observed)
raise SystemExit(int(observed[1] == 0))
