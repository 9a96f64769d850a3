"""tf.nn.conv3d with padding SAME begins in the middle where the window is smaller than the stride."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # TensorFlow's own kernel; oneDNN's is right
import numpy as np
import tensorflow as tf

x = np.arange(1.0, 4.0, dtype=np.float32).reshape(1, 1, 1, 3, 1)
kernel = np.ones((1, 1, 1, 1, 1), np.float32)
flat = tf.nn.conv2d(x[:, 0], kernel[0], [1, 1, 3, 1], "SAME").numpy().item()
observed = tf.nn.conv3d(x, kernel, [1, 1, 1, 3, 1], "SAME").numpy().item()
print("expected", 1.0, "conv2d", flat, "conv3d", observed)
raise SystemExit(int(observed != 1.0))
