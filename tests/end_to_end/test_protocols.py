"""The three papers as published, on real libraries: ``--protocol paper`` of compare, fuzz and precision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorparity.store.database import open_store

Valid = Callable[[Any], Any]


@pytest.mark.torch
@pytest.mark.onnxruntime
def test_cradle_as_published(tensorparity: Any, valid: Valid, folder: Path) -> None:
    """A fault of the paper's in an untrained classifier: its rule reports the pair, its map explains, nobody is named.

    Without labels the first target's answers stand for them, and the output says so.
    """
    out = folder / "cradle"
    common = ("--protocol", "paper", "--targets", "keras:torch,onnxruntime", "--threshold-study", "--no-reduce")
    ended = tensorparity(
        "compare", "zoo:inception-block", *common, "--instances", 8, "--fault", "keras:torch=avgpool-counts-padding",
        "--format", "json", "--out", out,
    )  # fmt: skip
    document = valid(ended.document)
    (pair,) = document["comparisons"]
    assert pair["measure"]["name"] == "class-distance"
    assert all(layer["isolated_error"] is None for layer in pair["layers"]), "no layer is replayed"
    assert any("there are no labels" in note for note in document["notes"])
    study = document["stats"]["threshold_study"]
    assert {row["metric"] for row in study} == {"class", "mad", "accuracy"}
    assert all(finding["suspects"] == [] for finding in document["findings"])
    inconsistent = pair["verdict"] == "fail"
    assert [row["total"] for row in document["stats"].get("inconsistencies", [])] == [1] * inconsistent
    assert ended.code == int(inconsistent)
    with open_store(out) as store:
        (result,) = store.results(store.campaigns()[-1].id, "cradle")
        assert len(result.facts["inconsistent"]) == inconsistent, "patterns are kept in the store"


@pytest.mark.torch
@pytest.mark.onnxruntime
def test_muffin_as_published(tensorparity: Any, valid: Valid, folder: Path) -> None:
    common = ("--protocol", "paper", "--targets", "keras:torch,torch:eager,onnxruntime", "--data", "sine-wave")
    sizes = ("--vertices", 5, "--threshold", 0.2, "--epsilon", 1e-4, "--no-reduce")
    ended = tensorparity("fuzz", *common, *sizes, "--models", 6, "--format", "json", "--out", folder / "muffin")
    document = valid(ended.document)
    stats = document["stats"]
    assert stats["models"] == stats["cases"] == 6, "nothing is run beside the networks"
    assert stats["tables"]["networks"] == {"sine-wave": 6}
    assert {row["pair"] for row in stats["tables"]["inconsistencies"]} == {
        "keras:torch / torch:eager",
        "keras:torch / onnxruntime",
        "torch:eager / onnxruntime",
    }
    assert all(finding["stage"] != "update" for finding in document["findings"])


@pytest.mark.torch
def test_predoo_as_published(tensorparity: Any, valid: Valid, folder: Path) -> None:
    common = ("--protocol", "paper", "--targets", "torch:eager", "--op", "conv2d,pooling", "--no-models")
    options = ("--inputs", 60, "--shape", "1,9,9,2", "--size", 10, "--param", "strides=1", "--times", 2)
    ended = tensorparity("precision", *common, *options, "--mode", "op_mode", "--format", "json", "--out", folder / "p")
    document = valid(ended.document)
    rows = document["precision"]["paper"]
    assert {(row["operator"], row["strategy"]) for row in rows} == {
        (name, strategy) for name in ("conv2d", "pooling") for strategy in ("random", "linf", "l1")
    }
    for row in rows:
        assert (row["shape"], row["times"], row["inputs"]) == ([9, 9, 2], 2, 60)
        assert 0.0 < row["largest_mean"] <= row["largest"]
        assert row["over_tolerance"] > 0.0
