"""Which public names a case file may call beside the declared ones: functions of the libraries that only compute.

A worker resolves no name that leads out of its library; what touches files, the network, processes or code is refused
by its words, which are those of the worker's own list.
"""

from __future__ import annotations

import re

from ...worker.apis.denied import leads_out

_LIBRARIES = ("torch", "tensorflow", "jax", "keras", "onnx")
_NAME = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_METHOD = re.compile(r"\.[A-Za-z]\w*", re.ASCII)
#: Calls of what other calls gave, which have no name of their own.
_PARTS = ("()", "[]", "[,]")
#: Methods that set the mode of a module; the word alone would be Python's own function, which runs code.
_MODES = frozenset([".eval"])


def is_public_function(name: str) -> bool:
    """Whether a name is that of a function that only computes, or of a part of a program."""
    if name in _PARTS or name in _MODES:
        return True
    is_named = _NAME.fullmatch(name) and name.partition(".")[0] in _LIBRARIES
    return bool(is_named or _METHOD.fullmatch(name)) and not leads_out(name)  # type: ignore[no-untyped-call]
