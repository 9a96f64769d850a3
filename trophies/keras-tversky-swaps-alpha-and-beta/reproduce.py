import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

labels = np.array([[1.0, 0.0]], "float32")
hit_and_false_positive = np.array([[1.0, 1.0]], "float32")
observed = float(keras.losses.Tversky(alpha=1.0, beta=0.0)(labels, hit_and_false_positive))
print("expected", 0.5, "observed", observed)
raise SystemExit(0 if abs(observed - 0.5) < 1e-3 else 1)
