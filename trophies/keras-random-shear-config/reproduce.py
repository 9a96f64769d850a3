import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras

layer = keras.layers.RandomShear(x_factor=0.2)
config = layer.get_config()
print("written:", config["x_factor"])
try:
    print("read:   ", keras.layers.RandomShear.from_config(config).get_config()["x_factor"])
except (TypeError, ValueError) as error:
    print("read:   ", str(error).splitlines()[-1])
    raise SystemExit(1) from None
raise SystemExit(0)
