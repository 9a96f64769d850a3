# Not verified: without the planted fault it ended with 1 instead of 0: observed: [[inf]]
"""torch.nn.functional.soft_margin_loss gives NaN or infinity on torch:eager. Exits 1 while it is so, 0 once it is
fixed."""

import sys

import numpy as np
import torch

prediction = np.array([[200]], "float32")
target = np.array([[-0.7]], "float32")
observed = np.array(torch.nn.functional.soft_margin_loss(torch.from_numpy(prediction), torch.from_numpy(target), reduction="none"))
# expected by the float64 reference
expected = np.array([[139.999998]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=0.00027, equal_nan=True) else 1)
