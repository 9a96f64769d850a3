import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

layer = keras.layers.RandomGrayscale(data_format="channels_first", seed=7)
again = keras.layers.RandomGrayscale.from_config(layer.get_config())
print("expected", layer.data_format, "observed", again.data_format)
raise SystemExit(0 if again.data_format == layer.data_format else 1)
