import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

layer = keras.layers.RandomGrayscale(seed=7)
again = keras.layers.RandomGrayscale.from_config(layer.get_config())
print("expected seed", layer.seed, "observed", again.seed)
raise SystemExit(0 if again.seed == layer.seed else 1)
