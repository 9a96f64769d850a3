import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import onnxruntime

x = np.array([[1, 2], [3, 9]])
wrong = 0
for layer in (keras.layers.Hashing(7), keras.layers.IntegerLookup(vocabulary=[1, 2, 3])):
    model = keras.Sequential([keras.Input((2,), dtype="int64"), layer])
    expected = model.predict(x, verbose=0)
    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    model.export(path, format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]
    observed = session.run(None, dict.fromkeys(names, x))[0]
    print("expected", expected.tolist(), "of the one input")
    print("observed", observed.tolist(), "of the inputs", names)
    wrong += not np.array_equal(expected, observed)
raise SystemExit(1 if wrong else 0)
