import torch

x = torch.ones(1, 6, 5, 2).permute(0, 3, 1, 2)  # channels last in memory
w = torch.ones(3, 2, 2, 1).permute(3, 2, 0, 1).requires_grad_()
print("expected a gradient of 16 everywhere")
try:
    torch.nn.functional.conv2d(x, w).sum().backward()
except RuntimeError as error:
    print("observed", error)
    raise SystemExit(1) from None
print("observed", w.grad.flatten())
raise SystemExit(0 if bool((w.grad == 16).all()) else 1)
