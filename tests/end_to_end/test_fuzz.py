"""``fuzz`` on real libraries: its document, its determinism, and a fault that it finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorparity.store.database import open_store

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow]
TARGETS = "keras:tensorflow,keras:torch"


def planted_run(tensorparity: Any, out: Path, *more: Any) -> Any:
    options = ("--models", 8, "--layers", "AveragePooling2D", "--stages", "forward", "--unit", "--no-reduce")
    fault = ("--fault", "keras:tensorflow=avgpool-counts-padding")
    return tensorparity("fuzz", *options, *fault, "--targets", TARGETS, "--format", "json", "--out", out, *more)


@pytest.fixture(scope="module")
def planted(tensorparity: Any, folder: Path) -> Any:
    """Units of average pooling with CRADLE's fault in TensorFlow."""
    return planted_run(tensorparity, folder / "planted")


def verdicts(out: Path) -> list[Any]:
    with open_store(out) as store:
        results = store.results(store.campaigns()[-1].id, "muffin")
        return [(r.digest, [v.judgement for v in r.verdicts]) for r in results]


def test_a_planted_fault_is_found_in_its_layer(planted: Any, valid: Callable[[Any], Any]) -> None:
    document = valid(planted.document)
    assert planted.code == 1, planted.stderr
    blamed = {(finding["api"], *finding["suspects"]) for finding in document["findings"]}
    assert ("keras.layers.AveragePooling2D", "keras:tensorflow") in blamed
    assert document["stats"]["coverage"]["layers"] == {"used": 1, "declared": 1}
    assert {row["target"] for row in document["stats"]["tables"]["endings"]} == set(TARGETS.split(","))


def test_one_worker_gives_the_same_cases_verdicts_and_findings(planted: Any, tensorparity: Any, folder: Path) -> None:
    again = planted_run(tensorparity, folder / "one-worker", "--workers", 1)
    assert len(verdicts(folder / "planted")) == 8
    assert verdicts(folder / "one-worker") == verdicts(folder / "planted")
    ids = [[finding["id"] for finding in run.document["findings"]] for run in (planted, again)]
    assert ids[0] == ids[1]


@pytest.mark.slow
def test_the_same_seed_with_other_workers_gives_the_same_verdicts(tensorparity: Any, folder: Path) -> None:
    found = []
    for workers in (1, 3):
        out = folder / f"workers-{workers}"
        options = ("--models", 16, "--vertices", 8, "--seed", 4, "--workers", workers, "--no-reduce", "--out", out)
        tensorparity("fuzz", *options, "--targets", TARGETS, "--format", "json")
        found.append(verdicts(out))
    assert len(found[0]) == 16
    assert found[0] == found[1]


ASLEEP = """
import time

import keras


def call(self, inputs):
    while True:
        time.sleep(1)


keras.layers.ELU.call = call
"""


@pytest.mark.slow
@pytest.mark.jax
def test_a_layer_that_sleeps_for_ever_is_found_and_the_run_ends_in_time(
    tensorparity: Any, folder: Path, valid: Callable[[Any], Any]
) -> None:
    fault, targets = folder / "asleep.py", f"{TARGETS},keras:jax"
    fault.write_text(ASLEEP)
    planted = ("--fault", f"keras:torch={fault}", "--targets", targets)
    began = time.monotonic()
    ended = tensorparity(
        "fuzz", "--budget", "6m", *planted, "--format", "json", "--out", folder / "asleep", timeout=600
    )
    assert time.monotonic() - began < 7 * 60
    assert ended.code == 1, ended.stderr
    hangs = [finding for finding in valid(ended.document)["findings"] if finding["kind"] == "hang"]
    assert [(finding["api"], finding["suspects"]) for finding in hangs] == [("keras.layers.ELU", ["keras:torch"])]
    assert hangs[0]["title"] == "keras.layers.ELU never ends on keras:torch"
    assert hangs[0]["class"] == "defect"
