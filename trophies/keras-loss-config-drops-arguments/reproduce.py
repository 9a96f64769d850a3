"""Huber, CosineSimilarity and SparseCategoricalCrossentropy lose an argument when they are saved."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras

losses = keras.losses
wrong = False
for loss, name, expected in (
    (losses.Huber(delta=3.0), "delta", 3.0),
    (losses.CosineSimilarity(axis=1), "axis", 1),
    (losses.SparseCategoricalCrossentropy(axis=1), "axis", 1),
):
    observed = losses.deserialize(losses.serialize(loss))._fn_kwargs[name]
    print(type(loss).__name__, name, "expected", expected, "observed", observed)
    wrong |= observed != expected
loss = losses.Huber(delta=3.0)
values = [float(one([[0.0]], [[10.0]])) for one in (loss, losses.deserialize(losses.serialize(loss)))]
print("loss before saving", values[0], "after", values[1])
raise SystemExit(int(wrong))
