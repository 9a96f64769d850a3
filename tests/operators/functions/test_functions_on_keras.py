"""Functions and layers of strings against Keras itself, on its three backends: a few draws of each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_name
from tensorparity.core.case import Case
from tensorparity.core.outcome import Status
from tensorparity.generators.single_cases.functions import FUNCTIONS, function_cases
from tensorparity.operators.functions.api import evaluate_call
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.targets.runner import open_runner

#: Rounds through all of them.
TURNS = 3
TARGETS = [
    pytest.param("keras:torch", marks=pytest.mark.torch),
    pytest.param("keras:tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("keras:jax", marks=pytest.mark.jax),
]


def _defect(case: Case, target: str) -> bool:
    """What is in ``trophies/``: wrong everywhere, in float64 on TensorFlow, or beyond a sixth of the range on torch."""
    name, x, params = case.subject.api.rpartition(".")[2], case.inputs["x"], case.subject.kwargs
    if name == "TextVectorization":
        counted = params.get("output_mode", "int") != "int"
        lowered = params.get("standardize", "lower") in ("lower", "lower_and_strip_punctuation")
        unsplit = params.get("split", "") is None and x.ndim == 1 and counted
        return unsplit or (lowered and any("É" in text for text in x.ravel()))
    if name == "StringLookup":
        return bool(params.get("invert")) and (target == "keras:jax" or (target == "keras:torch" and x.ndim != 1))
    most = np.abs(np.nan_to_num(x.astype(np.float64), posinf=0.0, neginf=0.0)).max(initial=0.0)
    if name in ("hard_silu", "hard_swish"):
        return target == "keras:torch" and most > 5e37
    if name in ("gelu", "leaky_relu", "relu"):
        return target == "keras:tensorflow" and x.dtype == np.float64
    if name in ("silu", "swish"):
        if np.isneginf(x).any():  # the limit is 0; everybody multiplies minus infinity by 0
            return True
        return target == "keras:jax" and x.dtype == np.float16
    return name == "sparsemax" or (name == "squareplus" and most > 200)


@pytest.mark.parametrize("target", TARGETS)
def test_functions_are_what_the_catalogue_says(target: str) -> None:
    drawn = itertools.islice(function_cases(11), TURNS * len(FUNCTIONS))
    cases = [case for case in drawn if not _defect(case, target)]
    if target == "keras:jax":  # it compiles every use, so it is asked for few
        cases = cases[:: 2 * TURNS]
    with open_runner([target]) as runner:
        outcomes = runner.run_pairs([(case, target) for case in cases])
    for case, outcome in zip(cases, outcomes, strict=True):
        about = f"{case.subject.api} {dict(case.subject.kwargs)} {case.inputs['x'].dtype}"
        assert outcome.status is Status.COMPLETED, f"{about}: {outcome.failure}"
        (output,) = outcome.outputs.values()
        truth = evaluate_call(case.subject, dict(case.inputs))
        assert output.shape == truth.value.shape, about
        units = error_units(output, truth, dtype_name(output)).max(initial=0.0)
        assert units <= K, f"{about}: e = {units:.3g}"
