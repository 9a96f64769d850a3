import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import torch

x, y = np.ones((4, 2), "float32"), np.zeros((4, 2), "float32")
inputs = [keras.Input((2,)), keras.Input((2,))]
model = keras.Model(inputs, keras.layers.Add()(inputs))
model.compile(loss="mse")


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, place):
        return (x[place], x[place]), y[place]


print("expected", model.evaluate([x, x], y, verbose=0))
try:
    print("observed", model.evaluate(torch.utils.data.DataLoader(Rows(), batch_size=2), verbose=0))
except TypeError as error:
    print("observed", str(error)[:200])
    raise SystemExit(1) from None
