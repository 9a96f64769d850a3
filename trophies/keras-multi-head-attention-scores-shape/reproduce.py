import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=3)
query, value = np.ones((2, 4, 5), "float32"), np.ones((2, 3, 5), "float32")
_, promised = layer(keras.Input((4, 5), 2), keras.Input((3, 5), 2), return_attention_scores=True)
_, scores = layer(query, value, return_attention_scores=True)
print("promised", tuple(promised.shape), "given", tuple(scores.shape))
raise SystemExit(0 if tuple(promised.shape) == tuple(scores.shape) else 1)
