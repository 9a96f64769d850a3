"""torch.nn.functional.group_norm: no gradient with a bias and no weight."""

import torch

x = torch.arange(24.0).reshape(2, 4, 3).requires_grad_()
bias = torch.zeros(4, requires_grad=True)
y = torch.nn.functional.group_norm(x, 2, weight=None, bias=bias)
try:
    y.sum().backward()
except RuntimeError as error:
    print("expected a gradient, observed RuntimeError:", error)
    raise SystemExit(1) from None
print("expected 6 everywhere, observed", bias.grad.tolist())
raise SystemExit(0 if bool((bias.grad == 6).all()) else 1)
