import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

try:
    loss = keras.losses.get({"class_name": "CategoricalGeneralizedCrossEntropy", "config": {}})
except ValueError as error:
    print("raised", error)
    raise SystemExit(1) from None
print("made", loss)
