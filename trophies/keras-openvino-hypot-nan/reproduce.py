import os

os.environ["KERAS_BACKEND"] = "openvino"
import keras
import numpy as np

observed = keras.ops.convert_to_numpy(keras.ops.hypot(np.array([0.1], "float32"), np.array([np.nan], "float32")))[0]
print("expected: nan")
print("observed:", observed)
raise SystemExit(0 if np.isnan(observed) else 1)
