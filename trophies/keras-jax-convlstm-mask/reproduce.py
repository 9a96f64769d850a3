import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

x = np.ones((2, 2, 2, 1), "float32")  # two rows, two steps, two positions
mask = np.array([[True, False], [True, True]])
layer = keras.layers.ConvLSTM1D(1, 1)
layer.build(x.shape)
layer.set_weights([np.ones(w.shape) for w in layer.weights])
expected = np.ravel(np.stack([layer(x[:1, :1])[0], layer(x[1:])[0]]))  # the first row without its second step
observed = np.ravel(layer(x, mask=mask))
print("expected", expected.round(3).tolist(), "observed", observed.round(3).tolist())
raise SystemExit(0 if np.allclose(expected, observed, atol=1e-5) else 1)
