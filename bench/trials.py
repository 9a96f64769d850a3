"""Tests run on mutants of one module, each in a process of its own.

A mutant is tried in two ways. First in a fork of a process that has imported and collected everything: the code of the
module's functions is exchanged in place, and the tests run at once. Where nothing can be exchanged (the change stands
outside of functions), or where all tests pass (a function may have done its work while the module was imported), it is
tried again in a process that imports the changed module from the beginning. Only who survives that survives.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.abc
import importlib.util
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

#: CPU seconds and bytes after which a mutant counts as noticed.
_SECONDS, _BYTES = 120, 4 << 30
_UNCHANGED = 77

#: Keeps a test or drops it.
Choice = Callable[[pytest.Item], bool]


class Trials:
    """A module, and the tests that are about it.

    Args:
        module: its full name.
        path: its file.
        options: of pytest, files included.
        choice: which of the collected tests are meant.
    """

    def __init__(self, module: str, path: Path, options: Sequence[str], choice: Choice) -> None:
        self._module, self._path, self._options, self._choice = module, path, list(options), choice
        self._tree = ast.parse(path.read_text())

    def survivors(self, mutants: Sequence[ast.Module], jobs: int) -> list[int]:
        """The places of the mutants that no test notices.

        Raises:
            SystemExit: if the tests fail without any mutant, or there are none.
        """
        left = self._in_place(mutants, jobs)
        ended = _each(left, jobs, lambda index: self._from_the_beginning(mutants[index]))
        return [index for index, status in ended.items() if status == 0]

    def _in_place(self, mutants: Sequence[ast.Module], jobs: int) -> list[int]:
        """Those that have to be tried again."""
        reading, writing = os.pipe()

        def run() -> int:
            _silence()
            importlib.import_module(self._module)  # or its functions may not exist yet when they are exchanged
            loop = _Loop(self._choice, lambda session: _tried(session, self._tree, mutants, self._path, jobs))
            pytest.main(self._options, plugins=[loop])
            os.write(writing, json.dumps(loop.found).encode())
            return 0

        _each([0], 1, lambda _: run())
        os.close(writing)
        with os.fdopen(reading) as stream:
            found = json.loads(stream.read() or "null")
        if not found or found[0] != 0:
            raise SystemExit(f"{self._module}: its tests fail, or there are none, without any mutant")
        return [index for index, status in enumerate(found[1:]) if status in (0, _UNCHANGED)]

    def _from_the_beginning(self, mutant: ast.Module) -> int:
        _silence()
        _limit()
        sys.meta_path.insert(0, _Mutated(self._module, self._path, mutant))
        return int(pytest.main(["-x", *self._options], plugins=[_Loop(self._choice, None)]))


class _Loop:
    """Chooses among the collected tests, and may run them in a way of its own."""

    def __init__(self, choice: Choice, run: Callable[[pytest.Session], list[int]] | None) -> None:
        self._choice, self._run = choice, run
        self.found: list[int] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self._choice(item)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if self._run is None:
            return None
        self.found = [] if session.testsfailed or not session.items else self._run(session)
        return True


def _tried(
    session: pytest.Session, tree: ast.Module, mutants: Sequence[ast.Module], path: Path, jobs: int
) -> list[int]:
    """How the tests ended: as the module is, then on each mutant."""
    ended = _each([-1], 1, lambda _: _run_all(session))
    if ended[-1] == 0:
        ended |= _each(range(len(mutants)), jobs, lambda index: _run_on(session, tree, mutants[index], path))
    return [ended[index] for index in sorted(ended)]


def _run_on(session: pytest.Session, tree: ast.Module, mutant: ast.Module, path: Path) -> int:
    _limit()
    return _run_all(session) if _exchange(tree, mutant, path) else _UNCHANGED


def _run_all(session: pytest.Session) -> int:
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


# Processes


def _each(places: Sequence[int], jobs: int, run: Callable[[int], int]) -> dict[int, int]:
    """Run each in a fork, a few at a time; how they ended, by place. A signal is an end like any other."""
    waiting, running, ended = list(places), dict[int, int](), dict[int, int]()
    while waiting or running:
        while waiting and len(running) < jobs:
            place = waiting.pop(0)
            running[_forked(run, place)] = place
        process, status = os.wait()
        ended[running.pop(process)] = os.waitstatus_to_exitcode(status)
    return ended


def _forked(run: Callable[[int], int], place: int) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 3
    try:
        status = run(place)
    finally:
        os._exit(status)


def _silence() -> None:
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))


# Mutants in the place of modules


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module the text of a mutant when it is imported."""

    def __init__(self, module: str, path: Path, mutant: ast.Module) -> None:
        self._module, self._path, self._mutant = module, path, mutant

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_file_location(name, self._path, loader=self) if name == self._module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant, str(self._path), "exec"), module.__dict__)


def _exchange(tree: ast.Module, mutant: ast.Module, path: Path) -> bool:
    """Give the functions that exist the code of the mutant; whether there was something to exchange."""
    codes = dict(_changed(compile(tree, str(path), "exec"), compile(mutant, str(path), "exec")))
    exchanged = False
    for function in [item for item in gc.get_objects() if isinstance(item, FunctionType)]:
        code = codes.get(function.__code__)
        if code is None:
            continue
        if len(code.co_freevars) != len(function.__code__.co_freevars):
            return False
        function.__code__ = code
        exchanged = True
    return exchanged


def _changed(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Functions inside of a function, before and after; where one is gone with a dropped term, the outer one counts."""
    if len(_inner(old)) != len(_inner(new)):
        return
    for before, after in zip(_inner(old), _inner(new), strict=True):
        if before != after:
            yield before, after
            yield from _changed(before, after)


def _inner(code: CodeType) -> list[CodeType]:
    return [item for item in code.co_consts if isinstance(item, CodeType)]
