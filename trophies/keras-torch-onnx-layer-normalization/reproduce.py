import os
import tempfile
import warnings

os.environ["KERAS_BACKEND"] = "torch"
warnings.simplefilter("ignore")
import keras
import numpy as np

failed = 0
for options in ({}, {"scale": False}, {"center": False}):
    model = keras.Sequential([keras.Input((5,)), keras.layers.LayerNormalization(**options)])
    model.predict(np.ones((1, 5)), verbose=0)
    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    print("expected: a file, with", options)
    try:
        model.export(path, format="onnx", verbose=False)
        print("observed: a file")
    except Exception as error:
        failed += 1
        print("observed:", type(error).__name__, str(error).strip()[:60])
raise SystemExit(1 if failed else 0)
