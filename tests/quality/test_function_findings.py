"""A function that is wrong on one backend, from ``fuzz`` to its script and its replay, on real libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.torch]

#: The negative part has the slope of the default, whatever is asked for.
FORGETS_SLOPE = """
from keras.src.activations import activations
import keras

def leaky_relu(x, negative_slope=0.2):
    return keras.ops.leaky_relu(x, negative_slope=0.2)

keras.activations.leaky_relu = activations.leaky_relu = leaky_relu
"""


def test_fuzz_finds_a_wrong_function_and_everything_after_it_works(tensorparity, tmp_path) -> None:
    fault = tmp_path / "slope.py"
    fault.write_text(FORGETS_SLOPE)
    planted = ("--fault", f"keras:torch={fault}")
    ended = tensorparity(
        *("fuzz", "--targets", "keras:tensorflow,keras:torch", "--stages", "forward,functions", "--layers", "ReLU"),
        *("--unit", "--models", 1, "--seed", 1, "--reduce-budget", "30s", *planted, "--store", tmp_path / "out"),
        *("--format", "json"),
        timeout=600,
    )
    assert ended.code == 1, ended.stderr
    assert ended.document["stats"]["function_cases"] == 4
    assert ended.document["stats"]["metric_cases"] == 0
    found = [f for f in ended.document["findings"] if f["api"] == "keras.activations.leaky_relu"]
    (finding,) = [f for f in found if f["suspects"] == ["keras:torch"]]
    assert finding["stage"] == "call"
    assert list(finding["parameters"]) == ["negative_slope"]
    case = tmp_path / "out" / finding["case"]
    again = tensorparity("replay", case, *planted, "--trust", "--format", "json")
    assert again.code == 1, again.stderr
    assert again.document["findings"][0]["suspects"] == ["keras:torch"]
    healthy = tensorparity("replay", case, "--format", "json")
    assert healthy.code == 0, healthy.stderr
    script = tmp_path / "out" / finding["reproducer"]
    assert "keras.activations.leaky_relu(x, negative_slope=" in script.read_text()
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert plain.returncode == 0, plain.stdout + plain.stderr
