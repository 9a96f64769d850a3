"""What CRADLE's rule would say with other thresholds (section IV), and what top-k accuracy would (section V-A).

A pair is inconsistent at T and p where at least one input, and at least p percent of them, reach T; by the baseline,
where the accuracies differ by more than T_AC percent. So a share of the inputs for each T, and a difference for each k,
hold the answer for every p and every T_AC.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from .distances import (
    CLASS_THRESHOLD,
    TOP_K,
    accuracy_apart,
    class_distance,
    class_threshold,
    classes_and_label,
    mad_distance,
)

#: The thresholds that are tried: distances that two scores can have between the paper's 1 and 16, and steps of MAD.
CLASS_THRESHOLDS = (1.0, 2.0, 4.0, 8.0, 12.0, 15.0, 16.0)
MAD_THRESHOLDS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def threshold_grid(a: Array, b: Array, labels: Array, k: int = TOP_K) -> list[Json]:
    """By metric, the percentage of inputs that reach each threshold; by k, how many percent the accuracies differ.

    Args:
        k: of the class distance; thresholds are scaled with it, as T_C and the bins are.
    """
    classes = classes_and_label(a, b, labels)
    if classes is None:
        return [_reaching("mad", mad_distance(a, b, labels), MAD_THRESHOLDS)]
    a, b, label = classes
    truth = np.eye(a.shape[1])[label]
    return [
        _reaching("class", class_distance(a, b, label, k), class_thresholds(k)),
        _reaching("mad", mad_distance(a, b, truth), MAD_THRESHOLDS),
        {"metric": "accuracy", "apart": {str(n): accuracy_apart(a, b, label, n) for n in range(1, k + 1)}},
    ]


def class_thresholds(k: int = TOP_K) -> tuple[float, ...]:
    """Those of the paper's k, scaled; scores that differ do so by 1 at least."""
    scaled = (threshold * class_threshold(k) / CLASS_THRESHOLD for threshold in CLASS_THRESHOLDS)
    return tuple(threshold for threshold in scaled if threshold >= 1.0)


def _reaching(metric: str, distances: Array, thresholds: tuple[float, ...]) -> Json:
    count = max(1, len(distances))
    shares = {f"{threshold:g}": 100.0 * int((distances >= threshold).sum()) / count for threshold in thresholds}
    return {"metric": metric, "reaching": shares}
