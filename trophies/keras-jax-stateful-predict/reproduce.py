import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

given = keras.Input((1, 1), batch_size=1)
layer = keras.layers.SimpleRNN(1, stateful=True)
model = keras.Model(given, layer(given))
layer.set_weights([np.ones(w.shape) for w in layer.weights])
x = np.ones((2, 1, 1), "float32")
expected = [float(model(row)[0, 0]) for row in np.split(x, 2)]
layer.reset_state()
observed = np.ravel(model.predict(x, batch_size=1, verbose=0)).tolist()
print("expected", expected, "observed", observed)
raise SystemExit(0 if np.allclose(expected, observed) else 1)
