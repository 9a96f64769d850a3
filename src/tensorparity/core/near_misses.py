"""What somebody may have meant: a name that is nearly one of those that exist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_NEAR = 0.75


def meant(name: str, known: Iterable[str]) -> str:
    """`` (did you mean keras:torch?)``, or nothing where nothing is near."""
    near = nearest(name, list(known))
    return f" (did you mean {near}?)" if near else ""


def nearest(name: str, known: list[str]) -> str:
    """The name that is nearest to another, whatever its case; else one of whose words that is true."""
    by_lower = {other.lower(): other for other in reversed(known)}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=_NEAR)
    if near:
        return by_lower[near[0]]
    by_word = {word.lower(): other for other in reversed(known) for word in re.split(r"[-_.:]", other) if word}
    near = get_close_matches(name.lower(), by_word, n=1, cutoff=_NEAR)
    return by_word[near[0]] if near else ""


def several_meant(name: str, known: Iterable[str], most: int = 3) -> str:
    """`` (did you mean torch.hypot or torch.Tensor.hypot?)``: names that are near, or whose last part is."""
    names = sorted(known)
    parts = [other.rpartition(".")[2] if "." not in name else other for other in names]
    by_part = dict(zip(parts, names, strict=True))
    near = get_close_matches(name, by_part, n=most, cutoff=_NEAR)
    return f" (did you mean {' or '.join(by_part[part] for part in near)}?)" if near else ""


def meant_file(path: Path) -> str:
    """`` (did you mean model.onnx?)``, where a file beside it has nearly this name."""
    beside = [other.name for other in path.parent.iterdir() if other.is_file()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, beside, n=1, cutoff=_NEAR)
    return f" (did you mean {path.with_name(near[0])}?)" if near else ""
