"""What layers share: each code is that of several types, and reads parameters that all of them have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.shared_code import CONVOLUTION, DEPTHWISE_CONVOLUTION, RECURRENT, SharedCode


def _types(code: SharedCode) -> Iterator[str]:
    return (name for name in layer_names() if code in layer(name).shared)


@pytest.mark.parametrize("code", [RECURRENT, CONVOLUTION, DEPTHWISE_CONVOLUTION], ids=lambda code: code.name)
def test_several_types_have_each_of_its_parameters(code: SharedCode) -> None:
    for name in code.parameters:
        having = {op.rstrip("123D") for op in _types(code) if name in {p.name for p in layer(op).parameters}}
        assert len(having) > 1, name  # dimensions are one type anyway


def test_recurrent_layers_are_those_with_a_state() -> None:
    stateful = {name for name in layer_names() if "stateful" in {p.name for p in layer(name).parameters}}
    assert set(_types(RECURRENT)) == stateful


@pytest.mark.parametrize(
    ("parameters", "reads"), [((), False), (("stateful",), True), (("stateful", "use_bias"), False)]
)
def test_what_it_reads(parameters: tuple[str, ...], reads: bool) -> None:
    assert RECURRENT.reads_all(parameters) is reads
