import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

x = np.ones((1, 3, 1), "float32")
layer = keras.layers.Conv1DTranspose(1, 2, strides=2, padding="same", output_padding=0)
try:
    shape = tuple(layer(x).shape)
except Exception as error:
    print(f"expected an output of shape (1, 4, 1), observed {type(error).__name__}: {str(error).splitlines()[0]}")
    raise SystemExit(1) from None
print(f"expected (1, 4, 1), observed {shape}")
raise SystemExit(0 if shape == (1, 4, 1) else 1)
