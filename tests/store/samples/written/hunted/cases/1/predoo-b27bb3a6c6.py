# Not verified: without the planted fault it ended with 1 instead of 0: observed: [[[[0.0, 0.0, 0.0, 0.0]]]]
"""torch.nn.functional.scaled_dot_product_attention gives NaN or infinity on torch:eager. Exits 1 while it is so, 0 once
it is fixed."""

import sys

import numpy as np
import torch

q = np.array([[[[0, 0, 0, np.nan]]]], "float64")
k = np.array([[[[0, 0, 0, 0]]]], "float64")
v = np.array([[[[0, 0, 0, 0.5]]]], "float64")
observed = np.array(torch.nn.functional.scaled_dot_product_attention(torch.from_numpy(np.ascontiguousarray(q.transpose([0, 2, 1, 3]))), torch.from_numpy(np.ascontiguousarray(k.transpose([0, 2, 1, 3]))), torch.from_numpy(np.ascontiguousarray(v.transpose([0, 2, 1, 3]))))).transpose([0, 2, 1, 3])
# expected by the float64 reference
expected = np.array([[[[np.nan, np.nan, np.nan, np.nan]]]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=0, equal_nan=True) else 1)
