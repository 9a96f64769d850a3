"""``package.module:function``: the user's own function makes the model, in a worker of its own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...core.atomic import replacing_file
from ...core.errors import RunError, UsageError
from ...core.jsontext import Json
from ...core.messages import gist
from ...generators.inputs.models import Draw
from ...targets.catalogue import traits_of
from ...targets.requests import End
from ...targets.runner import RunnerSettings, open_runner, user_import_paths

_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MAKE_SECONDS = 900.0
_SUFFIXES = {"keras": ".keras", "torch": ".pt2"}


def is_factory(text: str) -> bool:
    return _FACTORY.fullmatch(text) is not None


#: The formats of the files that a model is saved in.
_MADE = {"keras", "torch"}


def factory_file(
    text: str, targets: Sequence[str], settings: RunnerSettings, draws: Mapping[str, Draw], cache: Path
) -> tuple[Path, dict[str, Draw]]:
    """The file of the model that the function returns (a .keras or a .pt2), and draws like its example inputs.

    Raises:
        UsageError: if the function cannot be found, or returns no model.
        RunError: if it raises, or its process dies.
    """
    traits = traits_of(targets)
    maker = next((target for target in targets if _MADE & set(traits[target].reads)), None)
    if maker is None:
        raise UsageError(f"{text} runs in a worker of Keras or torch; add such a target to --targets")
    recipe = {"kind": "factory", "factory": text, "import_paths": list(user_import_paths()), "inputs": _inputs(draws)}
    with open_runner([maker], replace(settings, faults={})) as runner:
        reply = runner.ask(maker, {"do": "make", "recipe": recipe}, {}, _MAKE_SECONDS)
    if reply.end is not End.ANSWERED:
        raise RunError(f"{text} did not return: {reply.end.value}")
    if reply.header["status"] == "unsupported":
        raise UsageError(gist(reply.header["failure"]["message"]))
    if reply.header["status"] != "completed":
        failure = reply.header["failure"]
        raise RunError(f"{text} raised {failure['type']}: {gist(failure['message'])}")
    form, examples = reply.header["notes"]
    path = _cached_file(reply.arrays["weights:model"].tobytes(), _SUFFIXES[form], cache)
    return path, {name: draw_like(told) for name, told in json.loads(examples).items()}


def draw_like(told: Mapping[str, Json]) -> Draw:
    """A Draw from what ``worker/saving`` tells of an example."""
    return Draw(tuple(told["shape"]), low=told.get("low"), high=told.get("high"), source="like the example")


def _inputs(draws: Mapping[str, Draw]) -> list[dict[str, object]]:
    """The shapes the user gave, for a module without example inputs of its own."""
    return [
        {"name": name, "shape": list(draw.shape), "dtype": draw.dtype or "float32"}
        for name, draw in draws.items()
        if draw.shape is not None
    ]


def _cached_file(data: bytes, suffix: str, cache: Path) -> Path:
    path = cache / "factories" / f"{hashlib.sha256(data).hexdigest()[:24]}{suffix}"
    with replacing_file(path) as out:
        out.write(data)
    return path
