"""torch.nn.functional.soft_margin_loss: infinite for a confident mistake."""

import torch

loss = torch.nn.functional.soft_margin_loss(torch.tensor([-100.0]), torch.tensor([1.0])).item()
print("expected 100, observed", loss)
raise SystemExit(int(loss == float("inf")))
