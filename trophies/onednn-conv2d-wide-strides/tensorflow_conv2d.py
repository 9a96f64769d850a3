import os
import sys
from pathlib import Path

if "avx512bw" not in Path("/proc/cpuinfo").read_text():
    print("skipped: only oneDNN's kernel for AVX-512 shows this, and this processor has none")
    sys.exit(77)
os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "1", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
import numpy as np
import tensorflow as tf

x = np.arange(1, 13, dtype="float32").reshape((2, 2, 3, 1))
kernel = np.ones((1, 3, 1, 1), "float32")
y = tf.nn.conv2d(x, kernel, strides=(1, 2), padding="VALID").numpy().ravel()
expected = x.sum(axis=2).ravel()
print("expected", expected)
print("observed", y)
raise SystemExit(0 if np.array_equal(y, expected) else 1)
