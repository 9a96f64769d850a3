import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

x = np.arange(4.0, dtype="float32").reshape(1, 4, 1)
model = keras.Sequential([keras.Input((4, 1)), keras.layers.AdaptiveAveragePooling1D(1)])
print("expected", np.array(model(x)).ravel(), "as the model gives when it is called")
try:
    print("observed", model.predict(x, verbose=0).ravel())
except ValueError as error:
    said = next(line for line in str(error).splitlines() if "dimension" in line)
    print("observed", said[:120])
    raise SystemExit(1) from None
