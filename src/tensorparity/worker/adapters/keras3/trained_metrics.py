"""Metrics for a model that is trained: two that fit its labels, drawn by the job's seed, every argument set."""

import copy
import random

#: By what labels are, which the loss tells: (class, arguments).
_OF_VALUES = (
    ("MeanSquaredError", {}),
    ("RootMeanSquaredError", {}),
    ("MeanAbsoluteError", {}),
    ("MeanAbsolutePercentageError", {}),
    ("MeanSquaredLogarithmicError", {}),
    ("LogCoshError", {}),
    ("CosineSimilarity", {"axis": -1}),
    ("R2Score", {"class_aggregation": "variance_weighted_average", "num_regressors": 0}),
)
_OF_YES_OR_NO = (
    ("BinaryAccuracy", {"threshold": 0.375}),
    ("BinaryCrossentropy", {"from_logits": False, "label_smoothing": 0.125}),
    ("AUC", {"num_thresholds": 20, "curve": "PR", "summation_method": "minoring"}),
    ("AUC", {"num_thresholds": 30, "curve": "ROC", "summation_method": "majoring"}),
    ("Precision", {"thresholds": [0.25, 0.75]}),
    ("Recall", {"thresholds": 0.375}),
    ("TruePositives", {"thresholds": [0.25, 0.75]}),
    ("FalseNegatives", {"thresholds": 0.25}),
    ("SensitivityAtSpecificity", {"specificity": 0.25, "num_thresholds": 20}),
    ("PrecisionAtRecall", {"recall": 0.25, "num_thresholds": 20}),
)
_OF_CLASSES = (
    ("CategoricalAccuracy", {}),
    ("CategoricalCrossentropy", {"from_logits": False, "label_smoothing": 0.125}),
    ("TopKCategoricalAccuracy", {"k": 2}),
    ("KLDivergence", {}),
)
_OF_NUMBERS_OF_CLASSES = (
    ("SparseCategoricalAccuracy", {}),
    ("SparseTopKCategoricalAccuracy", {"k": 2, "from_sorted_ids": False}),
)
_HOW_MANY = 2


def draw_metrics(loss, seed):
    """Return metrics for one output under a loss of this name."""
    import keras

    table = _table(loss)
    chosen = random.Random(seed).sample(range(len(table)), _HOW_MANY)
    made = []
    for place in chosen:
        name, arguments = table[place]
        made.append(getattr(keras.metrics, name)(name="own_{}".format(place), **copy.deepcopy(arguments)))
    return made


def _table(loss):
    if loss.startswith("Sparse"):
        return _OF_NUMBERS_OF_CLASSES
    if loss.startswith("Categorical"):
        return _OF_CLASSES
    return _OF_YES_OR_NO if loss.startswith("Binary") else _OF_VALUES
