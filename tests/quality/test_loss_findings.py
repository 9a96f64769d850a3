"""A loss that is wrong near certainty, from ``fuzz`` without a network that shows it to its script."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tensorparity.operators.losses.catalogue import LOSSES

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.torch]

#: Rounds of networks until every loss has had two turns.
_ROUNDS = -(-2 * len(LOSSES) // 4)


def test_fuzz_finds_a_loss_that_no_network_shows(tensorparity, tmp_path) -> None:
    planted = ("--fault", "keras:torch=bce-epsilon-twice")
    ended = tensorparity(
        *("fuzz", "--targets", "keras:tensorflow,keras:torch", "--stages", "forward,losses", "--layers", "ReLU"),
        *(
            "--unit",
            "--models",
            8 * _ROUNDS,
            "--seed",
            1,
            "--reduce-budget",
            "30s",
            *planted,
            "--store",
            tmp_path / "out",
        ),
        *("--format", "json"),
        timeout=900,
    )
    assert ended.code == 1, ended.stderr
    assert ended.document["stats"]["loss_cases"] == 4 * _ROUNDS
    found = [f for f in ended.document["findings"] if f["suspects"] == ["keras:torch"] and "Binary" in f["api"]]
    finding = next(f for f in found if f["stage"] == "loss")
    assert finding["class"] == "defect"
    case = tmp_path / "out" / finding["case"]
    again = tensorparity("replay", case, *planted, "--trust", "--format", "json")
    assert again.code == 1, again.stderr
    healthy = tensorparity("replay", case, "--format", "json")
    assert healthy.code == 0, healthy.stderr
    script = tmp_path / "out" / finding["reproducer"]
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert plain.returncode == 0, plain.stdout + plain.stderr
