"""Model objects as files: objects that hold tensors, opened and put together again."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tensorparity.worker.saving import arguments_of, drawn_like, format_of, plain, restored, save_program

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@dataclass
class Layer:
    keys: Any
    length: int = 3


@dataclass
class Cache:
    layers: list[Layer] = field(default_factory=list)
    name: str = "cache"


Pair = namedtuple("Pair", "left right")


def test_whatever_holds_tensors_is_opened() -> None:
    one = torch.ones(2)
    assert plain({"a": one, "b": None, "c": 3}) == {"a": one}
    assert plain(Cache([Layer(one)])) == {"layers": [{"keys": one}]}
    assert plain(Pair(one, None)) == [one]
    assert plain(Cache()) is None


def test_what_was_opened_is_put_together_again() -> None:
    cache = Cache([Layer(torch.zeros(2)), Layer(torch.zeros(2), 5)])
    other = restored(cache, {"layers": [{"keys": torch.ones(2)}, {"keys": torch.ones(2) * 2}]})
    assert [layer.keys.tolist() for layer in other.layers] == [[1, 1], [2, 2]]
    assert [layer.length for layer in other.layers] == [3, 5]
    assert cache.layers[0].keys.tolist() == [0, 0]  # the user's own is left alone
    assert restored(Pair(torch.zeros(1), 7), [torch.ones(1)]) == Pair(torch.ones(1), 7)


def test_arguments_are_positions_or_names() -> None:
    one = torch.ones(1)
    assert arguments_of(one) == ((one,), {})
    assert arguments_of([one, one]) == ((one, one), {})
    assert arguments_of({"x": one}) == ((), {"x": one})


def test_formats_are_told_without_importing_anything() -> None:
    assert format_of(torch.nn.Linear(1, 1)) == "torch"
    assert format_of(3) is None


def test_draws_have_the_shape_and_the_range_of_examples() -> None:
    found = drawn_like({"ids": torch.tensor([[3, 9]]), "x": torch.zeros(4, 2)})
    assert found == {"ids": {"shape": [1, 2], "low": 3, "high": 9}, "x": {"shape": [4, 2]}}


class WithCache(torch.nn.Module):  # type: ignore[misc]
    """An object in, an object out, a part in training mode and one that is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.drop = torch.nn.Linear(2, 2), torch.nn.Dropout(0.5).eval()

    def forward(self, x: Any, cache: Cache) -> Cache:
        return Cache([Layer(self.drop(self.dense(x)) + cache.layers[0].keys)])


def test_a_module_with_objects_is_exported_and_left_as_it_was(tmp_path: Path) -> None:
    module = WithCache()
    given = {"x": torch.randn(3, 2), "cache": Cache([Layer(torch.randn(3, 2))])}
    named = save_program(module, given, str(tmp_path / "m.pt2"))
    assert list(named) == ["x", "cache_layers_0_keys"]
    program = torch.export.load(str(tmp_path / "m.pt2"))
    assert program.graph_signature.user_inputs == tuple(named)
    answer = program.module()(x=given["x"], cache={"layers": [{"keys": given["cache"].layers[0].keys}]})
    wanted = module(**given)
    torch.testing.assert_close(answer["layers"][0]["keys"], wanted.layers[0].keys)
    assert isinstance(wanted, Cache)  # the hooks are gone
    assert (module.training, module.drop.training) == (True, False)
    assert not isinstance(program.graph.find_nodes(op="placeholder")[2].meta["val"].shape[0], int)  # any batch
