import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

x = np.ones((3, 1), "float32")
labels = [np.array([[0.0], [0.0], [3.0]], "float32"), np.zeros((3, 1), "float32")]
given = keras.Input((1,))
outputs = [keras.layers.Dense(1, kernel_initializer="zeros", name=name)(given) for name in "ab"]
model = keras.Model(given, outputs)
model.compile(loss="mse")
observed = model.evaluate(x, labels, batch_size=2, verbose=0, return_dict=True)
print("expected a_loss 3.0: the mean of 0, 0 and 9, which loss is as well")
print("observed", observed)
raise SystemExit(0 if abs(observed["a_loss"] - 3) < 1e-5 else 1)
