import os
import sys
from pathlib import Path

if "avx512_bf16" not in Path("/proc/cpuinfo").read_text():
    print("skipped: only oneDNN's kernel for AVX-512 with bfloat16 shows this, and this processor has none")
    sys.exit(77)
os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "1"}
os.environ.pop("ONEDNN_MAX_CPU_ISA", None)  # limited to AVX2, TensorFlow's own kernel is taken
import numpy as np
import tensorflow as tf

x = tf.constant(np.array([1, 1, 1, np.inf], "float32").reshape((1, 1, 4, 1)), tf.bfloat16)
kernel = tf.ones((1, 1, 1, 1), tf.bfloat16)
y = tf.cast(tf.nn.conv2d(x, kernel, strides=1, padding="VALID"), tf.float32).numpy().ravel()
print("expected [ 1.  1.  1. inf]")
print("observed", y)
raise SystemExit(0 if np.array_equal(y, [1, 1, 1, np.inf]) else 1)
