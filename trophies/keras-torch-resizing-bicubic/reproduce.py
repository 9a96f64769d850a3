import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

image = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], "float32").reshape(1, 1, 6, 1)
layer = keras.layers.Resizing(1, 12, interpolation="bicubic")
observed = keras.ops.convert_to_numpy(layer(image)).ravel()
distance = np.abs((np.arange(12) + 0.5) / 2 - 0.5 - 2)  # of each output from the impulse
near, far = 1.5 * distance**3 - 2.5 * distance**2 + 1, -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
expected = np.where(distance <= 1, near, np.where(distance < 2, far, 0))
inside = slice(3, 9)  # away from the edges
print("expected", expected[inside].round(4), "observed", observed[inside].round(4))
raise SystemExit(0 if np.allclose(observed[inside], expected[inside], atol=1e-4) else 1)
