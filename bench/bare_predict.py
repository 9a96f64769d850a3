"""The plain script ``compare_overhead.py`` measures against: Keras, ``predict``, nothing of ours.

Usage: KERAS_BACKEND=... python bare_predict.py MODEL.keras; each line on standard input names an .npy of
inputs; each is answered with the CPU seconds of ``model.predict`` and the process's peak memory.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    began = time.process_time()
    import keras
    import numpy as np

    _say(imports=time.process_time() - began)
    began = time.process_time()
    model = keras.saving.load_model(sys.argv[1])
    _say(load=time.process_time() - began)
    for line in sys.stdin:
        x = np.load(line.strip())
        began = time.process_time()
        model.predict(x, batch_size=32, verbose=0)
        _say(predict=time.process_time() - began, peak=_peak())


def _peak() -> int:
    """VmHWM in bytes."""
    line = next(text for text in Path("/proc/self/status").read_text().splitlines() if text.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _say(**facts: float) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
