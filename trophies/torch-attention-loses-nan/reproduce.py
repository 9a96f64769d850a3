"""torch.nn.functional.scaled_dot_product_attention: NaN in, zeros out."""

import torch

q = torch.full((1, 1, 2, 4), float("nan"))
k, v = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
observed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
print("expected", torch.softmax(q @ k.mT / 2, -1) @ v, "observed", observed)
raise SystemExit(int(not observed.isnan().all()))
