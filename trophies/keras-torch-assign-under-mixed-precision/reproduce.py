import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np


def moved(policy: str) -> bool:
    layer = keras.layers.SimpleRNN(2, stateful=True, dtype=policy)
    model = keras.Sequential([keras.Input(batch_shape=(1, 2, 3)), layer])
    model(np.ones((1, 2, 3), "float32"))
    return bool(np.any(keras.ops.convert_to_numpy(layer.states[0]) != 0))


print("the state of a stateful layer changes in float32:", moved("float32"))
mixed = moved("mixed_float16")
print("the state of a stateful layer changes in mixed_float16:", mixed)
raise SystemExit(0 if mixed else 1)
