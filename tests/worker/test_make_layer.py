"""The worker makes no layer that runs code of the case's own, whatever the host has let through."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tensorparity.operators.known_classes import UNSAFE_LAYERS
from tensorparity.worker.adapters.keras3 import program
from tensorparity.worker.contract import Unsupported


def node(op: str, **params: Any) -> dict[str, Any]:
    return {"op": op, "params": params, "layer": "odd"}


NODES = {
    **{name: node(name) for name in sorted(UNSAFE_LAYERS)},
    "inside of a wrapper": node("TimeDistributed", layer={"class_name": "Lambda", "config": {}}),
    "deep inside": node("Bidirectional", layer={"class_name": "RNN", "config": {"cell": [{"class_name": "JaxLayer"}]}}),
    "marshalled code": node("Dense", activation={"class_name": "__lambda__", "config": {"value": "4wAAAA=="}}),
}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Configurations that layers were made from, by a Keras that has every layer."""
    configs: list[dict[str, Any]] = []

    class Layers:
        def __getattr__(self, name: str) -> Any:
            return SimpleNamespace(from_config=configs.append)

    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(layers=Layers()))  # type: ignore[arg-type]
    return configs


@pytest.mark.parametrize("unsafe", NODES.values(), ids=NODES)
def test_refused_unless_trusted(unsafe: dict[str, Any], made: list[dict[str, Any]]) -> None:
    with pytest.raises(Unsupported, match="could run code of its own; refused without --trust"):
        program.make_layer(unsafe, None)
    assert not made
    program.make_layer(unsafe, None, trust=True)
    assert made == [{**unsafe["params"], "name": "odd"}]


def test_other_layers_are_made(made: list[dict[str, Any]]) -> None:
    wrapped = {"class_name": "Dense", "config": {"name": "inner", "units": 3}}
    program.make_layer(node("TimeDistributed", layer=wrapped), "float64")
    assert made == [{"layer": wrapped, "name": "odd", "dtype": "float64"}]


def test_worker_and_host_refuse_the_same() -> None:
    assert program._UNSAFE_LAYERS == UNSAFE_LAYERS
