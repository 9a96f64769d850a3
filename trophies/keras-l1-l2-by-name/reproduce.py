import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras

try:
    regularizer = keras.layers.Dense(3, kernel_regularizer="l1_l2").kernel_regularizer
except ValueError as error:
    print("observed", error)
    raise SystemExit(1) from None
print("observed", regularizer.get_config())
raise SystemExit(0 if regularizer.get_config() == {"l1": 0.01, "l2": 0.01} else 1)
