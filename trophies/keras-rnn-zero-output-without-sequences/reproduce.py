import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

x, mask = np.ones((1, 2, 1), "float32"), np.array([[True, False]])
found = []
for zeroed in (False, True):
    layer = keras.layers.SimpleRNN(1, zero_output_for_mask=zeroed)
    layer.build(x.shape)
    layer.set_weights([np.ones(w.shape) for w in layer.weights])
    found.append(float(keras.ops.convert_to_numpy(layer(x, mask=mask))[0, 0]))
print("expected", found[0], "observed", found[1])
raise SystemExit(0 if found[0] == found[1] else 1)
