"""Whatever libraries answered when they were recorded is judged today as it was then.

A change that is meant is listed in ``differences.json``: the group (``scenario.kind``), the index, the fields (``*``
for all of one that was not there, or is no more), and the reason; where many have one reason, instead of the index how
many there are. What is listed and does not occur fails, too, so that the list says the truth.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from holding import hold, listed_differences  # noqa: E402
from recording import NOT_RECORDED, Recorder, Replaying, load, save  # noqa: E402
from replaying import RECORDINGS, expected  # noqa: E402
from scenarios import SCENARIOS, Scenario  # noqa: E402

from tensorparity.core.case import Case  # noqa: E402
from tensorparity.core.graph import GraphBuilder  # noqa: E402
from tensorparity.core.outcome import Outcome, Status, Trace  # noqa: E402

_LARGEST = 8 << 20
_ALL = 30 << 20
_LIBRARIES = ("tensorflow", "torch", "jax", "keras", "onnxruntime", "openvino")


@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.kind != "networks"], ids=lambda scenario: scenario.name)
def test_everything_is_judged_as_it_was(scenario: Scenario) -> None:
    """Networks have a file of their own, ``test_networks``: half of the work, for another process."""
    hold(scenario)


def test_every_listed_difference_has_a_reason_and_a_scenario() -> None:
    names = {scenario.name for scenario in SCENARIOS}
    for item, (_, reason) in listed_differences().items():
        assert reason.strip(), item.place
        assert item.group.partition(".")[0] in names, item.place


def test_every_kind_of_suspicion_occurs() -> None:
    results = [expected(scenario)["results"] for scenario in SCENARIOS]
    kinds = Counter(item["kind"] for result in results for item in result["suspicions"])
    classes = Counter(item["class"] for result in results for item in result["suspicions"])
    stages = Counter(item["stage"] for result in results for item in result["suspicions"])
    assert {"inconsistency", "nan", "error", "crash", "hang", "shape", "accepts-invalid"} <= set(kinds)
    assert {"defect", "flaky"} <= set(classes)
    assert {"build", "forward", "loss", "backward", "call", "save-load"} <= set(stages)


def test_recordings_are_small_and_each_has_a_scenario() -> None:
    sizes = {path.stem: path.stat().st_size for path in RECORDINGS.glob("*.zip")}
    assert set(sizes) == {scenario.recording for scenario in SCENARIOS}
    assert max(sizes.values()) <= _LARGEST
    assert sum(sizes.values()) <= _ALL


def test_no_library_is_imported() -> None:
    """In a process of its own: other tests may have imported one."""
    name = next(scenario.name for scenario in SCENARIOS if scenario.kind == "museum")
    script = (
        f"import sys; sys.path.insert(0, {str(FOLDER)!r})\n"
        "import replaying\n"
        f"replaying.replayed(next(s for s in replaying.SCENARIOS if s.name == {name!r}))\n"
        f"print([name for name in {_LIBRARIES!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- the recordings themselves


def _case(value: float) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (2,))))
    return Case(graph, inputs={"x": np.full((1, 2), value, np.float32)})


class _Counting:
    """A runner whose answers count up."""

    targets = ("a", "b")

    def __init__(self) -> None:
        self.count = 0

    def run_pairs(self, pairs: list[tuple[Case, str]], **_: object) -> list[Outcome]:
        return [self._one(target) for _, target in pairs]

    def _one(self, target: str) -> Outcome:
        self.count += 1
        numbers = np.array([self.count, np.nan, -0.0], np.float32)
        trace = Trace(nodes={"relu#0": numbers * 2, "text": np.array(["a", "b"], object)}, loss=float("nan"))
        return Outcome(target, Status.COMPLETED, {"out": numbers, "none": np.zeros((0, 2), np.float16)}, trace)


def _recorded(tmp_path: Path) -> Replaying:
    recorder = Recorder(_Counting())
    for fresh in (False, False, False, True):
        recorder.run_pairs([(_case(1.0), "a"), (_case(1.0), "b")], fresh=fresh)
    recorder.begin_pairs([(_case(2.0), "a")]).outcomes()
    save(tmp_path / "x.zip", recorder.kept)
    return Replaying(("a", "b"), load(tmp_path / "x.zip"))


def test_a_recording_answers_as_the_runner_did(tmp_path: Path) -> None:
    runner = _recorded(tmp_path)
    answers = [runner.run_pairs([(_case(1.0), "a")], fresh=fresh)[0] for fresh in (False, False, False, True, True)]
    assert [int(answer.outputs["out"][0]) for answer in answers] == [1, 3, 3, 7, 7]
    first = answers[0]
    assert np.isnan(first.outputs["out"][1])
    assert np.signbit(first.outputs["out"][2])
    assert first.outputs["none"].shape == (0, 2)
    assert first.outputs["none"].dtype == np.float16
    assert list(first.trace.nodes["text"]) == ["a", "b"]
    assert first.trace.loss is not None
    assert np.isnan(first.trace.loss)
    assert not runner.missed


def test_what_was_asked_in_other_workers_is_answered(tmp_path: Path) -> None:
    runner = _recorded(tmp_path)
    (answer,) = runner.run_pairs([(_case(2.0), "a")], fresh=True)
    assert int(answer.outputs["out"][0]) == 9


def test_what_was_never_asked_is_noted(tmp_path: Path) -> None:
    runner = _recorded(tmp_path)
    (answer,) = runner.run_pairs([(_case(2.0), "b")])
    assert answer.status is Status.UNSUPPORTED
    assert answer.failure is not None
    assert answer.failure.type == NOT_RECORDED
    assert runner.missed == [(_case(2.0).digest[:12], "b")]


def test_equal_recordings_are_equal_files(tmp_path: Path) -> None:
    recording = load(RECORDINGS / "museum-keras.zip")
    save(tmp_path / "a.zip", recording)
    save(tmp_path / "b.zip", load(tmp_path / "a.zip"))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
