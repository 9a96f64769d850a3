import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

layer = keras.layers.MelSpectrogram(fft_length=4, sequence_stride=2, num_mel_bins=3)
said = tuple(layer.compute_output_shape((1, 5)))
given = tuple(layer(np.ones((1, 5), "float32")).shape)
print("compute_output_shape", said, "output", given)
raise SystemExit(0 if said == given else 1)
