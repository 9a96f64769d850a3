import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

wrong = 0
for name, function in [
    ("torch.nn.functional.hardswish", lambda x: torch.nn.functional.hardswish(torch.from_numpy(x))),
    ("keras.activations.hard_silu", keras.activations.hard_silu),
]:
    for x in (np.array([1.5e38], "float32"), np.array([1e308])):
        observed = float(keras.ops.convert_to_numpy(function(x))[0])
        print(f"{name}({x[0]:g}) in {x.dtype}: expected {x[0]:g}, observed {observed:g}")
        wrong += not np.isclose(observed, x[0])
raise SystemExit(1 if wrong else 0)
