import numpy as np
import tensorflow as tf

x = tf.constant(np.arange(1.0, 9.0, dtype="float32").reshape((1, 2, 2, 2, 1)) * 1e-6)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.nn.max_pool3d(x, 2, 2, "VALID")
gradient = tape.gradient(y, x).numpy().ravel()
print("input   ", x.numpy().ravel())
print("expected [0. 0. 0. 0. 0. 0. 0. 1.]")
print("observed", gradient)
raise SystemExit(0 if gradient.sum() == 1 else 1)
