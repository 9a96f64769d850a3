import os
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import torch

p = torch.tensor([[1e-9]], requires_grad=True)
keras.losses.BinaryFocalCrossentropy(gamma=0.5)(torch.zeros(1, 1), p).backward()
observed = float(p.grad)
print("expected: 4.7e-05, or 1.6e-03 with a guarded logarithm")
print("observed:", observed)
sys.exit(0 if 0.0 <= observed < 0.01 else 1)
