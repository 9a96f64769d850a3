"""``--store``: a folder or a database's URL; case files of a database go to ``--out``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tensorparity.cli.main import main
from tensorparity.commands import compare as comparing
from tensorparity.core.errors import RunError
from tensorparity.targets.selection import installed_targets

pytestmark = pytest.mark.skipif(len(installed_targets()) < 2, reason="fewer than two targets are installed")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "400")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_hunt_keeps_its_campaign_in_the_database_and_its_files_in_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'database' / 'hunts.sqlite'}"
    assert run("hunt", "--cases", 0, "--engine", "cradle", "--store", url, "--out", "out") == 0
    assert (tmp_path / "database" / "hunts.sqlite").is_file()
    assert not (tmp_path / "out" / "store.sqlite").exists()
    assert "Store:  out\n" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("store", "folder"),
    [("sqlite:///a/b.sqlite", Path("out")), ("postgresql://host/db", Path("out")), ("elsewhere", None), (None, None)],
)
def test_compare_says_where_case_files_go(monkeypatch: pytest.MonkeyPatch, store: Any, folder: Path | None) -> None:
    seen: list[Any] = []

    def stop(model: str, settings: Any, listener: Any) -> Any:
        seen.append(settings)
        raise RunError("far enough")

    monkeypatch.setattr(comparing, "compare", stop)
    options = ["--store", store] if store else []
    assert run("compare", "zoo:resnet20", "--out", "out", *options) == 3
    assert (seen[0].store, seen[0].folder) == (store or Path("out"), folder)


@pytest.mark.skipif(importlib.util.find_spec("psycopg") is None, reason="not installed: psycopg")
def test_a_server_that_is_not_there_is_said_to_be(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("hunt", "--cases", 0, "--store", "postgresql://localhost:1/none") == 3
    assert "check that the database can be reached" in capfd.readouterr().err
