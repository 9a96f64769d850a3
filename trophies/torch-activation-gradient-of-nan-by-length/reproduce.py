"""Gradients of activations at NaN differ between the vector body of a tensor and its end."""

import torch
import torch.nn.functional as F

wrong = False
for function in (F.elu, F.celu, F.selu, F.hardtanh, F.hardshrink, F.softshrink, F.hardswish):
    x = torch.full((37,), float("nan"), requires_grad=True)
    (gradient,) = torch.autograd.grad(function(x).sum(), x)
    observed = sorted({str(number) for number in gradient.tolist()})
    print(function.__name__, "expected one gradient, observed", ", ".join(observed))
    wrong |= len(observed) > 1
raise SystemExit(int(wrong))
