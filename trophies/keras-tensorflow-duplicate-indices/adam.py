import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def after_one_step(dense):
    table = keras.Variable(np.ones((3, 1), "float32"))
    with tf.GradientTape() as tape:
        rows = keras.ops.take(table, tf.constant([0, 0, 1]), axis=0)
        loss = tf.reduce_sum(rows * tf.constant([[1.0], [2.0], [3.0]]))
    gradient = tape.gradient(loss, table.value)  # IndexedSlices: row 0 twice
    optimizer = keras.optimizers.Adam(learning_rate=0.01, epsilon=1e-3)
    optimizer.build([table])
    optimizer.apply([tf.convert_to_tensor(gradient) if dense else gradient], [table])
    return table.numpy().ravel()


sparse, dense = after_one_step(False), after_one_step(True)
print("as IndexedSlices", sparse)
print("as a dense tensor", dense)
raise SystemExit(0 if np.allclose(sparse, dense, rtol=1e-5) else 1)
