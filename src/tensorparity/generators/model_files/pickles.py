"""Pickles, read without being executed: which globals would they load?"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator

_STORAGES = "Bool BFloat16 Byte Char ComplexDouble ComplexFloat Double Float Half Int Long Short Untyped"
_DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"

#: What tensors are made of; none of these runs anything that the file chooses.
SAFE_GLOBALS: frozenset[str] = frozenset(
    {
        "collections.OrderedDict",
        "torch.Size",
        "torch.Tensor",
        "torch.device",
        "torch.nn.parameter.Parameter",
        "torch._utils._rebuild_parameter",
        "torch._utils._rebuild_tensor",
        "torch._utils._rebuild_tensor_v2",
        "torch.storage.UntypedStorage",
        "torch.serialization._get_layout",
        *(f"torch.{name}Storage" for name in _STORAGES.split()),
        *(f"torch.{name}" for name in _DTYPES.split()),
    }
)

_GLOBALS = ("GLOBAL", "INST")
_STRINGS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "STRING", "BINSTRING", "SHORT_BINSTRING")
_KEPT = ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT")
_FETCHED = ("GET", "BINGET", "LONG_BINGET")


class PickleError(ValueError):
    """Not a pickle, or one that cannot be read to its end."""


def foreign_globals(data: bytes, safe: frozenset[str] = SAFE_GLOBALS) -> tuple[str, ...]:
    """The globals a pickle names beyond the safe ones, as ``module.name``, sorted.

    Raises:
        PickleError: if it is not one pickle from its first byte to its last.
    """
    return tuple(sorted({name for name in _globals(data) if name not in safe}))


def _globals(data: bytes) -> Iterator[str]:
    """Every global; one whose name is computed rather than written counts as ``(computed)``."""
    recent: list[str | None] = []
    memo: dict[int, str | None] = {}
    end = 0
    try:
        for opcode, argument, position in pickletools.genops(data):
            end = position or 0
            if opcode.name in _GLOBALS:
                yield str(argument).replace(" ", ".")
            elif opcode.name == "STACK_GLOBAL":
                yield _global_name(recent)
            elif opcode.name.startswith("EXT"):
                yield "copyreg extension"
            _follow(opcode.name, argument, recent, memo)
    except Exception as error:  # pickletools raises whatever its decoders do
        raise PickleError(f"not a pickle: {error}") from error
    if end + 1 != len(data):
        raise PickleError("something follows the pickle")


def _global_name(recent: list[str | None]) -> str:
    pair = recent[-2:]
    if len(pair) < 2 or None in pair:
        return "(computed)"
    return f"{pair[0]}.{pair[1]}"


def _follow(opcode: str, argument: object, recent: list[str | None], memo: dict[int, str | None]) -> None:
    """Keep track of strings just enough to know the two on top of the stack; anything else is None."""
    if opcode in _KEPT:
        memo[len(memo) if opcode == "MEMOIZE" else int(str(argument))] = recent[-1] if recent else None
    elif opcode in _STRINGS:
        recent.append(str(argument))
    elif opcode in _FETCHED:
        recent.append(memo.get(int(str(argument))))
    elif opcode not in ("FRAME", "PROTO"):
        recent.append(None)
