import subprocess
import sys

CHILD = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # oneDNN's kernel; TensorFlow's own answers
import tensorflow as tf
print(tf.nn.max_pool(tf.ones((1, 2, 2, 1)), (1, 3), 1, "VALID").shape)
"""
done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=False)
print("expected: (1, 2, 0, 1), or an exception")
print("observed:", done.stdout.strip() or f"the process ends with {done.returncode}")
raise SystemExit(1 if done.returncode < 0 else 0)
