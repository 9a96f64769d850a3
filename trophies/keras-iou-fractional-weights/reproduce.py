import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

metric = keras.metrics.IoU(num_classes=2, target_class_ids=[0])
metric.update_state([0, 0, 1, 1], [0, 1, 0, 1], sample_weight=np.array([0.3, 0.3, 0.3, 0.1], "float32"))
expected, observed = 0.3 / (0.3 + 0.3 + 0.3), float(metric.result())
print("expected", expected, "observed", observed)
raise SystemExit(0 if abs(observed - expected) < 1e-3 else 1)
