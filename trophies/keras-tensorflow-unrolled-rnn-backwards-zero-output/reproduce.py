import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

x, mask = np.ones((1, 2, 1), "float32"), np.array([[True, False]])
found = []
for unroll in (False, True):
    layer = keras.layers.SimpleRNN(
        1, return_sequences=True, go_backwards=True, zero_output_for_mask=True, unroll=unroll
    )
    layer.build(x.shape)
    layer.set_weights([np.ones(w.shape) for w in layer.weights])
    found.append(np.ravel(layer(x, mask=mask)).round(3).tolist())
print("expected", found[0], "observed", found[1])
raise SystemExit(0 if found[0] == found[1] else 1)
