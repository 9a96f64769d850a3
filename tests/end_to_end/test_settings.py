"""A real defect that shows in vectors alone: said to need them, with a script that asks for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensorparity.targets.environments import available_instruction_set

#: torch's erf has absolute instead of relative precision near zero in bfloat16, where ATen has kernels of vectors.
ERF = ("--op", "erf", "--dtype", "bfloat16", "--inputs", "400", "--seed", "5", "--targets", "torch:eager")
SCALAR = "ATEN_CPU_CAPABILITY=default"
VECTORS = "ATEN_CPU_CAPABILITY=avx2"


@pytest.mark.torch
@pytest.mark.skipif(available_instruction_set() not in ("AVX2", "AVX512_CORE"), reason="the processor has no AVX2")
def test_a_defect_of_vectors(tensorparity: Any, valid: Any, tmp_path: Path) -> None:
    ended = tensorparity("precision", *ERF, "--settings", "--format", "json", "--quiet", "--out", tmp_path, timeout=900)
    (finding,) = valid(ended.document)["findings"]
    assert (finding["kind"], finding["severity"]) == ("precision", "wrong")
    assert finding["title"] == "torch.special.erf with dtype='bfloat16' gives inexact numbers on torch:eager"
    settings = finding["settings"]
    assert (settings["shown"], settings["needs"], settings["not_with"]) == ("only with some", [VECTORS], [SCALAR])
    assert any(line.startswith(f"seen only with {VECTORS}") for line in finding["evidence"])
    script = tmp_path / finding["reproducer"]
    surroundings = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}
    done = subprocess.run([sys.executable, script], env=surroundings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    draft = script.with_suffix(".md").read_text()
    assert script.read_text() in draft
    assert f"not seen with {SCALAR}" in draft
