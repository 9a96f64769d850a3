"""torch.atan2: its gradient squares its arguments, which leaves the range of float16 at 256 and below 0.004."""

import torch

wrong = False
for dtype, value in ((torch.float16, 2e-3), (torch.float16, 300.0), (torch.float32, 1e20)):
    y = torch.tensor(value, dtype=dtype, requires_grad=True)
    x = torch.tensor(value, dtype=dtype, requires_grad=True)
    torch.atan2(y, x).backward()
    expected = 0.5 / y.item()
    print(f"{dtype} at {value}: expected {expected:.4g}, observed {y.grad.item():.4g}")
    wrong |= not abs(y.grad.item() - expected) <= 0.01 * expected
raise SystemExit(1 if wrong else 0)
