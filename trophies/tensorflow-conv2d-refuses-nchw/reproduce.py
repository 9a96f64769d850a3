"""tf.nn.conv2d: documents NCHW and refuses it on the CPU."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"], os.environ["CUDA_VISIBLE_DEVICES"] = "3", "-1"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # oneDNN's kernel takes NCHW, TensorFlow's own does not
import tensorflow as tf

try:
    tf.nn.conv2d(tf.ones((1, 3, 8, 8)), tf.ones((3, 3, 3, 4)), 1, "VALID", data_format="NCHW")
except (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError) as error:
    print("expected shape (1, 4, 6, 6), observed", type(error).__name__)
    raise SystemExit(1) from None
