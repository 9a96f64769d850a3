"""Sizes that a signature leaves open are tried until the model takes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.sources.models import ModelSource
from tensorparity.commands.sources.open_sizes import SIZES, fitting_draws
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.errors import DataError
from tensorparity.core.graph import InputSpec
from tensorparity.core.model import Model
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.generators.inputs.models import Draw

FILE = ModelFile("detector.onnx", "0" * 64, "onnx")
IMAGE = InputSpec("image", (None, None, 3), "float32")


class Runner:
    """A target that takes images whose sides are multiples of a number."""

    targets = ("onnxruntime",)

    def __init__(self, multiple: int) -> None:
        self.multiple = multiple
        self.tried: list[int] = []

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        ((case, target),) = pairs
        side = case.inputs["image"].shape[1]
        self.tried.append(side)
        if side % self.multiple:
            return [Outcome(target, Status.RAISED, failure=Failure("Fail", f"Concat: {side // 2} and {side // 2 + 1}"))]
        return [Outcome(target, Status.COMPLETED, {"y": np.zeros(1)})]


def source(spec: InputSpec = IMAGE) -> ModelSource:
    return ModelSource(Model("detector.onnx", file=FILE, files={"onnxruntime": FILE}), (spec,))


def drawn(multiple: int, draws: dict[str, Draw] | None = None, spec: InputSpec = IMAGE) -> tuple[Any, list[int]]:
    runner = Runner(multiple)
    return fitting_draws(runner, source(spec), runner.targets, 0, draws or {}), runner.tried


def test_the_first_size_that_the_model_takes() -> None:
    draws, tried = drawn(64)
    assert draws["image"].shape == (64, 64, 3)
    assert tried == [16, 32, 64]


def test_the_usual_size_needs_nothing_said() -> None:
    assert drawn(16) == ({}, [16])


class Ending(Runner):
    """Ends so with the first sizes, by target; takes the ones behind them."""

    targets = ("onnxruntime", "openvino")

    def __init__(self, **endings: list[Status]) -> None:
        super().__init__(1)
        self.endings = endings

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        (outcome,) = super().run_pairs(pairs)
        ((_, target),) = pairs
        left = self.endings.get(target, [])
        if not left:
            return [outcome]
        return [Outcome(target, left.pop(0), failure=Failure("SIGSEGV", ""))]


@pytest.mark.parametrize(
    ("endings", "size", "tried"),
    [
        ({"onnxruntime": [Status.CRASHED, Status.RAISED]}, 64, [16, 32, 64]),
        ({"onnxruntime": [Status.UNSUPPORTED], "openvino": [Status.RAISED]}, 32, [16, 16, 32]),
        ({"onnxruntime": [Status.UNSUPPORTED], "openvino": [Status.UNSUPPORTED]}, None, [16, 16]),
        ({"onnxruntime": [Status.RAISED, Status.TIMED_OUT]}, None, [16, 32]),
        ({"onnxruntime": [Status.RAISED, Status.OUT_OF_MEMORY]}, None, [16, 32]),
        ({"onnxruntime": [Status.RAISED] * 8 + [Status.CRASHED]}, None, list(SIZES)),
    ],
    ids=["crash", "unsupported", "unsupported by all", "too slow", "too large", "no size, one crash"],
)
def test_only_a_completed_run_fits(endings: dict[str, list[Status]], size: int | None, tried: list[int]) -> None:
    runner = Ending(**endings)
    files = dict.fromkeys(runner.targets, FILE)
    both = ModelSource(Model("detector.onnx", file=FILE, files=files), (IMAGE,))
    draws = fitting_draws(runner, both, runner.targets, 0, {})
    assert runner.tried == tried
    assert draws == ({} if size is None else {"image": Draw(shape=(size, size, 3))})


def test_what_the_user_says_is_not_tried() -> None:
    given = {"image": Draw(shape=(17, 17, 3))}
    assert drawn(64, given) == (given, [])
    assert drawn(64, spec=InputSpec("image", (8, 8, 3), "float32")) == ({}, [])


def test_where_none_fits_the_answer_is_one_line_with_the_option() -> None:
    with pytest.raises(DataError) as refused:
        drawn(1000)
    message = str(refused.value)
    assert "\n" not in message
    assert "Concat: 8 and 9" in message
    assert message.endswith("choose them: --input image=SIZExSIZEx3")
    assert str(max(SIZES)) in message
