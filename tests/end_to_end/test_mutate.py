"""``mutate`` on real libraries: a fault in a user's own model is found and blamed on its parameter; a run goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow]
TARGETS = "keras:tensorflow,keras:torch"

MODEL = """
x = keras.Input((5, 5, 2))
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zoo:transformer", "app:MobileNetV2"])
def test_the_transformer_and_applications_are_mutated_and_searched(
    tensorparity: Any, folder: Path, valid: Callable[[Any], Any], name: str
) -> None:
    out = folder / name.replace(":", "-")
    options = ("--variants", 2, "--invalid", 0.5, "--level", "input", "--inputs", 2, "--generations", 2)
    small = ("--population", 4, "--parents", 2, "--no-reduce", "--targets", "keras:torch,keras:tensorflow")
    mutated = tensorparity("mutate", "--seed-model", name, *options, *small, "--format", "json", "--out", out)
    assert mutated.code in (0, 1), mutated.stderr
    tables = valid(mutated.document)["stats"]["tables"]
    (counts,) = tables["models"].values()
    assert (counts["valid"], counts["invalid"]) == (1, 1)
    assert counts["layers"] > 5


@pytest.mark.slow
def test_a_fault_is_found_and_blamed_on_its_parameter(
    tensorparity: Any, model: Path, folder: Path, valid: Callable[[Any], Any]
) -> None:
    """Average pooling that counts the padding is wrong where there is padding: nothing but ``padding`` ends it."""
    out = folder / "guilty"
    only = ("--variants", 1, "--invalid", 0, "--level", "net", "--inputs", 4, "--targets", TARGETS)
    fault = ("--fault", "keras:torch=avgpool-counts-padding", "--seed", 7)
    found = tensorparity("mutate", "--seed-model", model, *only, *fault, "--format", "json", "--out", out)
    assert found.code == 1, found.stderr
    (finding,) = [one for one in valid(found.document)["findings"] if one["api"] == "keras.layers.AveragePooling2D"]
    assert finding["suspects"] == ["keras:torch"]
    said = [text for text in finding["evidence"] if "guilty parameters" in str(text)]
    assert said
    assert "padding" in str(said[0])
    assert valid(found.document)["stats"]["tables"]["root_causes"]["pairs"]["defect"] >= 1

    case = out / finding["case"]
    as_found = case.with_name(f"{finding['id']}.original{case.suffix}")
    options = ("--by", "audee", "--format", "json", "--out", folder / "localized", *fault)
    localized = tensorparity("localize", as_found, *options)
    assert localized.code == 1, localized.stderr
    places = valid(localized.document)["stats"]["places"]
    assert "padding" in {place["parameter"] for place in places}
    cleared = [one for place in places if place["parameter"] == "padding" for one in place["tried"]]
    assert ("valid", "clears") in {(one["value"], one["outcome"]) for one in cleared}


def test_stress_keeps_the_worst_input_of_the_range(
    tensorparity: Any, model: Path, folder: Path, valid: Callable[[Any], Any]
) -> None:
    out = folder / "stressed"
    options = ("--stress", "--stress-generations", 2, "--instances", 8, "--targets", TARGETS, "--out", out)
    stressed = tensorparity("compare", model, *options, "--format", "json")
    assert stressed.code == 0, stressed.stderr
    document = valid(stressed.document)
    (pair,) = document["stats"]["stress"]
    assert pair["evaluations"] == 2 * (64 + 56)
    assert 0 < pair["distance"] < 1e-3
    assert (pair["labels_changed"], pair["watched"], pair["level"]) == (0, "logits", "input")
    assert any("a lower bound" in note for note in document["notes"])
    replayed = tensorparity("replay", out / pair["case"], "--out", out)
    assert replayed.code == 0, replayed.stdout + replayed.stderr


def test_a_hunt_runs_the_engine(tensorparity: Any, folder: Path, valid: Callable[[Any], Any]) -> None:
    options = ("--engines", "audee", "--cases", 3, "--no-reduce", "--targets", TARGETS, "--set", "audee.invalid=0.0")
    hunted = tensorparity("hunt", *options, "--format", "json", "--out", folder / "hunted")
    assert hunted.code in (0, 1), hunted.stderr
    assert valid(hunted.document)["stats"]["per_engine"]["audee"]["cases"] == 3


def test_a_count_of_cases_is_exact(tensorparity: Any, model: Path, folder: Path, valid: Callable[[Any], Any]) -> None:
    options = ("--seed-model", model, "--cases", 3, "--no-reduce", "--targets", TARGETS, "--format", "json")
    ran = tensorparity("mutate", *options, "--out", folder / "counted")
    assert ran.code in (0, 1), ran.stderr
    assert valid(ran.document)["stats"]["per_engine"]["audee"]["cases"] == 3


@pytest.mark.slow
def test_the_papers_protocol_is_gone_on_with_and_says_the_fraction(
    tensorparity: Any, model: Path, folder: Path, valid: Callable[[Any], Any]
) -> None:
    options = ("--protocol", "paper", "--no-reduce", "--seed-model", model, "--targets", TARGETS, "--format", "json")
    runs = []
    for more in ((), ("--resume",)):
        ran = tensorparity("mutate", *options, "--budget", "60s", "--out", folder / "paper", *more, timeout=400)
        assert ran.code in (0, 1), ran.stderr
        runs.append(valid(ran.document)["stats"])
    first, again = runs
    assert first["fraction"]["variants_of_protocol"] == 500
    assert 0 < first["fraction"]["variants"] < again["fraction"]["variants"] <= 500
    assert again["per_engine"]["audee"]["resumed"] > 0
