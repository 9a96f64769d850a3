"""What libraries say when they fail, made fit for one line."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_KERAS_FRAME = re.compile(
    r"Exception encountered when calling (?:layer '[^']*' \(of type )?([\w.]+?)(?:\.call\(\)|\))?[.:]"
)


def gist(message: str, limit: int = 300) -> str:
    """The first line that says something; Keras puts which layer before what happened."""
    lines = [line.strip() for line in _ANSI.sub("", message).splitlines() if line.strip()]
    if not lines:
        return ""
    frame = _KERAS_FRAME.match(lines[0])
    text = f"{lines[1]} (in {frame[1]})" if frame and len(lines) > 1 else lines[0]
    return text if len(text) <= limit else text[: limit - 3] + "..."


def failing_layer(message: str) -> str | None:
    """The class of the layer that Keras says it was calling."""
    frame = _KERAS_FRAME.match(_ANSI.sub("", message).strip())
    return frame[1] if frame else None
