"""Dense that waits for a lock which nobody releases.

Source: none of the papers; a deadlock is how most libraries hang in practice, without using any CPU time.
"""

import threading

import keras

_lock = threading.Lock()
_lock.acquire()


def call(self, inputs, training=None):
    with _lock:
        return inputs


keras.layers.Dense.call = call
