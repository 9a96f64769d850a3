import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

labels = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]], "float32")
mean = np.full_like(labels, 2.5)  # predicting the mean gives R2 = 0
metric = keras.metrics.R2Score(num_regressors=1)
metric.update_state(labels, mean)
expected, observed = 1 - (1 - 0) * (4 - 1) / (4 - 1 - 1), float(metric.result())
print("expected", expected, "observed", observed)
raise SystemExit(0 if abs(observed - expected) < 1e-3 else 1)
