import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

# Rows of an embedding that are read more than once, and a centered RMSprop.
x = np.array([[2, 0, 2, 2, 2, 0, 2, 0, 1, 0, 0, 0, 2, 0, 2, 2, 0, 2, 0, 0, 2, 0]], "int32")
model = keras.Sequential([keras.Input((22,), dtype="int32"), keras.layers.Embedding(3, 1)])
before = np.array([[1.0], [2.0], [3.0]], "float32")
model.set_weights([before])
model.compile(optimizer=keras.optimizers.RMSprop(learning_rate=0.01, centered=True), loss="mse")
try:
    model.train_on_batch(x, np.zeros((1, 22, 1), "float32"))
except Exception as error:
    print("expected: a step")
    print("observed:", type(error).__name__, str(error).splitlines()[0][:200])
    raise SystemExit(1) from None
print("observed: a step,", model.get_weights()[0].ravel())
