import os
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import onnx

model = keras.Sequential(
    [keras.Input((3,)), keras.layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0])]
)
model.predict(np.ones((1, 3)), verbose=0)
path = os.path.join(tempfile.mkdtemp(), "model.onnx")
model.export(path, format="onnx", verbose=False)
inputs = [value.name for value in onnx.load(path).graph.input]
print("expected one input")
print("observed", inputs)
raise SystemExit(0 if len(inputs) == 1 else 1)
