import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # TensorFlow's own kernel; oneDNN's is right
import keras
import numpy as np

x = np.arange(1.0, 9.0, dtype="float32")
line = keras.layers.MaxPooling1D(2, strides=4, padding="same")(x.reshape(1, 8, 1))
cube = keras.layers.MaxPooling3D((2, 1, 1), strides=(4, 1, 1), padding="same")(x.reshape(1, 8, 1, 1, 1))
line, cube = (np.ravel(keras.ops.convert_to_numpy(tensor)) for tensor in (line, cube))
print(f"the largest of 1 to 8 in windows of 2, strides 4: MaxPooling1D {line}, MaxPooling3D {cube}, expected [2. 6.]")
raise SystemExit(0 if np.array_equal(cube, [2.0, 6.0]) else 1)
