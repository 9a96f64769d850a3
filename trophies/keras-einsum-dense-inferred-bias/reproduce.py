import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras

x = keras.Input((15, 4))
layer = keras.layers.EinsumDense("abc,bd->adc", output_shape=(3, None), bias_axes="c")
print("expected an output of shape (None, 3, 4): c is the size of the input's last axis")
try:
    shape = layer(x).shape
except ValueError as error:
    print("observed", error)
    raise SystemExit(1) from None
print("observed", shape)
raise SystemExit(0 if shape == (None, 3, 4) else 1)
