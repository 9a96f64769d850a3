"""The worker's folder is an island: Python 3.6, NumPy and the library, nothing of the host."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tensorparity.worker
from tensorparity.core.outcome import Status
from tensorparity.core.runner import run_case
from tensorparity.targets.limits import WorkerLimits
from tensorparity.targets.runner import LocalRunner, RunnerSettings
from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave

ISLAND = Path(tensorparity.worker.__file__).parent
FILES = sorted(ISLAND.rglob("*.py"))
EXTERNAL = Path(MISBEHAVING.adapter)

#: NumPy versions that still install on Python 3.6, oldest first; one that installs is enough.
OLD_NUMPY = ("1.14.5", "1.16.4")


def relative(path: Path) -> str:
    return path.relative_to(ISLAND.parent).as_posix()


def imported(tree: ast.Module, package: tuple[str, ...]) -> set[str]:
    """Every module named in an import statement, relative ones resolved inside ``package``."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            climbs_out = node.level > len(package) > 0
            found.add(".".join((*(("outside",) if climbs_out else base), *filter(None, [node.module]))))
    return found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_nothing_of_the_host_is_imported(path: Path) -> None:
    inside = path.relative_to(ISLAND).parent.parts
    names = imported(ast.parse(path.read_text()), ("island", *inside))
    assert not {name for name in names if name.split(".")[0] in ("tensorparity", "outside")}


def test_the_import_check_bites() -> None:
    tree = ast.parse("from ...core import case\nfrom ..protocol import Bits\nimport tensorparity.core")
    assert imported(tree, ("island", "adapters")) == {"outside.core", "island.protocol", "tensorparity.core"}


@pytest.mark.parametrize("path", [*FILES, EXTERNAL], ids=lambda path: path.name)
def test_the_code_is_python_3_6(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    names = imported(tree, ())
    assert not names & {"dataclasses", "__future__", "tomllib", "zoneinfo"}
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.NamedExpr, ast.Match))]
    positional = [node for node in ast.walk(tree) if isinstance(node, ast.arguments) and node.posonlyargs]
    assert not positional


def test_the_feature_version_check_bites() -> None:
    with pytest.raises(SyntaxError):
        ast.parse("(x := 1)", feature_version=(3, 6))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_module_bears_the_name_of_a_library(path: Path) -> None:
    libraries = {"keras", "tensorflow", "torch", "jax", "onnx", "onnxruntime", "openvino", "numpy"}
    assert path.stem not in libraries
    assert not libraries & set(path.relative_to(ISLAND).parts)


# In a real worker


@pytest.fixture(scope="module")
def runner():
    with external_runner(MISBEHAVING, ["misbehaving"], RunnerSettings(workers=1)) as runner:
        yield runner


@pytest.fixture(scope="module")
def seen(runner: LocalRunner) -> dict[str, list[str]]:
    (outcome,) = runner.run_pairs([(misbehave("look"), "misbehaving")])
    assert outcome.completed, outcome.failure
    return {name: array.tolist() for name, array in outcome.outputs.items()}


def test_neither_our_folder_nor_the_working_one_is_on_the_path(seen: dict[str, list[str]]) -> None:
    for entry in seen["path"]:
        assert os.path.isabs(entry)
        assert not Path(entry).is_relative_to(ISLAND)
        assert entry != seen["folder"][0]


def test_the_host_is_not_imported_in_the_worker(seen: dict[str, list[str]]) -> None:
    ours = {name.split(".")[0] for name in seen["modules"] if name.startswith("tensorparity")}
    assert ours == {"tensorparity_worker"}


def test_a_file_in_the_working_folder_does_not_shadow_a_library(tmp_path: Path) -> None:
    """The adapter's own folder holds a false NumPy; the worker must not meet it."""
    adapter = tmp_path / "adapter.py"
    shutil.copy(EXTERNAL, adapter)
    (tmp_path / "numpy.py").write_text("raise RuntimeError('shadowed')\n")
    with external_runner(replace(MISBEHAVING, adapter=str(adapter)), ["misbehaving"]) as runner:
        (outcome,) = runner.run_pairs([(misbehave("echo", x=np.arange(3)), "misbehaving")])
    assert outcome.completed, outcome.failure


def test_chatter_on_stdout_lands_on_stderr_and_not_in_the_answers(runner: LocalRunner) -> None:
    array = np.arange(5.0)
    talk, after = runner.run_pairs(
        [(misbehave("chatter", 2, x=array), "misbehaving"), (misbehave("echo", x=array), "misbehaving")]
    )
    assert talk.outputs["x"].tolist() == after.outputs["x"].tolist() == array.tolist()


