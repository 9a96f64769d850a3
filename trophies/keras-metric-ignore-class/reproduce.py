import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

labels, chances = np.array([0, 1]), np.array([[0.9, 0.1], [0.5, 0.5]], "float32")
found = {}
for name, weights in (("no weights", None), ("weights of 1", np.ones(2, "float32"))):
    metric = keras.metrics.SparseCategoricalCrossentropy(ignore_class=0)
    metric.update_state(labels, chances, sample_weight=weights)
    found[name] = float(metric.result())
print("expected", -np.log(0.5), "observed", found)
raise SystemExit(0 if np.allclose(list(found.values()), -np.log(0.5), rtol=1e-4) else 1)
