"""torch.nn.functional.group_norm: with a bias and without a weight, the backward pass raises."""

import torch

x = torch.randn(2, 4, 3, requires_grad=True)
bias = torch.zeros(4, requires_grad=True)
y = torch.nn.functional.group_norm(x, 2, None, bias)
try:
    y.sum().backward()
    observed = "a gradient"
except RuntimeError as error:
    observed = str(error)
print("expected", "a gradient", "observed", observed)
raise SystemExit(int(observed != "a gradient"))