def test_what_was_said_last_is_kept_for_the_crash_report(runner: LocalRunner) -> None:
    pairs = [(misbehave("chatter", 1), "misbehaving"), (misbehave("abort"), "misbehaving")]
    _, crash = runner.run_pairs(pairs)
    assert crash.failure is not None
    assert crash.failure.detail == "terminate called after throwing an instance of 'std::runtime_error'\n"


# In a real Python 3.6


def find_python_3_6() -> str | None:
    """An interpreter that answers to 3.6: on the path, or among pyenv's versions."""
    candidates = [shutil.which("python3.6")]
    root = os.environ.get("PYENV_ROOT") or _pyenv_root()
    if root:
        candidates += [str(path) for path in sorted(Path(root, "versions").glob("3.6.*/bin/python"))]
    for candidate in filter(None, candidates):
        said = subprocess.run([candidate, "-V"], capture_output=True, text=True, check=False)
        if said.returncode == 0 and "Python 3.6" in said.stdout:  # a pyenv shim may exist and not run
            return candidate
    return None


def _pyenv_root() -> str | None:
    if not shutil.which("pyenv"):
        return None
    said = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False)
    return said.stdout.strip() or None


@pytest.fixture(scope="session")
def old_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Python 3.6 with a NumPy of its time, and nothing else."""
    base = find_python_3_6()
    if base is None:
        pytest.skip("there is no python3.6 on PATH or among pyenv's versions")
    folder = tmp_path_factory.mktemp("python36")
    subprocess.run([base, "-m", "venv", str(folder)], check=True, capture_output=True)
    python = str(folder / "bin" / "python")
    for version in OLD_NUMPY:
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"numpy=={version}"]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return python
    pytest.skip(f"pip cannot install NumPy for Python 3.6: {done.stderr.strip().splitlines()[-1:]}")


@pytest.fixture(scope="session")
def old_runner(old_python: str, tmp_path_factory: pytest.TempPathFactory):
    config = tmp_path_factory.mktemp("config") / "tensorparity.toml"
    config.write_text(f'[environments.legacy]\npython = "{old_python}"\n')
    limits = WorkerLimits(cpu_seconds=1.0, wall_factor=20.0)
    settings = RunnerSettings(config=config, limits=limits)
    with external_runner(MISBEHAVING, ["misbehaving@legacy", "misbehaving"], settings) as runner:
        yield runner


ARRAYS = {
    "float": np.arange(6, dtype=np.float32).reshape(2, 3),
    "scalar": np.array(1.5),
    "empty": np.zeros((0, 2), np.int64),
    "complex": np.array([1 + 2j]),
    "bool": np.array([True, False]),
    "text": np.array(["é", "", "a\0b"], object),
}


def test_a_worker_runs_on_python_3_6(old_runner: LocalRunner) -> None:
    outcomes = run_case(old_runner, misbehave("echo", **ARRAYS))
    legacy = outcomes["misbehaving@legacy"]
    assert legacy.completed, legacy.failure
    assert legacy.record.python.startswith("3.6.")
    assert legacy.record.versions["numpy"].startswith("1.")
    assert outcomes["misbehaving"].record.python == ".".join(map(str, sys.version_info[:3]))
    for name, array in ARRAYS.items():
        assert legacy.outputs[name].dtype == array.dtype
        assert legacy.outputs[name].tolist() == array.tolist()


@pytest.mark.parametrize(
    ("way", "status", "kind"),
    [
        ("raise_error", Status.RAISED, "ValueError"),
        ("segfault", Status.CRASHED, "SIGSEGV"),
        ("spin", Status.TIMED_OUT, "deadline"),
        ("write_garbage", Status.CRASHED, "protocol"),
        ("leave_daemon", Status.COMPLETED, None),
    ],
)
def test_a_worker_on_python_3_6_dies_the_same_deaths(
    old_runner: LocalRunner, way: str, status: Status, kind: str | None
) -> None:
    pairs = [(misbehave(way), "misbehaving@legacy"), (misbehave("echo", **ARRAYS), "misbehaving@legacy")]
    death, after = old_runner.run_pairs(pairs)
    assert death.status is status
    assert (death.failure.type if death.failure else None) == kind
    assert after.completed


def test_an_interpreter_without_numpy_says_what_to_install(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = tmp_path / "bare" / "bin" / "python"
    config = tmp_path / "tensorparity.toml"
    config.write_text(f'[environments.bare]\npython = "{python}"\n')
    with external_runner(MISBEHAVING, ["misbehaving@bare"], RunnerSettings(config=config)) as runner:
        (outcome,) = runner.run_pairs([(misbehave("echo"), "misbehaving@bare")])
        message = str(runner.broken["misbehaving@bare"])
    assert outcome.status is Status.UNSUPPORTED
    assert message.endswith(f"No module named 'numpy'; {python} -m pip install numpy")
