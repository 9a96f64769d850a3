import os
import tempfile
import warnings

os.environ["KERAS_BACKEND"] = "torch"
warnings.simplefilter("ignore")
import keras
import numpy as np

failed = 0
for layer in (keras.layers.Conv2D(3, 2), keras.layers.Conv3D(3, 2)):
    shape = (4, 4, 4, 2)[-layer.rank - 1 :]
    model = keras.Sequential([keras.Input(shape), layer])
    model.predict(np.ones((1, *shape)), verbose=0)
    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    print("expected: a file, for", type(layer).__name__)
    try:
        model.export(path, format="onnx", verbose=False)
        print("observed: a file")
    except Exception as error:
        failed += 1
        print("observed:", type(error).__name__, str(error).strip()[:60])
raise SystemExit(1 if failed else 0)
