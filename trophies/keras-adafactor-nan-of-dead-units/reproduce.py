import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

weight = keras.Variable(np.ones((2, 2), "float32"))
gradient = np.array([[1.0, 0.0], [0.0, 0.0]], "float32")
keras.optimizers.Adafactor().apply([keras.ops.convert_to_tensor(gradient)], [weight])
after = keras.ops.convert_to_numpy(weight.value)
print("expected no NaN, observed", after.tolist())
raise SystemExit(int(np.isnan(after).any()))
