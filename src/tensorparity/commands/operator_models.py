"""Table 3 of the paper on operators: what ``compare`` sees of the same operators in models."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ..core.operator_errors import ModelRun
from ..core.verdict import Judgement
from ..targets.runner import RunnerSettings
from .compare import CompareSettings, compare

#: Models of the zoo made of the paper's operators.
TABLE_3 = ("zoo:lenet5", "zoo:vgg16")
_LAYERS = {"Conv2D": "conv2d", "MaxPooling2D": "pooling", "BatchNormalization": "norm", "Softmax": "softmax"}


def compare_model(
    model: str, backends: Sequence[str], store: str | Path, folder: Path | None, runner: RunnerSettings
) -> ModelRun:
    """What ``compare`` sees of the same operators in a model, and how long it takes."""
    began = time.monotonic()
    result = compare(
        model,
        CompareSettings(
            targets=backends,
            instances=16,
            store=store,
            folder=folder,
            runner=runner,
            localize="always",
        ),
    )
    seconds = time.monotonic() - began
    comparisons = result.facts.comparisons or ()
    types = {layer.type for pair in comparisons for layer in pair.layers}
    worst = max((layer.deviation or 0.0 for pair in comparisons for layer in pair.layers), default=0.0)
    failed = [pair for pair in comparisons if pair.verdict.judgement is Judgement.FAIL]
    problem = "; ".join(pair.verdict.reason for pair in failed) or f"none (largest deviation of a layer {worst:.2g})"
    return ModelRun(model, seconds, tuple(_LAYERS[name] for name in _LAYERS if name in types), problem)
