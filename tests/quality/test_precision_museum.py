"""Does it find this? The defects of the Predoo paper as named faults: suspect and function come first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.jax]

TARGETS = "torch:eager,jax:eager"


def search(tensorparity: Any, folder: Path, operator: str, fault: str = "") -> tuple[int, Any]:
    planted = ("--fault", fault) if fault else ()
    options = ("--op", operator, "--targets", TARGETS, "--dtype", "float32", "--inputs", 240, "--format", "json")
    ended = tensorparity("precision", *options, "--out", folder, *planted, timeout=500)
    assert ended.stdout, ended.stderr
    return ended.code, ended.document


@pytest.mark.parametrize(
    ("operator", "fault", "suspect", "kind", "api"),
    [
        ("sqrt", "sqrt-truncated-newton", "torch:eager", "precision", "torch.sqrt"),
        ("conv2d", "conv-refuses-nchw", "jax:eager", "error", "jax.lax.conv_general_dilated"),
        ("norm", "norm-without-kernel", "torch:eager", "error", "torch.nn.functional.batch_norm"),
    ],
)
def test_planted(
    tensorparity: Any, tmp_path: Path, operator: str, fault: str, suspect: str, kind: str, api: str
) -> None:
    code, document = search(tensorparity, tmp_path, operator, f"{suspect}={fault}")
    assert code == 1
    first = document["findings"][0]
    assert (first["class"], first["suspects"], first["kind"]) == ("defect", [suspect], kind)
    assert (first["api"], first["stage"]) == (api, "call")
    assert {name for finding in document["findings"] for name in finding["suspects"]} == {suspect}
    assert (tmp_path / first["case"]).is_file()
    if operator == "conv2d":
        assert first["parameters"]["data_format"] == "channels_first"


@pytest.mark.parametrize("operator", ["sqrt", "conv2d", "norm"])
def test_no_fault_no_defect(tensorparity: Any, tmp_path: Path, operator: str) -> None:
    code, document = search(tensorparity, tmp_path, operator)
    assert (code, document["findings"]) == (0, [])
    runs = document["precision"]["operators"]
    assert {run["status"] for run in runs} == {"measured"}
    assert all(run["units"] <= document["precision"]["bound"] for run in runs)
