"""torch.nn.functional.hardsigmoid: the gradient of float64 is a float32 number."""

import torch

x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
(gradient,) = torch.autograd.grad(torch.nn.functional.hardsigmoid(x).sum(), x)
expected, observed = 1.0 / 6.0, gradient.item()
print("expected", expected, "observed", observed)
raise SystemExit(int(abs(observed / expected - 1) > 1e-12))
