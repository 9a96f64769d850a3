import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

image = np.ones((1, 6, 6, 1), dtype="float32")
accepted = []
for make in (keras.layers.Conv2D, keras.layers.DepthwiseConv2D, keras.layers.SeparableConv2D):
    given = {} if make is keras.layers.DepthwiseConv2D else {"filters": 1}
    try:
        make(kernel_size=2, strides=2, dilation_rate=2, **given)(image)
        accepted.append(make.__name__)
    except ValueError as error:
        print(f"{make.__name__} refuses:", error)
print("accepted by", ", ".join(accepted) or "nobody")
raise SystemExit(1 if accepted else 0)
