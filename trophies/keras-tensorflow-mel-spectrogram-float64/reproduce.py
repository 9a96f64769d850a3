import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sound = np.linspace(-1.0, 1.0, 64)[None]
for dtype in ("float32", "float64"):
    layer = keras.layers.MelSpectrogram(fft_length=16, sequence_stride=4, num_mel_bins=4, dtype=dtype)
    try:
        print(dtype, "gives", layer(sound.astype(dtype)).dtype.name)
    except Exception as error:
        print(dtype, "raises", type(error).__name__, str(error).split("\x1b[1m")[-1].split(" [Op")[0])
        raise SystemExit(1) from None
raise SystemExit(0)
