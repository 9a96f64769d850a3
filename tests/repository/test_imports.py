"""Imports point one way, the host touches no library under test, and ``import tensorparity`` is quick."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tensorparity

ROOT = Path(tensorparity.__file__).parent

#: The libraries under test, and what only they bring.
LIBRARIES = frozenset(
    ["tensorflow", "torch", "jax", "jaxlib", "keras", "onnxruntime", "openvino", "onnx", "tf2onnx", "flax", "theano"]
)

_STAGES = {"generators", "engines", "targets", "oracles", "triage", "store", "reporting", "zoo"}

#: What each folder may import besides itself. Stages meet through the types of ``core``; what needs to run a
#: case is handed a runner by the campaign. A new entry here is a decision, not a fix.
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "operators": {"core", "worker"},
    "generators": {"core", "operators", "oracles"},
    "oracles": {"core", "operators"},
    "store": {"core"},
    "reporting": {"core"},
    "zoo": {"core", "operators"},
    "targets": {"core", "operators", "worker"},
    "triage": {"core", "operators", "oracles", "targets", "store", "reporting"},
    "engines": {"core", "operators", "generators", "oracles", "zoo"},
    "campaign": {"core", "operators", *_STAGES},
    "commands": {"campaign", "core", "operators", *_STAGES},
    "cli": {"campaign", "commands", "core", "operators", *_STAGES},
    "testing": {"core", "operators", "targets"},
    "worker": set(),
}

#: Modules beside the folders; the package itself looks everything up on first use.
AT_THE_ROOT: dict[str, set[str]] = {
    "__main__.py": {"cli"},
    "api.py": {"campaign", "cli", "commands", "core", "generators", "reporting", "targets", "triage", "worker"},
    "pytest_plugin.py": set(),
    "plugin.py": {"core", "operators", "oracles", "reporting", "targets", "triage"},
}

#: A model object is saved where it is: by a worker that made it, or in the process of a user who has one. What may
#: never be called is one list, which the host and its workers hold against names.
BESIDE_THE_PROTOCOL = {
    "api.py": ("tensorparity.worker.saving",),
    "operators/functions/public_names.py": ("tensorparity.worker.apis.denied",),
}

#: Executed in workers, where the library is.
WORKER_CODE = ("worker/", "testing/faults/", "testing/misbehaving.py")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


MODULES = sorted(ROOT.rglob("*.py"), key=relative)
HOST = [path for path in MODULES if not relative(path).startswith(WORKER_CODE)]


def imports(source: str, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names of everything imported anywhere in the source, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            yield from (".".join((*module, alias.name)) for alias in node.names)


def imports_of(path: Path) -> set[str]:
    return set(imports(path.read_text(), ("tensorparity", *path.relative_to(ROOT).parent.parts)))


def folders_of(names: set[str]) -> set[str]:
    """The folders of ours among imported names; the package itself (its version) is open to all."""
    ours = [name.split(".") for name in names if name.split(".")[0] == "tensorparity"]
    return {parts[1] for parts in ours if len(parts) > 1 and (ROOT / parts[1]).is_dir()}


def test_every_folder_is_in_the_table() -> None:
    folders = {path.name for path in ROOT.iterdir() if any(path.rglob("*.py"))}
    assert folders <= set(ALLOWED)


def test_the_table_has_no_cycle() -> None:
    settled: set[str] = set()
    while len(settled) < len(ALLOWED):
        ready = {folder for folder, below in ALLOWED.items() if below <= settled} - settled
        assert ready, f"in a cycle: {sorted(set(ALLOWED) - settled)}"
        settled |= ready


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_imports_point_one_way(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    own = parts[0] if len(parts) > 1 else ""
    allowed = ALLOWED[own] | {own} if own else AT_THE_ROOT.get(parts[0], set())
    assert folders_of(imports_of(path)) <= allowed


@pytest.mark.parametrize("path", [path for path in MODULES if not relative(path).startswith("worker/")], ids=relative)
def test_the_host_knows_the_worker_by_its_protocol_alone(path: Path) -> None:
    inside = {name for name in imports_of(path) if name.startswith("tensorparity.worker")}
    known = ("tensorparity.worker.protocol", *BESIDE_THE_PROTOCOL.get(relative(path), ()))
    assert all(name.startswith(known) for name in inside)


@pytest.mark.parametrize("path", HOST, ids=relative)
def test_the_host_imports_no_library_under_test(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports_of(path)} & LIBRARIES


#: CIFAR-10 and IMDB come as pickles from their sources; an unpickler that knows arrays alone reads them.
READS_PICKLES = {"zoo/keras_cache.py"}


@pytest.mark.parametrize("path", [path for path in MODULES if relative(path) not in READS_PICKLES], ids=relative)
def test_nothing_is_pickled(path: Path) -> None:
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    assert not {name.split(".")[0] for name in imports_of(path)} & forbidden


def test_the_check_sees_every_form_of_import() -> None:
    source = "def f():\n    from ..worker import protocol\n    import torch.nn as nn\nfrom . import pool\n"
    assert set(imports(source, ("tensorparity", "targets"))) == {
        "tensorparity.worker.protocol",
        "torch.nn",
        "tensorparity.targets.pool",
    }
    assert folders_of({"tensorparity.worker.protocol", "tensorparity.__version__", "torch.nn"}) == {"worker"}


# What really happens


def in_a_fresh_process(code: str) -> dict[str, object]:
    """Run ``code``, which leaves its findings in ``found``; also the modules imported by then."""
    program = f"import json, sys, time\n{code}\nfound['modules'] = sorted(sys.modules)\nprint(json.dumps(found))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_importing_tensorparity_is_quick_and_light() -> None:
    """CPU time, since the machine may be busy with something else."""
    code = "began = time.process_time()\nimport tensorparity\nfound = {'seconds': time.process_time() - began}"
    found = in_a_fresh_process(code)
    top = {name.split(".")[0] for name in found["modules"]}
    assert found["seconds"] < 0.5
    assert not top & (LIBRARIES | {"numpy", "sqlalchemy", "jinja2", "rich", "psutil"})


def test_no_module_of_the_host_brings_a_library_with_it() -> None:
    """Also not through a dependency of ours."""
    names = [".".join(("tensorparity", *path.relative_to(ROOT).with_suffix("").parts)) for path in HOST]
    names = [name.removesuffix(".__init__") for name in names]
    names = [name for name in names if not name.endswith(("__main__", "targets.guardian"))]
    code = f"import importlib\nfor name in {names!r}:\n    importlib.import_module(name)\nfound = {{}}"
    found = in_a_fresh_process(code)
    assert not {name.split(".")[0] for name in found["modules"]} & LIBRARIES
    assert set(names) <= set(found["modules"])


def test_every_public_name_can_be_looked_up() -> None:
    missing = [name for name in tensorparity.__all__ if getattr(tensorparity, name, None) is None]
    assert missing == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tensorparity.nonsense  # noqa: B018


#: What would make an answer depend on anything but the case and its outcomes.
_IMPURE = frozenset(["time", "datetime", "random", "os", "subprocess", "threading", "socket"])


@pytest.mark.parametrize("path", [path for path in MODULES if relative(path).startswith("oracles/")], ids=relative)
def test_oracles_have_no_clock_and_no_process(path: Path) -> None:
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert not imported & _IMPURE
