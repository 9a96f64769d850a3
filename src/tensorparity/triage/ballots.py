"""Who shares code with whom: the table behind every vote, as data.

Decision 5: implementations that share code count as one. What computes a layer is the library underneath, so
Keras votes by its backend: its backends are independent of each other, but not of a target that runs the same
library directly. A setting or another environment makes another target, not another implementation. Code that
all Keras backends share (a layer composed in Python) is no matter of votes; ``diagnose`` blames it by family.
"""

from __future__ import annotations

import re

#: Targets whose answers come from a library that their name does not say.
_ELSEWHERE = {
    "keras:numpy": "jax",  # convolution and pooling of Keras' NumPy backend are JAX's
    "onnx:reference": "onnx",
}
#: Every flavour of these runs the same kernels; also the names of Keras' backends.
_LIBRARIES = frozenset(["tensorflow", "jax", "torch", "openvino", "onnxruntime"])


def ballot_of(target: str) -> str:
    """The implementation that a target votes for; those of one name have one vote when they agree."""
    base = re.split(r"[@{]", target, maxsplit=1)[0].strip()
    if base in _ELSEWHERE:
        return _ELSEWHERE[base]
    framework, _, flavour = base.partition(":")
    if framework == "keras" and flavour:
        return flavour
    return framework if framework in _LIBRARIES else base
