"""What Keras announces for open sizes, held against what comes out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tensorparity.worker.adapters.keras3.call_ways import filled, require_same_structure
from tensorparity.worker.contract import Unsupported


def shaped(*sizes: int) -> Any:
    return SimpleNamespace(shape=sizes)


def test_sizes_that_are_left_open_are_as_they_come_out_and_known_ones_stay() -> None:
    assert filled((None, 3, None), shaped(2, 5, 7)) == (2, 3, 7)
    assert filled((None, 3), shaped(2, 5, 7)) == (0, 3)  # another number of axes stays another one


@pytest.mark.parametrize(
    ("said", "given"),
    [((1, 2), [1, 2]), ({"a": 1, "b": (2,)}, {"b": [2], "a": 1}), (None, None), ([None, 1], (None, 2))],
)
def test_a_list_may_be_a_tuple(said: Any, given: Any) -> None:
    require_same_structure(said, given)


@pytest.mark.parametrize(("said", "given"), [((1, 2), (1,)), (1, (1,)), ({"a": 1}, {"b": 1}), ((1, None), (1, 2))])
def test_another_structure_is_told(said: Any, given: Any) -> None:
    with pytest.raises(AssertionError, match="announced as"):
        require_same_structure(said, given)


@pytest.mark.jax
def test_an_announcement_is_made_for_every_size_or_for_the_batch() -> None:
    import keras
    import numpy as np

    from tensorparity.worker.adapters.keras3.call_ways import _announced_open

    seen: list[Any] = []

    def flatten_wrongly(tensors: Any) -> Any:
        x = tensors["x"]
        if isinstance(x, keras.KerasTensor):
            seen.append(x.shape)
            return keras.KerasTensor((x.shape[0], 5))
        return keras.ops.reshape(x, (2, 6))

    given = {"x": keras.ops.convert_to_tensor(np.ones((2, 2, 3), np.float32))}
    for every in (False, True):
        (zeros,) = _announced_open(every)(flatten_wrongly, given, {})
        assert tuple(zeros.shape) == (2, 5)
    assert seen == [(None, 2, 3), (None, None, None)]


@pytest.mark.jax
def test_a_shape_is_no_tensor() -> None:
    import keras
    import numpy as np

    from tensorparity.worker.adapters.keras3.call_ways import _announced_open

    given = {"x": keras.ops.convert_to_tensor(np.ones((2, 3), np.float32))}
    with pytest.raises(Unsupported):
        _announced_open(True)(lambda tensors: keras.ops.shape(tensors["x"]), given, {})
