import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

weight = keras.Variable(np.array([1.0], "float32"))
optimizer = keras.optimizers.ScheduleFreeAdamW(learning_rate=0.1, beta_1=0.9, beta_2=0.999)
gradient = keras.ops.convert_to_tensor(np.array([1.0], "float32"))
z = x = 1.0  # a constant gradient of 1: its second moment, corrected, is always 1
for step in (1, 2, 3):
    optimizer.apply([gradient], [weight])
    z -= 0.1
    x = (1 - 1 / step) * x + z / step
    expected, observed = 0.1 * z + 0.9 * x, float(keras.ops.convert_to_numpy(weight.value)[0])
    print("step", step, "expected", round(expected, 6), "observed", round(observed, 6))
raise SystemExit(0 if abs(expected - observed) < 1e-4 else 1)
