# Not verified: without the planted fault it ended with 1 instead of 0: observed: [[inf]]
"""torch.special.i1 gives NaN or infinity on torch:eager. Exits 1 while it is so, 0 once it is fixed."""

import sys

import numpy as np
import torch

x = np.array([[90]], "float32")
observed = np.array(torch.special.i1(torch.from_numpy(x)))
# expected by the float64 reference
expected = np.array([[5.11060682e+37]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=4.5e+33, equal_nan=True) else 1)
