"""First code of a worker, given to the interpreter with ``-c``: nothing of the environment is imported yet.

Usage: python -c SOURCE FOLDER READ_FD WRITE_FD

It moves the protocol's descriptors out of the way of the library, points standard output at standard
error, and loads this folder as the package ``tensorparity_worker``. The folder itself never is on
``sys.path``: an adapter's file must not shadow the library it adapts.
"""

import fcntl
import importlib.util
import os
import sys

_HIGH = 200  # far from anything a library opens or guesses


def _take(fd):
    """Move a descriptor up; children of the worker do not inherit it."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    os.close(fd)
    return moved


def _load_package(folder):
    name = "tensorparity_worker"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return importlib.import_module(name + ".server")


def _start():
    folder, read_fd, write_fd = sys.argv[1], _take(int(sys.argv[2])), _take(int(sys.argv[3]))
    os.dup2(2, 1)
    sys.path[:] = [entry for entry in sys.path if entry]  # ``-c`` puts the working folder first
    sys.argv[:] = ["tensorparity-worker"]
    _load_package(folder).serve(read_fd, write_fd)


if __name__ == "__main__":
    _start()
