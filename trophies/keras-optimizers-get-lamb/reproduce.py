import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras

try:
    found = keras.optimizers.get("lamb")
except ValueError as error:
    print("raised ValueError:", error)
    raise SystemExit(1) from None
print("observed", type(found))
raise SystemExit(0 if isinstance(found, keras.optimizers.Lamb) else 1)
