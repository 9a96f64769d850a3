"""torch.cosh and torch.sinh: infinite before the range of float32 ends, but only in vectors."""

import torch

one = torch.cosh(torch.tensor([89.0]))[0].item()
many = {count: torch.cosh(torch.full((count,), 89.0))[0].item() for count in (8, 16, 32, 64)}  # as long as vectors are
print("expected 2.2448064e+38; one number:", one, "- so many numbers:", many)
raise SystemExit(int(any(value != value or value == float("inf") for value in many.values())))
