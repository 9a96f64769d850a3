"""The outcome cache: what is kept, under which key, and what happens where it cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.targets import cache as caching
from tensorparity.targets import environments, runner
from tensorparity.targets.cache import CachedRunner, OutcomeCache, drop_unused
from tensorparity.targets.environments import Environment, installed_libraries
from tensorparity.targets.names import parse_target
from tensorparity.targets.runner import PreparedTarget, RunnerSettings, with_cache
from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave

TARGET = "fake:a"


class Inner:
    """A Runner that answers with one status, and counts."""

    targets = (TARGET,)

    def __init__(self, status: Status = Status.COMPLETED) -> None:
        self.status = status
        self.asked = 0

    def run_pairs(self, pairs: list[tuple[Case, str]], **_: Any) -> list[Outcome]:
        self.asked += len(pairs)
        failure = None if self.status is Status.COMPLETED else Failure("FakeError", "no")
        return [Outcome(target, self.status, {"y": np.arange(3.0)}, failure=failure) for _, target in pairs]


def run_twice(inner: Inner, cache: OutcomeCache, circumstances: Callable[[str], str | None]) -> list[Outcome]:
    outside = CachedRunner(inner, cache, circumstances)  # type: ignore[arg-type]
    return [outside.run_pairs([(misbehave("echo"), TARGET)])[0] for _ in range(2)]


@pytest.mark.parametrize("status", list(Status), ids=lambda status: status.name)
def test_only_what_completed_is_kept(tmp_path: Path, status: Status) -> None:
    inner = Inner(status)
    first, second = run_twice(inner, OutcomeCache(tmp_path), lambda target: "here")
    assert first.status is second.status is status
    assert inner.asked == (1 if status is Status.COMPLETED else 2)


def test_nothing_is_kept_for_a_target_nobody_can_vouch_for(tmp_path: Path) -> None:
    inner = Inner()
    run_twice(inner, OutcomeCache(tmp_path), lambda target: None)
    assert inner.asked == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["open", "replace", "mkdir"])
def test_a_full_disk_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if where == "replace" else Path, where, full)
    inner = Inner()
    first, second = run_twice(inner, OutcomeCache(tmp_path), lambda target: "here")
    assert first.completed
    assert second.completed
    assert inner.asked == 2
    assert list(tmp_path.rglob("*.tmp")) == []


def test_a_cached_runner_trims_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[OutcomeCache] = []
    monkeypatch.setattr(OutcomeCache, "trim", lambda self: trimmed.append(self))
    for _ in range(3):
        CachedRunner(Inner(), OutcomeCache(tmp_path), lambda target: "here")  # type: ignore[arg-type]
    assert len(trimmed) == 1


def test_trimming_drops_the_oldest_and_what_killed_writers_left(tmp_path: Path) -> None:
    folder = tmp_path / "ab"
    folder.mkdir()
    for age, name in enumerate(["new.frame", "middle.frame", "old.frame", "left.123.tmp"]):
        (folder / name).write_bytes(bytes(100))
        os.utime(folder / name, (time.time() - age * 86400,) * 2)
    (folder / "fresh.124.tmp").write_bytes(b"")
    OutcomeCache(tmp_path).trim(capacity=250)
    assert {path.name for path in folder.iterdir()} == {"new.frame", "middle.frame", "fresh.124.tmp"}


def test_compilers_folders_that_nobody_uses_are_dropped(tmp_path: Path) -> None:
    folder = tmp_path / "compilers"
    for name, days in [("used", 1), ("unused", 40)]:
        (folder / name / "jax").mkdir(parents=True)
        os.utime(folder / name, (time.time() - days * 86400,) * 2)
    settings = RunnerSettings(cache=tmp_path)
    with external_runner(MISBEHAVING, ["misbehaving"], settings) as inner:
        used = {path.name for path in folder.iterdir()} - {"used", "unused"}
        assert len(used) == 1  # its own
        with_cache(inner, settings)
    assert {path.name for path in folder.iterdir()} == {"used", *used}
    drop_unused(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_made_switches_compiler_caches_off(tmp_path: Path) -> None:
    (tmp_path / "compilers").write_text("a file in the way")
    with external_runner(MISBEHAVING, ["misbehaving"], RunnerSettings(cache=tmp_path)) as inner:
        assert "JAX_COMPILATION_CACHE_DIR" not in inner.desk("misbehaving").plan().launch.variables


# The key


def desk(name: str = "misbehaving", **settings: Any) -> PreparedTarget:
    return PreparedTarget(parse_target(name), RunnerSettings(**settings), MISBEHAVING)


def test_the_catalogue_and_the_core_are_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tensorparity"
    for name in ("worker/server.py", "targets/lowering/onnx.py", "core/graph.py", "operators/layers/dense.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("one = 1\n")
    monkeypatch.setattr(runner, "__file__", str(package / "targets" / "runner.py"))
    monkeypatch.setattr(runner, "WORKER_FOLDER", package / "worker")
    digest = runner.worker_code_digest.__wrapped__
    digests = {digest()}
    for path in sorted(package.rglob("*.py")):
        path.write_text("one = 2\n")
        digests.add(digest())
    assert len(digests) == 5


def test_the_inherited_library_path_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    before = desk().circumstances
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/elsewhere")
    assert desk().circumstances == before
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/other/lib")
    assert desk().circumstances != before


def test_a_python_path_cannot_be_vouched_for(tmp_path: Path) -> None:
    config = tmp_path / "tensorparity.toml"
    config.write_text(
        f'[environments.checkout]\npython = "{sys.executable}"\nvariables = {{PYTHONPATH = "{tmp_path}"}}\n'
        f'[environments.plain]\npython = "{sys.executable}"\n'
    )
    assert desk().accountable
    assert desk("misbehaving@plain", config=config).accountable
    assert not desk("misbehaving@checkout", config=config).accountable
    unsafe = desk(f"misbehaving{{PYTHONPATH={tmp_path}}}", cache=tmp_path / "cache")
    assert not unsafe.accountable
    assert "JAX_COMPILATION_CACHE_DIR" not in unsafe.plan().launch.variables


class Packages:
    """A virtual environment with a false NumPy in it, installed as the tests say."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.environment = Environment("false", str(folder / "bin" / "python"))
        self.site = next((folder / "lib").glob("python*/site-packages"))
        (self.site / "numpy").mkdir()
        self.module = self.site / "numpy" / "__init__.py"
        self.module.write_text("")
        self.metadata = self.site / "numpy-1.0.dist-info"
        self.metadata.mkdir()
        (self.metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.0\n")
        self.record()

    def record(self, *more: str) -> None:
        lines = ["numpy/__init__.py,sha256=x,0", "numpy-1.0.dist-info/METADATA,,", *more]
        (self.metadata / "RECORD").write_text("\n".join(lines))

    def look(self) -> environments.Installed:
        environments._installed_state.cache_clear()
        return installed_libraries(self.environment, MISBEHAVING)


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages(tmp_path / "environment")


def test_a_patched_file_is_noticed(packages: Packages) -> None:
    before = packages.look()
    assert before.loose == ()
    assert packages.look() == before
    status = packages.module.stat()
    packages.module.write_text("patched = True\n")
    os.utime(packages.module, ns=(status.st_atime_ns, status.st_mtime_ns))
    larger = packages.look()
    os.utime(packages.module)
    later = packages.look()
    assert len({before.digest, larger.digest, later.digest}) == 3


def test_an_editable_install_is_noticed(packages: Packages) -> None:
    packages.record("__editable___numpy_1_0_finder.py,sha256=x,1")
    assert packages.look().loose == ("numpy",)
    packages.record()
    url = packages.metadata / "direct_url.json"
    url.write_text(json.dumps({"url": "file:///src/numpy", "dir_info": {"editable": True}}))
    assert packages.look().loose == ("numpy",)
    url.write_text(json.dumps({"url": "file:///src/numpy", "dir_info": {}}))
    assert packages.look().loose == ()


def test_what_is_not_found_cannot_be_vouched_for(packages: Packages) -> None:
    (packages.metadata / "METADATA").unlink()
    (packages.metadata / "RECORD").unlink()
    packages.metadata.rmdir()
    assert packages.look().loose == ("numpy",)


def test_a_checkout_in_the_current_folder_is_not_taken_for_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers run elsewhere, and never see it."""
    (tmp_path / "numpy-0.0.dist-info").mkdir()
    (tmp_path / "numpy-0.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.0\n")
    monkeypatch.chdir(tmp_path)
    environments._inventory.cache_clear()
    environments._installed_state.cache_clear()
    here = environments.find_environment("")
    assert environments.inventory(here).version("numpy") == np.__version__
    assert installed_libraries(here, MISBEHAVING).loose == ()


@pytest.fixture(autouse=True)
def forget() -> None:
    caching._trimmed.clear()
