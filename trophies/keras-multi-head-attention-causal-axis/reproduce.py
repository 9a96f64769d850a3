import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=3, attention_axes=(2,))
image = np.random.default_rng(0).normal(size=(1, 4, 3, 5)).astype("float32")
square = image[:, :3]
y = keras.ops.convert_to_numpy(layer(square, square, use_causal_mask=True))
print("3 rows of 3 steps:", y.shape)
try:
    found = keras.ops.convert_to_numpy(layer(image, image, use_causal_mask=True))
except Exception as error:
    print("4 rows of 3 steps:", str(error).splitlines()[2])
    raise SystemExit(1) from None
same = np.allclose(found[:, :3], y, rtol=1e-4, atol=1e-6)
print("4 rows of 3 steps:", found.shape, "the first three as before:", same)
raise SystemExit(0 if same else 1)
