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
from ...core.call import ApiCall, ArrayArg, DtypeArg, TupleArg
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


#: Where functions without a peer of their own are looked for by the last part of their name.
_BY_NAME = ("numpy", "scipy.special")
_ELSEWHERE = {"lgamma": "gammaln", "sigmoid": "expit", "erfinv": "erfinv", "ndtri": "ndtri", "logit": "logit"}
_AXES = {"dim": "axis", "dims": "axis", "axes": "axis", "keepdim": "keepdims"}


def named_value(call: ApiCall, arrays: Mapping[str, Array]) -> Array | None:
    """What NumPy's or SciPy's function of the same name gives, in float64; None where neither takes these arguments.

    A name is no promise: who asks has to see to it that it means the same.
    """
    name = call.api.rpartition(".")[2]
    for module in _BY_NAME:
        function: Any = _function(module, _ELSEWHERE.get(name, name))
        if function is None:
            continue
        try:
            args = [_given(item, arrays) for item in call.args]
            kwargs = {_AXES.get(key, key): _given(item, arrays) for key, item in call.kwargs.items()}
            with np.errstate(all="ignore"):
                found = np.asarray(function(*args, **kwargs))
        except (TypeError, ValueError, IndexError, KeyError, ArithmeticError, AttributeError):
            continue
        if found.dtype.kind in "fciub":
            return found
    return None


def _given(item: Any, arrays: Mapping[str, Array]) -> Any:
    """An argument in NumPy's words.

    Raises:
        TypeError: for one that NumPy has not.
    """
    if isinstance(item, ArrayArg):
        return _wide(arrays[item.name])
    if isinstance(item, DtypeArg):
        return np.dtype(item.name)
    if isinstance(item, TupleArg):
        return tuple(_given(part, arrays) for part in item.items)
    if isinstance(item, (list, tuple)):
        return [_given(part, arrays) for part in item]
    if isinstance(item, ApiCall):
        raise TypeError(f"NumPy has no {item.api}")
    return item


def _function(module: str, name: str) -> Any:
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return found if callable(found) and not isinstance(found, type) else None


def _wide(array: Array) -> Array:
    return (
        array if array.dtype.kind in "iub" else array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    )
