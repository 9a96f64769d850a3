"""What libraries say when they fail, made fit for one line."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_KERAS_FRAME = re.compile(
    r"Exception encountered when calling (?:layer '[^']*' \(of type )?([\w.]+?)(?:\.call\(\)|\))?[.:]"
)


#: OpenVINO says where in its sources before what happened.
_OPENVINO = re.compile(r"Exception from src/")
_OPENVINO_NOISE = re.compile(
    r"Exception from |Check '.*' failed at |FrontEnd API failed with |Model wasn't fully converted"
    r"|-- .* with a message:|While validating (ONNX )?node |\[ NETWORK_NOT_READ \] |Summary:"
)
#: How runtimes name the ONNX node they failed in: type, then name; or name, then type.
_ONNX_NODE = re.compile(
    r"<Node\((?P<op>\w+)\): (?P<name>[^>]*)>|while running (?P<op2>\w+) node\. Name:'(?P<name2>[^']*)'"
)
_ONNX_NODE_FIRST = re.compile(r"Node ?\((?P<name>[^)]*)\) Op ?\((?P<op>\w+)\)")


def gist(message: str, limit: int = 300) -> str:
    """The first line that says something; Keras puts which layer before what happened."""
    lines = [line.strip() for line in _ANSI.sub("", message).splitlines() if line.strip()]
    if not lines:
        return ""
    frame = _KERAS_FRAME.match(lines[0])
    if _OPENVINO.match(lines[0]):
        return _openvino_gist(lines)[:limit]
    text = f"{lines[1]} (in {frame[1]})" if frame and len(lines) > 1 else lines[0]
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _openvino_gist(lines: list[str]) -> str:
    said = next((line for line in lines if not _OPENVINO_NOISE.match(line)), lines[-1])
    node = failing_onnx_node("\n".join(lines))
    return f"{said} (in {' '.join(node)})" if node else said


def failing_onnx_node(message: str) -> tuple[str, str] | None:
    """Type and name of the ONNX node that a runtime says it failed in."""
    found = _ONNX_NODE.search(message)
    if found:
        return found["op"] or found["op2"], found["name"] or found["name2"] or ""
    found = _ONNX_NODE_FIRST.search(message)
    return (found["op"], found["name"]) if found else None


#: How libraries say that they have no such thing, rather than that something is wrong.
_LACKS = re.compile(
    r"not (?:yet )?(?:support|implement)|unsupported(?! operand)|unimplemented|only supports|does not support"
    r"|only [\w=.-]+ is (?:currently )?supported"
    r"|no gradient (?:defined|registered)",
    re.IGNORECASE,
)
_LACKING_TYPES = ("NotImplementedError", "UnimplementedError")


def says_unsupported(kind: str, message: str) -> bool:
    """A documented lack, by the exception's type or by its words; or another package is not installed."""
    return kind in _LACKING_TYPES or bool(_LACKS.search(gist(message, 2000))) or says_not_installed(kind, message)


#: How libraries say that something optional is missing on this machine, and what it is called.
_MISSING = re.compile(
    r"pip install|no module named '?(?P<module>\w+)(?![\w.])|is not installed|(?:must|needs? to) be installed"
    r"|requires (?:the )?[\w.-]+ (?:module|package|library)",
    re.IGNORECASE,
)
_IMPORTING = ("ImportError", "ModuleNotFoundError")


def says_not_installed(kind: str, message: str, target: str = "") -> bool:
    """An optional package is missing: a matter of this machine, and of no library.

    Args:
        target: what was asked; a library that misses itself, or a module of its own, is broken.
    """
    found = _MISSING.search(gist(message, 2000)) if kind in _IMPORTING else None
    return found is not None and not (found["module"] and found["module"] in re.findall(r"\w+", target))


#: How TensorFlow says that an operation has no kernel for a dtype, or does not declare it.
_NO_KERNEL = re.compile(
    r"no opkernel was registered|could not find device for node|no registered '\w+' opkernel"
    r"|has datatype \w+ not in list of allowed values|of \w+ is not in the list of allowed values",
    re.IGNORECASE,
)


def says_no_kernel(message: str) -> bool:
    """There is the operation, but not for numbers of this dtype."""
    return bool(_NO_KERNEL.search(gist(message, 2000)))


_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def normalised_message(message: str) -> str:
    """The gist without names, figures and shapes: what two failures of one cause have in common."""
    return " ".join(_NUMBERS.sub("N", _QUOTED.sub("'...'", gist(message))).split())[:200]


def failing_layer(message: str) -> str | None:
    """The class of the layer that Keras says it was calling."""
    frame = _KERAS_FRAME.match(_ANSI.sub("", message).strip())
    return frame[1] if frame else None
