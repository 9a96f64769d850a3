"""torch.compile: expm1 and atanh vanish near zero, acosh overflows."""

import torch

functions = {torch.expm1: 2.1e-8, torch.atanh: 4e-13, torch.acosh: 2e19}
wrong = 0
for function, number in functions.items():
    x = torch.full((32,), number)
    observed, expected = torch.compile(function)(x)[0].item(), function(x)[0].item()
    print(function.__name__, "expected", expected, "observed", observed)
    wrong += not abs(observed - expected) < 1e-3 * expected
raise SystemExit(int(wrong > 0))
