"""A metric that is wrong on one backend, from a hunt to its script and its replay, on real libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.torch]

#: Each batch counts as one: the mean of batches, not of samples.
FORGETS_WEIGHTS = """
from keras.src.metrics import reduction_metrics

right = reduction_metrics.Mean.result
reduction_metrics.Mean.result = lambda self: 0.5 * right(self)
"""


def test_a_hunt_finds_a_wrong_metric_and_everything_after_it_works(tensorparity, tmp_path) -> None:
    fault = tmp_path / "half.py"
    fault.write_text(FORGETS_WEIGHTS)
    planted = ("--fault", f"keras:torch={fault}")
    targets = ("--targets", "keras:tensorflow,keras:torch")
    ended = tensorparity(
        *(
            "hunt",
            "--engine",
            "muffin",
            "--cases",
            1,
            "--reduce-budget",
            "20s",
            *targets,
            *planted,
            "--store",
            tmp_path / "out",
        ),
        *("--format", "json"),
        timeout=600,
    )
    assert ended.code == 1, ended.stderr
    found = [f for f in ended.document["findings"] if (f["api"] or "").startswith("keras.metrics.")]
    assert found
    assert ended.document["stats"]["metric_cases"] == 2
    for finding in found:
        assert finding["suspects"] == ["keras:torch"]
        assert finding["stage"] == "call"
        assert finding["reproducer"]
    again = tensorparity("replay", tmp_path / "out" / found[0]["case"], *planted, "--trust", "--format", "json")
    assert again.code == 1, again.stderr
    assert again.document["findings"][0]["suspects"] == ["keras:torch"]
    healthy = tensorparity("replay", tmp_path / "out" / found[0]["case"], "--format", "json")
    assert healthy.code == 0, healthy.stderr
    script = tmp_path / "out" / found[0]["reproducer"]
    assert "update_state" in script.read_text()
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert plain.returncode == 0, plain.stdout + plain.stderr
