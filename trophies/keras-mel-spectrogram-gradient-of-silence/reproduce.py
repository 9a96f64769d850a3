"""Keras on torch: the gradient of a MelSpectrogram is NaN wherever there is a pause in the sound."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

sound = np.concatenate([np.sin(0.05 * np.arange(8192)), np.zeros(8192)]).astype("float32")[None]
x = torch.tensor(sound, requires_grad=True)
y = keras.layers.MelSpectrogram()(x)
y.sum().backward()
observed = int(np.isnan(x.grad.numpy()).sum())
print("outputs that are not finite:", int((~np.isfinite(y.detach().numpy())).sum()))
print("expected: 0 gradients that are NaN")
print(f"observed: {observed} of {x.numel()}")
sys.exit(0 if observed == 0 else 1)
