"""``app:NAME``: a model of keras.applications, made once by a Keras worker and kept in the cache."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from ..core.errors import RunError, UsageError
from ..targets.environments import inventory
from ..targets.pool import End
from ..targets.runner import LocalRunner

_MAKE_SECONDS = 900.0
_MAKERS = ("keras:torch", "keras:tensorflow", "keras:jax")


def application_file(runner: LocalRunner, name: str, seed: int, cache: Path) -> tuple[Path, list[str]]:
    """The model's .keras file and notes on its weights.

    Raises:
        UsageError: if there is no such application, or no Keras target that could build it.
        RunError: if building it failed.
    """
    maker = next((t for kind in _MAKERS for t in runner.targets if t.partition("{")[0] == kind), None)
    if maker is None:
        raise UsageError(f"app:{name} is built by a Keras target; add one of {', '.join(_MAKERS)} to --targets")
    recipe = {"kind": "application", "name": name, "seed": seed, "keras_home": _keras_home()}
    path = _cached_path(runner, maker, recipe, cache)
    if not path.exists():
        _make(runner, maker, recipe, path)
    return path, json.loads(path.with_suffix(".json").read_text())


def _keras_home() -> str | None:
    """Where the user's own Keras keeps downloaded weights."""
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    return str(home) if (home / "models").is_dir() else None


def _cached_path(runner: LocalRunner, maker: str, recipe: dict[str, object], cache: Path) -> Path:
    version = inventory(runner.desk(maker).environment).version("keras")
    key = hashlib.sha256(json.dumps([recipe, version], sort_keys=True).encode()).hexdigest()[:16]
    return cache / "applications" / f"{recipe['name']}-{key}.keras"


def _make(runner: LocalRunner, maker: str, recipe: dict[str, object], path: Path) -> None:
    reply = runner.ask(maker, {"do": "make", "recipe": recipe}, {}, _MAKE_SECONDS)
    if reply.end is not End.ANSWERED:
        raise RunError(f"building app:{recipe['name']} on {maker} failed: {reply.end.value}")
    if reply.header["status"] == "unsupported":
        raise UsageError(reply.header["failure"]["message"])
    if reply.header["status"] != "completed":
        failure = reply.header["failure"]
        raise RunError(f"building app:{recipe['name']} on {maker} failed: {failure['type']}: {failure['message']}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(reply.header["notes"]))
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_bytes(reply.arrays["weights:model"].tobytes())
    os.replace(temporary, path)
