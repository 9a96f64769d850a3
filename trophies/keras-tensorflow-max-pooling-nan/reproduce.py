import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

wrong = 0
for row in ([1.0, np.nan], [np.nan, 1.0], [np.nan, np.nan]):
    x = np.array(row, "float32")
    line = keras.ops.convert_to_numpy(keras.layers.MaxPooling1D(2)(x.reshape(1, 2, 1))).item()
    cube = keras.ops.convert_to_numpy(keras.layers.MaxPooling3D((1, 1, 2))(x.reshape(1, 1, 1, 2, 1))).item()
    whole = keras.ops.convert_to_numpy(keras.layers.GlobalMaxPooling1D()(x.reshape(1, 2, 1))).item()
    print(f"{x}: MaxPooling1D {line:g}, MaxPooling3D {cube:g}, GlobalMaxPooling1D {whole:g}, expected nan")
    wrong += not np.isnan([line, cube, whole]).all()
raise SystemExit(1 if wrong else 0)
