"""torch.cosh and torch.sinh: infinite before the range of float32 ends, but only in vectors."""

import torch

many = torch.cosh(torch.full((16,), 89.0))[0].item()
one = torch.cosh(torch.tensor([89.0]))[0].item()
print("expected 2.2448064e+38; one number:", one, "- sixteen:", many)
raise SystemExit(int(many != many or many == float("inf")))
