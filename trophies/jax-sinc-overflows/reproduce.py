import jax.numpy as jnp
import numpy as np

wrong = 0
for dtype, x in [("float16", -23008.0), ("float32", 2e38)]:
    observed = float(jnp.sinc(jnp.array([x], dtype))[0])
    print(f"sinc({x}) in {dtype}: expected 0, observed {observed}")
    wrong += not np.isclose(observed, 0.0)
raise SystemExit(1 if wrong else 0)
