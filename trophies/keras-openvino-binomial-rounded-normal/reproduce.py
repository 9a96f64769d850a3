import os

os.environ["KERAS_BACKEND"] = "openvino"
import keras
import numpy as np

count, counts, probability = 100_000, 4, 0.1
drawn = keras.ops.convert_to_numpy(
    keras.random.binomial((count,), counts=float(counts), probabilities=probability, seed=1)
)
expected = (1 - probability) ** counts
error = (expected * (1 - expected) / count) ** 0.5
observed = float(np.mean(drawn == 0))
print(f"share of zeros: expected {expected:.4f} +- {error:.4f}, observed {observed:.4f}")
raise SystemExit(1 if abs(observed - expected) > 6 * error else 0)
