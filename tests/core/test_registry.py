"""The registry: ours and others' names alike, nothing imported before it is asked for."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tensorparity.core import registry
from tensorparity.core.errors import TensorParityError, UsageError
from tensorparity.core.registry import Registry

BUILTIN = {"ours": "json:loads", "broken": "json:nothing", "absent": "tensorparity_no_such_module:x"}


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of a third party, with entry points, that says when it is imported."""
    name = "tensorparity_test_plugin"
    (tmp_path / f"{name}.py").write_text("class Oracle:\n    name = 'theirs'\n")
    info = tmp_path / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[tensorparity.oracle]\ntheirs = {name}:Oracle\nnested = {name}:Oracle.name\nours = {name}:Oracle\n"
        f"[tensorparity.rule]\nother-point = {name}:Oracle\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_entry_points_of_others(plugin: str) -> None:
    oracles: Registry[type] = Registry("oracle", BUILTIN)
    assert {"ours", "theirs", "nested"} <= set(oracles.names())
    assert "other-point" not in oracles
    assert plugin not in sys.modules, "a name alone imports nothing"
    found = oracles.get("theirs")
    assert found.__name__ == "Oracle"
    assert oracles.get("theirs") is found
    assert oracles.get("nested") == "theirs"


@pytest.mark.usefixtures("plugin")
def test_a_plug_in_adds_and_does_not_replace() -> None:
    import json

    assert Registry[object]("oracle", BUILTIN).get("ours") is json.loads


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("1 / 0\n", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("def Oracle(:\n", "cannot be loaded: SyntaxError: "),
        ("class Oracle:\n    pass\n", "cannot be made: TypeError: Oracle() takes no arguments"),
        ("def Oracle(setup):\n    raise KeyError('limit')\n", "cannot be made: KeyError: 'limit'"),
    ],
)
def test_a_plug_in_that_fails_is_one_line(plugin: str, tmp_path: Path, module: str, said: str) -> None:
    (tmp_path / f"{plugin}.py").write_text(module)
    with pytest.raises(UsageError) as refused:
        Registry[object]("oracle", BUILTIN).make("theirs", object())
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_fails_of_ours_is_a_bug_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    with pytest.raises(TypeError):
        Registry[object]("oracle", BUILTIN).make("ours")


def test_names_are_sorted_and_iterable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("a-first", "json:dumps", group)])
    names: Registry[object] = Registry("rule", BUILTIN)
    assert list(names) == names.names() == ["a-first", "absent", "broken", "ours"]


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("nobody", "unknown engine 'nobody'; known are absent, broken, ours"),
        ("broken", "engine 'broken' points at 'json:nothing', which cannot be loaded"),
        ("absent", "engine 'absent' points at .* cannot be loaded: No module named"),
    ],
)
def test_names_that_lead_nowhere(name: str, match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    with pytest.raises(UsageError, match=match):
        Registry[object]("engine", BUILTIN).get(name)


def test_extension_points_are_few() -> None:
    with pytest.raises(TensorParityError, match="no extension point 'colour'; there are target, engine"):
        Registry[object]("colour", {})
