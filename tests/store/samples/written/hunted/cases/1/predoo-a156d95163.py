# Not verified: without the planted fault it ended with 1 instead of 0: observed: [[0.0]]
"""torch.special.ndtr is wrong on torch:eager. Exits 1 while it is so, 0 once it is fixed."""

import sys

import numpy as np
import torch

x = np.array([[-6]], "float32")
observed = np.array(torch.special.ndtr(torch.from_numpy(x)))
# expected by the float64 reference
expected = np.array([[9.86587645e-10]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=3.6e-14, equal_nan=True) else 1)
