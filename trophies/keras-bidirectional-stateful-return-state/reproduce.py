import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

layer = keras.layers.Bidirectional(keras.layers.LSTM(2, stateful=True, return_state=True))
try:
    outputs = layer(keras.Input(batch_shape=(1, 3, 4)))
except TypeError as error:
    print("raised", error)
    raise SystemExit(1) from None
print("outputs", len(outputs))
