"""Findings of one fault fall into one cluster, those of two faults of one layer into two."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.onnxruntime, pytest.mark.slow]

BENCH = Path(__file__).parents[2] / "bench" / "clusters.py"


def test_forty_faults_ten_cases_each() -> None:
    done = subprocess.run([sys.executable, str(BENCH)], check=True, capture_output=True, text=True, timeout=580)
    found = re.search(r"(\d+) faults, (\d+) findings, \d+ clusters; adjusted Rand index ([\d.-]+)", done.stdout)
    assert found, done.stdout
    faults, findings, index = int(found[1]), int(found[2]), float(found[3])
    assert faults >= 40
    assert findings >= 9 * faults  # a case or two may not show its fault
    assert index >= 0.9
    assert "faults in one cluster: none" in done.stdout
