import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

labels = np.array([[0, 1, 1]])
scores = np.array([[[0.9, 0.2, 0.1], [0.1, 0.8, 0.9]]], "float32")  # batch, classes, positions
metric = keras.metrics.MeanIoU(num_classes=2, sparse_y_pred=False, axis=1)
metric.update_state(labels, scores)
try:
    observed = float(metric.result())
except Exception as error:
    print("expected 1.0, observed", str(error).splitlines()[0])
    raise SystemExit(1) from None
print("expected 1.0, observed", observed)
raise SystemExit(0 if abs(observed - 1.0) < 1e-5 else 1)
