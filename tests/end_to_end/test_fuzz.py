"""``fuzz`` on real libraries: its document, its determinism, and a fault that it finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorparity.store.database import open_store

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow]
TARGETS = "keras:tensorflow,keras:torch"


@pytest.fixture(scope="module")
def planted(tensorparity: Any, folder: Path) -> Any:
    """Units of average pooling with CRADLE's fault in TensorFlow."""
    options = ("--models", 8, "--layers", "AveragePooling2D", "--stages", "forward", "--unit", "--no-reduce")
    fault = ("--fault", "keras:tensorflow=avgpool-counts-padding")
    return tensorparity("fuzz", *options, *fault, "--targets", TARGETS, "--format", "json", "--out", folder / "planted")


def test_a_planted_fault_is_found_in_its_layer(planted: Any, valid: Callable[[Any], Any]) -> None:
    document = valid(planted.document)
    assert planted.code == 1, planted.stderr
    blamed = {(finding["api"], *finding["suspects"]) for finding in document["findings"]}
    assert ("keras.layers.AveragePooling2D", "keras:tensorflow") in blamed
    assert document["stats"]["coverage"]["layers"] == {"used": 1, "declared": 1}
    assert {row["target"] for row in document["stats"]["tables"]["endings"]} == set(TARGETS.split(","))


@pytest.mark.slow
def test_the_same_seed_with_other_workers_gives_the_same_verdicts(tensorparity: Any, folder: Path) -> None:
    found = []
    for workers in (1, 3):
        out = folder / f"workers-{workers}"
        options = ("--models", 16, "--vertices", 8, "--seed", 4, "--workers", workers, "--no-reduce", "--out", out)
        tensorparity("fuzz", *options, "--targets", TARGETS, "--format", "json")
        with open_store(out) as store:
            results = store.results(store.campaigns()[-1].id, "muffin")
            found.append([(r.case_digest, [v.judgement for v in r.verdicts]) for r in results])
    assert len(found[0]) == 16
    assert found[0] == found[1]
