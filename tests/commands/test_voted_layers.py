"""Only found this way: against which run, and what is kept of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tensorparity.commands.voted_layers import VotedRun, VotedShelf

TARGETS = ("keras:jax", "keras:torch", "onnxruntime")


def run(*layers: str, unit: bool = False, seed: int = 0) -> VotedRun:
    rows = [{"target": target, "forward": [], "backward": []} for target in TARGETS]
    rows[1]["forward"] = list(layers)  # type: ignore[assignment]
    return VotedRun(unit, TARGETS, 40, seed, rows)


def test_what_the_other_way_has_not_found() -> None:
    own = run("Conv2D", "Dense").only_here(run("Dense", "GRU", unit=True))
    assert [row["target"] for row in own] == list(TARGETS)
    assert own[1] == {"target": "keras:torch", "forward": ["Conv2D"], "backward": []}


def test_the_same_layer_of_another_target_or_stage_is_another() -> None:
    other = replace(run(unit=True), voted=[{"target": "keras:jax", "forward": ["Dense"], "backward": []}])
    behind = replace(run(unit=True), voted=[{"target": "keras:torch", "forward": [], "backward": ["Dense"]}])
    for known in (other, behind):
        assert run("Dense").only_here(known)[1]["forward"] == ["Dense"]


def test_a_run_is_held_against_the_last_one_of_the_other_way(tmp_path: Path) -> None:
    shelf = VotedShelf(tmp_path / "out")
    assert shelf.other(run()) is None
    shelf.keep(run("Dense"))
    assert shelf.other(run()) is None, "it went the same way"
    for seed in (1, 2):
        shelf.keep(run("GRU", unit=True, seed=seed))
    found = shelf.other(run())
    assert found is not None
    assert (found.unit, found.models, found.seed) == (True, 40, 2)
    assert shelf.other(run(unit=True)) == run("Dense")


@pytest.mark.parametrize(
    "changes",
    [
        {"targets": TARGETS[:2]},
        {"faults": {"keras:jax": "a digest"}},
        {"made_of": {"layers": ["Dense"]}},
        {"stages": ("forward",)},
    ],
    ids=["targets", "faults", "layers", "stages"],
)
def test_other_targets_are_another_question(tmp_path: Path, changes: dict[str, object]) -> None:
    shelf = VotedShelf(tmp_path)
    shelf.keep(run("Dense", unit=True))
    strange = replace(run(), **changes)  # type: ignore[arg-type]
    assert shelf.other(strange) is None
    shelf.keep(strange)
    shelf.keep(replace(strange, unit=True))
    assert shelf.other(run()) == run("Dense", unit=True), "neither takes the other's place"


def test_the_order_of_targets_does_not_matter(tmp_path: Path) -> None:
    shelf = VotedShelf(tmp_path)
    shelf.keep(run(unit=True))
    assert shelf.other(replace(run(), targets=TARGETS[::-1])) is not None


@pytest.mark.parametrize(
    "text",
    [
        '{"network": [{"target": "keras:jax", "forward": ["Dense"]}], "unit": []}',
        '{"format": 99, "runs": []}',
        '{"format": 1, "runs": [{"unit": true}]}',
        "[]",
        "{",
    ],
    ids=["before formats", "newer", "damaged", "no object", "cut off"],
)
def test_a_file_of_another_format_is_nothing_to_be_held_against(tmp_path: Path, text: str) -> None:
    (tmp_path / "muffin-voted.json").write_text(text, encoding="utf-8")
    shelf = VotedShelf(tmp_path)
    assert shelf.other(run()) is None
    shelf.keep(run(unit=True))
    assert shelf.other(run()) == run(unit=True)


def test_the_file_has_a_format_and_is_there_in_full(tmp_path: Path) -> None:
    shelf = VotedShelf(tmp_path)
    shelf.keep(run("Dense"))
    before = (tmp_path / "muffin-voted.json").read_bytes()
    with pytest.raises(TypeError):
        shelf.keep(replace(run(), voted=[{"target": object()}]))
    assert (tmp_path / "muffin-voted.json").read_bytes() == before
    assert json.loads(before)["format"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["muffin-voted.json"]
