"""The example at the ends of a map: input, predictions, label."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.comparison import Picture
from tensorparity.oracles.measure.example import build_example

PROBABILITIES = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.15, 0.05]], np.float32)


def picture(array: Array) -> Picture | None:
    return build_example({"x": array[None]}, 0, np.zeros((1, 2)), np.zeros((1, 2))).inputs[0].picture


def pixels(found: Picture | None) -> Array:
    assert found is not None
    raw = np.frombuffer(base64.b64decode(found.pixels), np.uint8)
    return raw.reshape(found.height, found.width, 3)


def test_the_top_classes_of_both_sides_and_the_label() -> None:
    found = build_example({"x": np.zeros((2, 3), np.int32)}, 1, PROBABILITIES, PROBABILITIES[::-1], np.array([2, 0]))
    assert (found.index, found.classes, found.label) == (1, True, "0")
    assert [place for place, _ in found.a] == [0, 2, 1, 3]
    assert [place for place, _ in found.b] == [3, 2, 1, 0]
    assert found.a[0][1] == pytest.approx(0.7)
    assert found.inputs[0].to_json() == {
        "name": "x", "shape": [3], "dtype": "int32", "low": 0.0, "high": 0.0, "picture": None,
    }  # fmt: skip


def test_at_most_five_classes_and_a_one_hot_label() -> None:
    many = np.arange(20, dtype=np.float32).reshape(1, 20)
    found = build_example({}, 0, many, many, np.eye(20)[[7]])
    assert [place for place, _ in found.a] == [19, 18, 17, 16, 15]
    assert found.label == "7"


def test_a_sigmoid_with_labels_has_two_classes() -> None:
    found = build_example({}, 0, np.array([[0.9]]), np.array([[0.2]]), np.array([1]))
    assert (found.classes, found.a[0][0], found.b[0][0], found.label) == (True, 1, 0, "1")


def test_one_number_without_labels_is_a_value() -> None:
    found = build_example({}, 0, np.array([[0.9]]), np.array([[math.nan]]))
    assert (found.classes, found.label, found.a) == (False, "", ((0, 0.9),))
    assert math.isnan(found.b[0][1])


@pytest.mark.parametrize("output", [np.zeros((1, 4, 6)), np.zeros(1), np.zeros((1, 0))])
def test_other_outputs_show_their_first_values(output: Array) -> None:
    found = build_example({}, 0, output, output, np.array([[1.5, 2.5]]))
    assert len(found.a) == min(5, output.size)
    assert found.label == "1.5, 2.5"


def test_what_is_no_number_comes_last() -> None:
    found = build_example({}, 0, np.array([[math.nan, 0.1, 0.2]]), np.array([[1.0, 0.0, 0.0]]))
    assert [place for place, _ in found.a] == [2, 1, 0]


def test_an_image_is_pictured_from_dark_to_light() -> None:
    ramp = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8, 1)
    shown = pixels(picture(ramp))
    assert shown.shape == (8, 8, 3)
    assert shown[0, 0].tolist() == [0, 0, 0]
    assert shown[-1, -1].tolist() == [255, 255, 255]


def test_a_large_image_is_thinned_out_and_channels_may_come_first() -> None:
    shown = pixels(picture(np.random.default_rng(0).random((3, 224, 112))))
    assert shown.shape == (45, 23, 3)
    assert len(np.unique(shown, axis=2)) > 1


@pytest.mark.parametrize("shape", [(10,), (2, 9), (8, 8, 7), (3, 200, 2), (4, 4, 4, 3), ()])
def test_what_is_no_image_has_no_picture(shape: tuple[int, ...]) -> None:
    assert picture(np.ones(shape)) is None


def test_gaps_in_an_image_do_no_harm() -> None:
    holes = np.ones((8, 8))
    holes[0, 0], holes[1, 1], holes[2, 2] = math.nan, math.inf, 0.0
    assert pixels(picture(holes))[1, 1].tolist() == [255, 255, 255]
    assert picture(np.full((8, 8), math.nan)) is None
    assert picture(np.zeros((8, 8), bool)) is not None


def test_text_has_no_range() -> None:
    found = build_example({"words": np.array(["a", "b"])}, 1, PROBABILITIES, PROBABILITIES)
    assert (found.inputs[0].dtype, found.inputs[0].low) == ("string", None)


def test_strings_are_shown_without_numbers() -> None:
    words = np.array([["yes"], ["no"]])
    found = build_example({"x": words}, 0, words, words[::-1], words)
    assert (found.classes, found.label, found.a, found.b) == (False, "yes", (), ())
