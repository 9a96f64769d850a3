"""torch.fmod of finite numbers is NaN where the quotient overflows, in long tensors only."""

import numpy as np
import torch

wrong = False
for count in (1, 64):
    observed = float(torch.fmod(torch.full((count,), 1e38), torch.full((count,), 1e-5))[0])
    expected = float(np.fmod(np.float32(1e38), np.float32(1e-5)))
    print("numbers", count, "expected", expected, "observed", observed)
    wrong |= observed != expected
raise SystemExit(int(wrong))
