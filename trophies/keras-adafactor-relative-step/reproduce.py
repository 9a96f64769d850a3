import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

weight = keras.Variable(np.ones(4, "float32"))
optimizer = keras.optimizers.Adafactor(learning_rate=1.0, relative_step=False)
gradient = keras.ops.convert_to_tensor(np.ones(4, "float32"))
for step in (1, 2, 3):
    before = keras.ops.convert_to_numpy(weight.value).copy()
    optimizer.apply([gradient], [weight])
    size = max(1e-3, float(np.sqrt(np.mean(before**2))))
    observed = float((before - keras.ops.convert_to_numpy(weight.value))[0]) / size
    print("step", step, "expected", 1.0, "observed", round(observed, 6))
raise SystemExit(0 if abs(observed - 1.0) < 1e-3 else 1)
