import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

cells = [keras.layers.LSTMCell(2), keras.layers.GRUCell(3)]
layer = keras.layers.RNN(cells, stateful=True)
layer(keras.Input(batch_shape=(1, 3, 4)))
try:
    layer.reset_state()
except AttributeError as error:
    print("raised", error)
    raise SystemExit(1) from None
print("reset")
