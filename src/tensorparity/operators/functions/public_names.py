"""Which public names a case file may call beside the declared ones: functions of the libraries that only compute.

A worker resolves no name that leads out of its library; what touches files, the network, processes or code is refused
by its words.
"""

from __future__ import annotations

import re

_LIBRARIES = ("torch", "tensorflow", "jax", "keras", "onnx")
_NAME = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_METHOD = re.compile(r"\.[A-Za-z]\w*", re.ASCII)
#: Calls of what other calls gave, which have no name of their own.
_PARTS = ("()", "[]", "[,]")
_REACHING_OUT = """
    save load read write file files open dump restore checkpoint memmap tofile fromfile download path
    directory folder pickle unpickle hub url http socket server rpc distributed multiprocessing process spawn
    fork thread exec eval system subprocess os sys popen script compile jit pyfunc callback hook import imp
    importlib dlpack cpp extension ctypes cuda device library register config environ debugging profiler
    testing utils saving datasets applications wrappers legacy internal storage loadtxt genfromtxt savetxt
    fromregex py call apply map custom export saved summary tpu distribute saver queue barrier
"""
_DENIED = frozenset(_REACHING_OUT.split())
_HARMLESS = frozenset(["keras.utils.normalize", "keras.utils.to_categorical", "jax.scipy.ndimage.map_coordinates"])


def is_public_function(name: str) -> bool:
    """Whether a name is that of a function that only computes, or of a part of a program."""
    if name in _PARTS or name in _HARMLESS:
        return True
    if _METHOD.fullmatch(name):
        return not _words(name) & _DENIED
    return bool(_NAME.fullmatch(name)) and name.partition(".")[0] in _LIBRARIES and not _words(name) & _DENIED


def _words(name: str) -> frozenset[str]:
    """The words of a name: at dots, underscores and changes of case."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return frozenset(word.lower() for word in re.split(r"[._]", spread) if word)
