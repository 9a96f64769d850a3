import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

# With alpha = 1 PReLU is the identity, which has a derivative of 1 everywhere.
model = keras.Sequential([keras.Input((3,)), keras.layers.PReLU(alpha_initializer="ones")])
x = np.array([[-1.0, 0.0, 1.0]], "float32")
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    with tf.GradientTape() as tape:
        t = tf.constant(x)
        tape.watch(t)
        total = tf.reduce_sum(model(t))
    observed = tape.gradient(total, t).numpy()
elif keras.backend.backend() == "torch":
    import torch

    t = torch.tensor(x, requires_grad=True)
    model(t).sum().backward()
    observed = t.grad.numpy()
else:
    import jax

    observed = np.asarray(jax.grad(lambda t: model(t).sum())(x))
print("expected [[1. 1. 1.]]")
print("observed", observed)
raise SystemExit(0 if np.array_equal(observed, np.ones((1, 3))) else 1)
