"""Functions that are documented as another library's: that one defines them, and a third library says nothing of them.

NumPy's functions are asked here, in float64 and on the same arguments; SciPy's where it is installed. ONNX has a
reference evaluator of its own, which is a target.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from .spec import Call, Tensor


@dataclass(frozen=True, slots=True)
class Peer:
    """Whose functions those of a namespace are, in the documentation's words."""

    prefix: str
    module: str
    words: str

    def said(self, api: str) -> str:
        return self.words.format(name=api.removeprefix(self.prefix))


#: ``{name}`` is the function's own name.
PEERS = (
    Peer("jax.numpy.", "numpy", "JAX implementation of numpy.{name}"),
    Peer("jax.scipy.special.", "scipy.special", "JAX implementation of scipy.special.{name}"),
    Peer("jax.scipy.stats.", "scipy.stats", "JAX implementation of scipy.stats.{name}"),
    Peer("jax.scipy.linalg.", "scipy.linalg", "JAX implementation of scipy.linalg.{name}"),
    Peer("tensorflow.experimental.numpy.", "numpy", "TensorFlow variant of NumPy's {name}"),
)
#: The library that defines ONNX's operators, beside whoever runs them.
ONNX = "onnx"


def peer_of(api: str) -> Peer | None:
    """Who defines a function; nobody but itself, mostly."""
    return next((peer for peer in PEERS if api.startswith(peer.prefix)), None)


def said_of(call: Call) -> str:
    """The documentation's words about the functions of a call, once each; empty where one is nobody else's."""
    named = [(peer_of(api), api) for api in dict.fromkeys(_apis(call))]
    if any(peer is None for peer, _ in named):
        return ""
    return "; ".join(peer.said(api) for peer, api in named if peer is not None)


def defined_value(call: Call, arrays: Mapping[str, Array]) -> Array | None:
    """What the libraries that define all functions of a call give, in float64; None where one defines none.

    Args:
        arrays: the operands by name.
    """
    if not said_of(call):
        return None
    try:
        with np.errstate(all="ignore"):
            return np.asarray(_value(call, arrays))
    except (AttributeError, ImportError, TypeError, ValueError, IndexError, KeyError, ArithmeticError):
        return None  # it has no such function, or not with these arguments


def _apis(call: Call) -> list[str]:
    inner = [api for item in (*call.args, *call.kwargs.values()) if isinstance(item, Call) for api in _apis(item)]
    return [call.api, *inner]


def _value(item: Any, arrays: Mapping[str, Array]) -> Any:
    if isinstance(item, Tensor):
        array = arrays[item.name].astype(np.float64)
        return array.transpose(item.perm) if item.perm else array
    if isinstance(item, Call):
        return _called(item, arrays)
    if isinstance(item, (list, tuple)):
        return type(item)(_value(part, arrays) for part in item)
    return item


def _called(call: Call, arrays: Mapping[str, Array]) -> Any:
    peer = peer_of(call.api)
    assert peer is not None
    function: Any = importlib.import_module(peer.module)
    for part in call.api.removeprefix(peer.prefix).split("."):
        function = getattr(function, part)
    args = [_value(item, arrays) for item in call.args]
    found = function(*args, **{name: _value(item, arrays) for name, item in call.kwargs.items()})
    found = found if call.pick is None else found[call.pick]
    return np.transpose(found, call.perm) if call.perm else found
