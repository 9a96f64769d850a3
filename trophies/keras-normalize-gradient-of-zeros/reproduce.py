import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

ones = torch.ones(1, 2)
wrong = 0
for name, function in (
    ("UnitNormalization", lambda x: keras.layers.UnitNormalization()(x)),
    ("Dot", lambda x: keras.layers.Dot(axes=-1, normalize=True)([x, ones])),
):
    x = torch.zeros(1, 2, requires_grad=True)
    function(x).sum().backward()
    print(f"{name}: gradient at zeros {x.grad.numpy()}, expected finite numbers")
    wrong += not np.isfinite(x.grad.numpy()).all()
raise SystemExit(1 if wrong else 0)
