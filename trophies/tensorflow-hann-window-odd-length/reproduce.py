import numpy as np
import tensorflow as tf

observed = tf.signal.hann_window(3, periodic=True).numpy()
expected = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(3) / 3)
print("expected", expected, "observed", observed)
raise SystemExit(0 if np.allclose(observed, expected, atol=1e-5) else 1)
