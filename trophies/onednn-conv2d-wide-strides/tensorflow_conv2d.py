import numpy as np
import tensorflow as tf

x = np.arange(1, 13, dtype="float32").reshape((2, 2, 3, 1))
kernel = np.ones((1, 3, 1, 1), "float32")
y = tf.nn.conv2d(x, kernel, strides=(1, 2), padding="VALID").numpy().ravel()
expected = x.sum(axis=2).ravel()
print("expected", expected)
print("observed", y)
raise SystemExit(0 if np.array_equal(y, expected) else 1)
