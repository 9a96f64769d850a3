"""One library in a process of its own: ``python -m sources.child LIBRARY CASES ARRAYS RESULTS ANSWERS``.

Computes every case in float64 with the library's own functions, and the gradients of its outputs for the given
cotangents, with the library's own differentiation. Knows nothing of the references.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main(library: str, cases: str, arrays: str, results: str, answers: str) -> None:
    compute = importlib.import_module(f".in_{library}.compute", __package__)
    found: dict[str, np.ndarray] = {}
    said: dict[str, Any] = {}
    given = np.load(arrays, allow_pickle=False)
    for case in json.loads(Path(cases).read_text()):
        key = case["key"]
        inputs = {name: given[f"{key}/{name}"] for name in case["arrays"]}
        try:
            outputs = compute.KINDS[case["kind"]](case, inputs)
        except Exception as error:  # a source that cannot compute a case says so; the test decides what that means
            said[key] = {"error": f"{type(error).__name__}: {error}"}
            continue
        said[key] = {"names": sorted(outputs)}
        found.update({f"{key}/{name}": value for name, value in outputs.items()})
    np.savez(results, **found)
    Path(answers).write_text(json.dumps({"covers": compute.COVERS, "cases": said}))


if __name__ == "__main__":
    main(*sys.argv[1:])
