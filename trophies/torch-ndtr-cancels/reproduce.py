"""torch.special.ndtr: no digits for negative x."""

import math

import torch

x = -6.0
expected = 0.5 * math.erfc(-x / math.sqrt(2))
observed = torch.special.ndtr(torch.tensor(x)).item()
print("expected", expected, "observed", observed)
raise SystemExit(int(abs(observed / expected - 1) > 1e-4))
