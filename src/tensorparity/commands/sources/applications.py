"""``app:NAME``: a model of keras.applications, made once by a Keras worker and kept in the cache."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...core.atomic import replacing_file
from ...core.errors import RunError, UsageError
from ...targets.catalogue import trainers, traits_of
from ...targets.requests import End
from ...targets.runner import LocalRunner, open_runner

_MAKE_SECONDS = 900.0


def application_file(runner: LocalRunner, name: str, seed: int, cache: Path) -> tuple[Path, list[str]]:
    """The model's .keras file and notes on its weights; a planted fault must not get into it.

    Raises:
        UsageError: if there is no such application, or no Keras target that could build it.
        RunError: if building it failed.
    """
    traits = traits_of(trainers())
    kinds = sorted(trainers(), key=lambda name: traits[name].start_rank)
    makers = [target for kind in kinds for target in runner.targets if target.partition("{")[0] == kind]
    if not makers:
        raise UsageError(f"app:{name} is built by a Keras target; add one of {', '.join(kinds)} to --targets")
    recipe = {"kind": "application", "name": name, "seed": seed, "keras_home": _keras_home()}
    clean = [maker for maker in makers if maker not in runner.settings.faults]
    if clean:
        return _by_first(runner, clean, recipe, cache)
    with open_runner(makers[:1], replace(runner.settings, faults={})) as other:
        return _cached_model(other, makers[0], recipe, cache)


def _by_first(
    runner: LocalRunner, makers: Sequence[str], recipe: dict[str, object], cache: Path
) -> tuple[Path, list[str]]:
    """By the first that can: some applications refuse a backend of Keras, and run there once they are built."""
    problem: RunError | None = None
    for maker in makers:
        try:
            return _cached_model(runner, maker, recipe, cache)
        except RunError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _cached_model(runner: LocalRunner, maker: str, recipe: dict[str, object], cache: Path) -> tuple[Path, list[str]]:
    key = hashlib.sha256(json.dumps([recipe, runner.desk(maker).circumstances], sort_keys=True).encode())
    path = cache / "applications" / f"{recipe['name']}-{key.hexdigest()[:16]}.keras"
    note = path.with_suffix(".json")
    if not (path.exists() and note.exists()):
        _make(runner, maker, recipe, path, note)
    return path, json.loads(note.read_text())


def _keras_home() -> str | None:
    """Where the user's own Keras keeps downloaded weights."""
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    return str(home) if (home / "models").is_dir() else None


def _make(runner: LocalRunner, maker: str, recipe: dict[str, object], path: Path, note: Path) -> None:
    reply = runner.ask(maker, {"do": "make", "recipe": recipe}, {}, _MAKE_SECONDS)
    if reply.end is not End.ANSWERED:
        raise RunError(f"building app:{recipe['name']} on {maker} failed: {reply.end.value}")
    if reply.header["status"] == "unsupported":
        raise UsageError(reply.header["failure"]["message"])
    if reply.header["status"] != "completed":
        failure = reply.header["failure"]
        raise RunError(f"building app:{recipe['name']} on {maker} failed: {failure['type']}: {failure['message']}")
    with replacing_file(path) as out:
        out.write(reply.arrays["weights:model"].tobytes())
    with replacing_file(note) as out:
        out.write(json.dumps(reply.header["notes"]).encode())
