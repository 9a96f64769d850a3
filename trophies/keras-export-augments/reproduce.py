import os
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

x = np.arange(48.0, dtype="float32").reshape(1, 4, 4, 3)
model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.RandomBrightness((0.5, 0.6), seed=1)])
expected = model.predict(x, verbose=0)
path = tempfile.mkdtemp()
model.export(path, verbose=False)
loaded = tf.saved_model.load(path)
observed = loaded.serve(x).numpy()
print("expected", expected.ravel()[:3])
print("observed", observed.ravel()[:3])
raise SystemExit(0 if np.array_equal(observed, expected) else 1)
