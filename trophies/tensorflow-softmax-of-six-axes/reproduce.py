import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # oneDNN's kernel; TensorFlow's own is right
import numpy as np
import tensorflow as tf

x = np.zeros((1, 1, 1, 1, 1, 2), "float32")
print("expected [0.5 0.5]")
try:
    y = tf.nn.softmax(x).numpy().ravel()
except tf.errors.AbortedError as error:
    print("observed", type(error).__name__, error.message)
    raise SystemExit(1) from None
print("observed", y)
raise SystemExit(0 if np.allclose(y, 0.5) else 1)
