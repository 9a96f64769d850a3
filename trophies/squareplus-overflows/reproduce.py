import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import jax
import keras
import numpy as np

wrong = 0
for name, function in [("jax.nn", jax.nn.squareplus), ("keras.ops", keras.ops.squareplus)]:
    observed = np.asarray(keras.ops.convert_to_numpy(function(np.array([-300, 300], "float16"))), "float64")
    print(f"{name}.squareplus([-300, 300]) in float16: expected [0.0033, 300], observed {observed.tolist()}")
    wrong += not np.allclose(observed, [0.00333, 300], rtol=1e-2)
raise SystemExit(1 if wrong else 0)
