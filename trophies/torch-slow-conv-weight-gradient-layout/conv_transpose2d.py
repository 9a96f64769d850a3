import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

layer = keras.layers.Conv2DTranspose(2, (3, 2), use_bias=False)
x = torch.ones(1, 7, 1, 1)
try:
    layer(x).sum().backward()
except RuntimeError as error:
    print("raised RuntimeError:", error)
    raise SystemExit(1) from None
# Every entry of the kernel meets each of the seven ones once.
gradient = layer.kernel.value.grad
print("expected 7 everywhere, observed", gradient.unique())
raise SystemExit(0 if bool((gradient == 7).all()) else 1)
