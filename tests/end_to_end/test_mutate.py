"""``mutate`` on real libraries: a fault in a user's own model is found and blamed on its parameter; a run goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow]
TARGETS = "keras:tensorflow,keras:torch"

MODEL = """
x = keras.Input((6, 6, 2))
y = keras.layers.Conv2D(3, 3, padding="same", activation="relu", name="conv")(x)
y = keras.layers.AveragePooling2D(2, padding="same", name="pool")(y)
y = keras.layers.Dense(3, name="logits")(keras.layers.Flatten(name="flat")(y))
model = keras.Model(x, keras.layers.Softmax(name="classes")(y))
"""


@pytest.fixture(scope="module")
def model(save_keras: Callable[[str, str], Path]) -> Path:
    return save_keras("small.keras", MODEL)


def run(tensorparity: Any, model: Path, out: Path, *more: Any) -> Any:
    options = ("--variants", 5, "--generations", 2, "--population", 8, "--parents", 2, "--no-reduce", "--seed", 3)
    return tensorparity(
        "mutate", "--seed-model", model, *options, "--targets", TARGETS, "--format", "json", "--out", out, *more
    )


def test_variants_and_searches_of_a_users_model(
    tensorparity: Any, model: Path, folder: Path, valid: Callable[[Any], Any]
) -> None:
    first = run(tensorparity, model, folder / "mutated")
    document = valid(first.document)
    assert first.code in (0, 1), first.stderr
    tables = document["stats"]["tables"]
    (counts,) = tables["models"].values()
    assert counts["valid"] + counts["invalid"] == 5
    assert {curve["level"] for curve in tables["curves"]} <= {"input", "weight"}
    assert tables["curves"], "what did not fail was searched"
    again = run(tensorparity, model, folder / "mutated", "--resume")
    assert again.document["stats"]["tables"]["table1"] == tables["table1"]
    assert again.document["stats"]["per_engine"]["audee"]["resumed"] == 5
