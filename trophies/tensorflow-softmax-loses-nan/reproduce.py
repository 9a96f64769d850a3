import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # oneDNN's kernel; TensorFlow's own is right
import numpy as np
import tensorflow as tf

y = tf.nn.softmax(np.array([[1.0, 2.0, np.nan]], "float32")).numpy()
print("expected [[nan nan nan]]")
print("observed", y)
raise SystemExit(0 if np.isnan(y).all() else 1)
