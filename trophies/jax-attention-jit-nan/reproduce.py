"""jax.nn.dot_product_attention: NaN under jit, and right without."""

import jax
import numpy as np

q, k, v = (np.zeros((1, 6, 2, 8), np.float32) for _ in range(3))
q.reshape(-1)[89], k.reshape(-1)[73] = -4e17, -1e-6
plain = np.isnan(jax.nn.dot_product_attention(q, k, v)).sum()
compiled = np.isnan(jax.jit(jax.nn.dot_product_attention)(q, k, v)).sum()
print("expected 0 NaN; without jit", plain, "- with jit", compiled)
raise SystemExit(int(compiled > 0))
