import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

x = np.array([[[1.0], [3.0], [0.0]]], "float32")  # a sequence with one feature; its last step is padding
model = keras.Sequential([keras.Input((3, 1)), keras.layers.Masking(), keras.layers.BatchNormalization()])
print("expected -1, 1 and a number: the mean of the first two steps is 2, their variance 1")
try:
    y = keras.ops.convert_to_numpy(model(x, training=True))
except Exception as error:
    print("observed", type(error).__name__, str(error).splitlines()[-1])
    raise SystemExit(1) from None
print("observed", y.ravel())
raise SystemExit(0 if np.allclose(y.ravel()[:2], [-1.0, 1.0], atol=1e-2) else 1)
