"""CRADLE's two distances between the outputs of a model on two backends (equations 1 to 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ...core.arrays import Array
from ...core.channels import is_text
from ...core.comparison import Distance
from ...core.errors import DataError

#: The paper's settings (section IV); T_AC is the one of its baseline that reports most (section V-A).
TOP_K = 5
CLASS_THRESHOLD = 8.0
MAD_THRESHOLD = 0.2
ACCURACY_THRESHOLD = 0.0
SHARE = 0.0

#: Which distance decides: by the model's task, as in the paper, or always one of them.
METRICS = ("auto", "class", "mad", "accuracy")

_MAD_BINS = 5


def class_threshold(k: int = TOP_K) -> float:
    """T_C for another k: as many ranks below the largest distance, 2^(k - 1), as the paper's 8 is below 16."""
    return CLASS_THRESHOLD * 2.0 ** (k - TOP_K)


def rank_of_label(confidence: Array, label: Array) -> Array:
    """Rank of the true class in each row, 1 for the first; ties go to the lower index, NaN ranks last."""
    rows = np.arange(len(label))
    values = np.where(np.isnan(confidence), -np.inf, confidence.astype(np.float64))
    own = values[rows, label][:, None]
    before = np.arange(values.shape[1])[None, :] < label[:, None]
    ahead = (values > own) | ((values == own) & before)
    unknown = np.isnan(confidence[rows, label])
    result: Array = np.where(unknown, values.shape[1], 1 + ahead.sum(axis=1))
    return result


def scores(confidence: Array, label: Array, k: int = TOP_K) -> Array:
    """Equation 1: 2^(k - rank) inside the top k, 0 outside."""
    rank = rank_of_label(confidence, label)
    score: Array = np.where(rank <= k, 2.0 ** (k - np.minimum(rank, k)), 0.0)
    return score


def class_distance(a: Array, b: Array, label: Array, k: int = TOP_K) -> Array:
    """Equation 2, per instance."""
    distance: Array = np.abs(scores(a, label, k) - scores(b, label, k))
    return distance


def mad_distance(a: Array, b: Array, truth: Array) -> Array:
    """Equations 3 and 4, per instance; 0/0 counts as 0."""
    with np.errstate(all="ignore"):  # infinities are answers here, not accidents
        delta_a, delta_b = (np.abs(_rows(y) - _rows(truth)).mean(axis=1) for y in (a, b))
        total = delta_a + delta_b
        difference = np.abs(delta_a - delta_b)
        quotient = np.divide(difference, total, out=np.zeros_like(total), where=total != 0)
    # one side non-finite and the other not is as far apart as can be
    odd = np.isfinite(delta_a) != np.isfinite(delta_b)
    return np.where(odd, 1.0, np.where(np.isfinite(quotient), quotient, 0.0))


def class_pattern(distances: Array, k: int = TOP_K) -> dict[str, int]:
    """Instances per bin of Table I, from the largest distance down; with another k there are k + 1 bins."""
    lows = [2 ** (k - 1), *(2 ** (k - rank) for rank in range(2, k + 1)), 0]
    bins = [_class_bin(distances, low, above) for low, above in zip(lows, [np.inf, *lows], strict=False)]
    return dict(bins)


def _class_bin(distances: Array, low: float, above: float) -> tuple[str, int]:
    """The name of a bin, and how many distances it holds: ``low`` up to the next bin's, which is not part of it."""
    name = f"{low:g}" if above in (np.inf, low + 1) or low == 0 else f"{above - 1:g}-{low:g}"
    return name, int(((distances >= low) & (distances < above)).sum())


def mad_pattern(distances: Array) -> dict[str, int]:
    """Instances per bin of five equal ones in [0, 1], half-open, the last closed."""
    position = np.minimum((distances * _MAD_BINS).astype(int), _MAD_BINS - 1)
    names = [f"{index / _MAD_BINS:.1f}-{(index + 1) / _MAD_BINS:.1f}" for index in range(_MAD_BINS)]
    return {name: int((position == index).sum()) for index, name in enumerate(names)}


def is_inconsistent(distances: Array, threshold: float, share: float = SHARE) -> bool:
    """At least one instance and at least ``share`` percent reach the threshold."""
    triggered = int((distances >= threshold).sum())
    return triggered > 0 and 100.0 * triggered >= share * len(distances)


def as_classes(output: Array) -> Array | None:
    """The output as confidences per class, or None where it is no classifier's.

    A single sigmoid is a classifier of two classes.
    """
    if output.ndim != 2 or is_text(output) or output.dtype.kind == "c":
        return None
    if output.shape[1] == 1:
        return np.concatenate([1.0 - output, output], axis=1)
    return output


def class_labels(labels: Array, classes: int) -> Array | None:
    """Labels as class indices: given so, or one-hot; None where they are neither (a regression)."""
    flat = labels.reshape(len(labels), -1)
    if flat.shape[1] == 1 and labels.dtype.kind in "iub":
        return flat[:, 0].astype(np.int64)
    if flat.shape[1] == classes > 1 and np.isin(flat, (0, 1)).all() and (flat.sum(axis=1) == 1).all():
        index: Array = flat.argmax(axis=1)
        return index
    return None


