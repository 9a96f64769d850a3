import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x, mask = np.ones((1, 2, 1), "float32"), np.array([[True, False]])
try:
    y = keras.layers.SimpleRNN(1, unroll=True, go_backwards=True)(x, mask=mask)
except Exception as error:
    print("raised", type(error).__name__, "tuple" in str(error))
    raise SystemExit(1) from None
print("shape", tuple(y.shape))