def check_labels(name: str, labels: Array, output: Array) -> None:
    """Labels must be one per instance, of a class that exists, or of the output's own shape.

    Raises:
        DataError: saying what was expected and what was received.
    """
    if len(labels) != len(output):
        raise DataError(f"output {name!r} has {len(output)} instances, the labels have {len(labels)}")
    confidences = as_classes(output)
    classes = confidences.shape[1] if confidences is not None else 0
    index = class_labels(labels, classes)
    if index is None:
        if labels.ndim == 1 and classes > 1 and labels.dtype.kind == "f":
            raise DataError(
                f"labels of output {name!r} are {labels.dtype}; the {classes} classes are expected as integers, "
                "one per instance"
            )
        if labels.size != output.size:
            raise DataError(
                f"labels of shape {labels.shape} do not fit output {name!r} of shape {output.shape}; "
                f"expected class indices, one-hot rows, or the output's own shape"
            )
    elif confidences is None or index.min() < 0 or index.max() >= classes:
        raise DataError(
            f"labels hold classes {index.min()} to {index.max()}, but output {name!r} has {classes or 'no'} classes"
        )


def distances_of(
    a: Array,
    b: Array,
    labels: Array,
    thresholds: Mapping[str, float] | None = None,
    share: float = SHARE,
    k: int = TOP_K,
    metric: str = METRICS[0],
) -> tuple[Distance, ...]:
    """The distances of a pair, the one that decides first: class-based for a classifier, MAD for a regression.

    Args:
        metric: another that decides: ``mad`` also for a classifier, or ``accuracy``, the baseline.
    """
    defaults = {"class": class_threshold(k), "mad": MAD_THRESHOLD, "accuracy": ACCURACY_THRESHOLD}
    limit = {**defaults, **(thresholds or {})}
    found: list[Distance] = []
    classes = classes_and_label(a, b, labels)
    truth = labels
    if classes is not None:
        a, b, label = classes
        found.append(_summary("class", class_distance(a, b, label, k), limit["class"], share, k))
        truth = np.eye(a.shape[1])[label]
    found.append(_summary("mad", mad_distance(a, b, truth), limit["mad"], share, k))
    if classes is not None and metric == "accuracy":
        found.append(_accuracy(a, b, classes[2], k, limit["accuracy"]))
    return tuple(sorted(found, key=lambda distance: distance.name != metric))


def leading_distance(a: Array, b: Array, labels: Array, k: int = TOP_K, metric: str = METRICS[0]) -> Array:
    """Per instance, the distance that counts: class-based for a classifier, MAD-based for a regression.

    An accuracy is none of an instance: there it is the class-based one, too.
    """
    classes = classes_and_label(a, b, labels)
    if classes is None:
        return mad_distance(a, b, labels)
    a, b, label = classes
    return mad_distance(a, b, np.eye(a.shape[1])[label]) if metric == "mad" else class_distance(a, b, label, k)


def classes_and_label(a: Array, b: Array, labels: Array) -> tuple[Array, Array, Array] | None:
    """Both outputs as confidences, and the labels as class indices; None for a regression."""
    classes_a, classes_b = as_classes(a), as_classes(b)
    label = class_labels(labels, classes_a.shape[1]) if classes_a is not None else None
    if label is None or classes_a is None or classes_b is None:
        return None
    return classes_a, classes_b, label


def most_inconsistent(
    a: Array, b: Array, labels: Array, tiebreak: Array, k: int = TOP_K, metric: str = METRICS[0]
) -> int | None:
    """The input with the largest class distance (MAD for a regression); equals are told apart by ``tiebreak``."""
    if not len(a):
        return None
    return int(np.lexsort((tiebreak, leading_distance(a, b, labels, k, metric)))[-1])


def top_k_accuracy(confidence: Array, label: Array, k: int) -> float:
    """The share of instances whose label is among the first k: the baseline the paper compares with."""
    return float((rank_of_label(confidence, label) <= k).mean()) if len(label) else 0.0


def accuracy_apart(a: Array, b: Array, label: Array, k: int) -> float:
    """By how many percent the top-k accuracies differ."""
    return 100.0 * abs(top_k_accuracy(a, label, k) - top_k_accuracy(b, label, k))


def accuracy_inconsistent(a: Array, b: Array, label: Array, k: int, threshold: float) -> bool:
    """The baseline's rule: top-k accuracies differ by more than T_AC percent (strictly; any difference at 0)."""
    return accuracy_apart(a, b, label, k) > threshold


def unique_inconsistencies(found: Iterable[tuple[str, Distance]]) -> dict[tuple[str, tuple[int, ...]], list[str]]:
    """Group inconsistent pairs by metric and pattern: equal distributions are one unique inconsistency.

    Args:
        found: a name (model, pair, version) and one of its distances.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name, distance in found:
        if distance.inconsistent:
            groups.setdefault((distance.name, tuple(distance.pattern.values())), []).append(name)
    return groups


def answers_of(confidence: Array) -> Array:
    """The class that each row is answered with: what stands for the label of a model that has none."""
    answers: Array = confidence.argmax(axis=1)
    return answers


def _summary(name: str, values: Array, threshold: float, share: float, k: int) -> Distance:
    return Distance(
        name=name,
        largest=float(values.max(initial=0.0)),
        threshold=threshold,
        triggered=int((values >= threshold).sum()),
        inconsistent=is_inconsistent(values, threshold, share),
        pattern=class_pattern(values, k) if name == "class" else mad_pattern(values),
    )


def _accuracy(a: Array, b: Array, label: Array, k: int, threshold: float) -> Distance:
    """The baseline's difference in percent: of a whole data set, so that it has no pattern."""
    apart = accuracy_apart(a, b, label, k)
    inconsistent = accuracy_inconsistent(a, b, label, k, threshold)
    return Distance("accuracy", apart, threshold, len(label) if inconsistent else 0, inconsistent)


def _rows(array: Array) -> Array:
    return array.reshape(len(array), -1).astype(np.float64)
