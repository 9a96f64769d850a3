"""Every trophy's script under every setting that matters: ``python trophies/run_all.py`` writes ``settings.md``.

``python trophies/run_all.py NAME...`` runs these alone and leaves the other rows as they stand; rows of scripts that
are gone are dropped. It exits with 1 where a script neither shows its defect nor says why it cannot.

A setting is tried where it is read: the first run looks which shared libraries the process (and its children) maps, and
a variable that none of them contains is not tried again. A library is imported once for all scripts that begin with the
same imports, under each setting, and every script runs in a process forked from there. What does not end with 1 there,
sets variables of its own or starts processes is run by itself, as a reader would run it; ``--fresh`` runs all so.
"""

from __future__ import annotations

import argparse
import ast
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import BinaryIO

HERE = Path(__file__).parent
PAGE = "settings.md"

#: What each variable is tried at; None: not set. The first of each is what the first run has.
TRIED: dict[str, tuple[str | None, ...]] = {
    "TF_ENABLE_ONEDNN_OPTS": ("1", "0"),
    "ONEDNN_MAX_CPU_ISA": (None, "AVX2"),
}
#: oneDNN puts its prefix before the name when it asks.
WRITTEN = {"TF_ENABLE_ONEDNN_OPTS": b"TF_ENABLE_ONEDNN_OPTS", "ONEDNN_MAX_CPU_ISA": b"MAX_CPU_ISA"}
COLUMNS = [(onednn, isa) for onednn in TRIED["TF_ENABLE_ONEDNN_OPTS"] for isa in TRIED["ONEDNN_MAX_CPU_ISA"]]

SHOWS, SKIPPED = "1", "77"
#: In a cell: not run, since nothing that the script loads reads the variable.
SAME = "="
FEW_SKIPPED = 7

_LIBRARIES = ("keras", "tensorflow", "torch", "jax", "onnxruntime", "openvino", "onnx", "tf2onnx")
_USED = re.compile(rf"(?:\bimport |\bfrom |, |KERAS_BACKEND\W+)({'|'.join(_LIBRARIES)})\b")
_BACKEND = re.compile(r"KERAS_BACKEND\W+(\w+)")
#: Variables that may be set after the library was imported by somebody else: the backend is the same there.
_HARMLESS = re.compile(r"KERAS_BACKEND|TF_CPP_MIN_LOG_LEVEL|CUDA_VISIBLE_DEVICES")
_ROW = re.compile(r"^\| \[[^\]]+\]\(([^)]+)\) \| (.*) \|$", re.M)

#: A process that imports what it is told and forks for every script; it answers with how the child ended.
NEST = """
import gc, importlib, json, os, runpy, signal, sys, time, traceback
modules, asked, answers = sys.argv[1].split(","), os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for module in filter(None, modules):
    importlib.import_module(module)
gc.freeze()
def child(task):
    os.setsid()
    os.chdir(task["folder"])
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(os.path.join(task["folder"], name), os.O_WRONLY | os.O_CREAT), descriptor)
    sys.argv[:], code = [task["script"]], 0
    try:
        runpy.run_path(task["script"], run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
def mapped_by(pid):
    try:
        return {row.split(None, 5)[-1].strip() for row in open(f"/proc/{pid}/maps") if ".so" in row}
    except OSError:
        return set()
for line in asked:
    task = json.loads(line)
    pid = os.fork()
    if not pid:
        child(task)
    limit, ended, mapped = time.monotonic() + task["timeout"], 0, set(mapped_by("self"))
    while not ended:
        time.sleep(0.05)
        mapped |= mapped_by(pid)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended and time.monotonic() > limit:
            os.killpg(pid, signal.SIGKILL)
    print(json.dumps({"code": os.waitstatus_to_exitcode(status), "mapped": sorted(mapped)}), file=answers, flush=True)
"""


@dataclass(frozen=True)
class Ended:
    """How one run ended: its code or what took its place, the last line it printed, and what it had mapped."""

    code: str
    said: str = ""
    mapped: frozenset[str] = frozenset()


@dataclass
class Row:
    """One script: a code per column, the versions of what it uses, and the reason where it was skipped."""

    script: str
    codes: list[str]
    versions: str = ""
    reason: str = ""
    trouble: list[str] = field(default_factory=list, compare=False)

    @property
    def stands(self) -> bool:
        return all(code in (SHOWS, SKIPPED, SAME) for code in self.codes)

    def line(self) -> str:
        cells = [f"[{_name_of(self.script)}]({self.script})", *self.codes, self.versions, self.reason]
        return f"| {' | '.join(cells)} |"


def _name_of(script: str) -> str:
    folder, _, name = script.partition("/")
    return folder if name == "reproduce.py" else script.removesuffix(".py")


def scripts_of(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.glob("*/*.py") if path.parent.name[0] not in "_.")


# --- one run -----------------------------------------------------------------------------------


def _environment(column: Sequence[str | None], backend: str = "") -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if name not in (*TRIED, "KERAS_BACKEND")}
    found |= {name: value for name, value in zip(TRIED, column, strict=True) if value is not None}
    return found | ({"KERAS_BACKEND": backend} if backend else {})


def run_alone(script: Path, column: Sequence[str | None], timeout: float) -> Ended:
    """As a reader runs it, in a process group of its own and an empty folder."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = [sys.executable, str(script.resolve())]
        streams: dict[str, BinaryIO] = {"stdout": out, "stderr": err}  # type: ignore[dict-item]
        process = subprocess.Popen(command, cwd=folder, env=_environment(column), start_new_session=True, **streams)
        mapped = _watch(process, timeout)
        return _ended(process.returncode, *(_text_of(file) for file in streams.values()), mapped)


def _text_of(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _ended(code: int, printed: str, complained: str, mapped: Iterable[str]) -> Ended:
    last = (printed.strip().splitlines() or [""])[-1]
    if code == int(SHOWS) and "Traceback" in complained:
        return Ended("raises", complained.strip().splitlines()[-1], frozenset(mapped))
    return Ended(str(code) if code >= 0 else signal.Signals(-code).name, last, frozenset(mapped))


def _watch(process: subprocess.Popen[bytes], timeout: float) -> set[str]:
    """What it mapped until it ended, or had to be ended."""
    mapped: set[str] = set()
    limit = time.monotonic() + timeout
    while process.poll() is None:
        if time.monotonic() > limit:
            os.killpg(process.pid, signal.SIGKILL)
        for pid in _tree(process.pid):
            mapped |= _mapped_by(pid)
        time.sleep(0.1)
    return mapped


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _tree(int(child))


def _mapped_by(pid: int) -> set[str]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return set()
    return {path for line in lines if ".so" in line and (path := line.split(maxsplit=5)[-1]).startswith("/")}


# --- many that begin alike ----------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """What scripts begin with: a backend of Keras, and the libraries they import; nothing for one that runs alone."""

    backend: str = ""
    modules: tuple[str, ...] = ()


def start_of(text: str) -> Start:
    """How the script begins, if it may begin in a process that has imported its libraries already."""
    own = [line for line in text.splitlines() if "environ[" in line or "environ." in line]
    if "subprocess" in text or any(not name for line in own for name in [_HARMLESS.search(line)]):
        return Start()
    imported = [node for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [alias.name for node in imported if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in imported if isinstance(node, ast.ImportFrom) and node.module]
    modules = tuple(sorted({name.partition(".")[0] for name in names} & {*_LIBRARIES}))
    backend = _BACKEND.search(text)
    return Start(backend[1] if backend else "", modules)


class Nest:
    """Runs scripts in forks of a process that has imported their libraries."""

    def __init__(self, start: Start, column: Sequence[str | None]) -> None:
        environment = _environment(column, start.backend)
        command = [sys.executable, "-c", NEST, ",".join(start.modules)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, env=environment, start_new_session=True, text=True, **pipes)

    def run(self, script: Path, timeout: float) -> Ended | None:
        """None where the nest itself is gone."""
        with tempfile.TemporaryDirectory() as folder:
            task = {"script": str(script.resolve()), "folder": folder, "timeout": timeout}
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            try:
                print(json.dumps(task), file=self._process.stdin, flush=True)
                answer = json.loads(self._process.stdout.readline())
            except (OSError, ValueError):
                return None
            out, err = (Path(folder, name).read_text(errors="replace") for name in ("out", "err"))
            return _ended(answer["code"], out, err, answer["mapped"])

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


# --- which columns -------------------------------------------------------------------------------


@cache
def _contains(path: str, word: bytes) -> bool:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(word) >= 0
    except (OSError, ValueError):
        return False


def read_by(mapped: Iterable[str]) -> set[str]:
    """The variables that one of these libraries reads; all where nothing is known of what was mapped."""
    paths = sorted(mapped)
    return {name for name, word in WRITTEN.items() if not paths or any(_contains(path, word) for path in paths)}


def concerns(column: Sequence[str | None], read: set[str]) -> bool:
    """Whether a column differs from the first in a variable that is read."""
    return all(value == TRIED[name][0] or name in read for name, value in zip(TRIED, column, strict=True))


def try_scripts(root: Path, start: Start, scripts: Sequence[str], timeout: float) -> list[Row]:
    """Scripts that begin alike, in every column that concerns them; the first says which do."""
    rows = {script: Row(script, [], _versions((root / script).read_text(encoding="utf-8"))) for script in scripts}
    read = {script: set(TRIED) for script in scripts}
    for column in COLUMNS:
        wanted = [script for script in scripts if concerns(column, read[script])]
        nest = Nest(start, column) if start.modules and wanted else None
        for script in scripts:
            if script not in wanted:
                rows[script].codes.append(SAME)
                continue
            ended = nest.run(root / script, timeout) if nest else None
            if ended is None or ended.code != SHOWS:
                ended = run_alone(root / script, column, timeout)
            read[script] = read_by(ended.mapped) if column == COLUMNS[0] else read[script]
            _note(rows[script], column, ended)
        if nest:
            nest.close()
    return list(rows.values())


def _note(row: Row, column: Sequence[str | None], ended: Ended) -> None:
    row.codes.append(ended.code)
    if ended.code == SKIPPED:
        row.reason = ended.said
    elif ended.code != SHOWS:
        row.trouble.append(f"{row.script} {column}: {ended.code}: {ended.said}")


def _versions(text: str) -> str:
    """Of the libraries that it names where it imports, and of the backend it asks for."""
    used = dict.fromkeys(_USED.findall(text))
    return ", ".join(f"{name} {_version(name)}" for name in used)


def _version(name: str) -> str:
    for distribution in (name, f"{name}-cpu"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "missing"


# --- the page ------------------------------------------------------------------------------------


def read_page(text: str) -> dict[str, Row]:
    """The rows of the table as it stands."""
    rows: dict[str, Row] = {}
    for script, cells in _ROW.findall(text):
        *codes, versions, reason = (cell.strip() for cell in cells.split(" | "))
        rows[script] = Row(script, codes, versions, reason)
    return rows


def page_of(rows: Sequence[Row]) -> str:
    named = [f"oneDNN {onednn}, {isa or 'default'}" for onednn, isa in COLUMNS]
    skipped = sum(SKIPPED in row.codes for row in rows)
    lines = [
        "# The trophies under every setting",
        "",
        f"{len(rows)} scripts, {skipped} of them skipped somewhere. Made by `make trophies`, which runs them all.",
        "",
        "The columns are `TF_ENABLE_ONEDNN_OPTS` 1 and 0, each with `ONEDNN_MAX_CPU_ISA` not set and AVX2. A cell has",
        "the exit code of the script: 1, the defect shows; 77, skipped, with the reason; 0 would say that it is gone.",
        "`=` stands where no shared library that the process maps has the variable's name in it: it cannot matter.",
        "",
        f"| script | {' | '.join(named)} | versions | reason |",
        f"|{' --- |' * (len(named) + 3)}",
        *(row.line() for row in rows),
    ]
    return "\n".join(lines) + "\n"


def problems(root: Path, rows: Mapping[str, Row]) -> list[str]:
    """Where table and folders do not agree, and what the table may not say."""
    scripts = scripts_of(root)
    found = [f"{script}: not in the table" for script in scripts if script not in rows]
    found += [f"{script}: in the table alone" for script in rows if script not in scripts]
    found += [f"{row.script}: {' '.join(row.codes)}" for row in rows.values() if not row.stands]
    skipped = [row for row in rows.values() if SKIPPED in row.codes]
    found += [f"{row.script}: skipped for no reason" for row in skipped if not row.reason]
    return found + ([f"{len(skipped)} are skipped, at most {FEW_SKIPPED} may be"] if len(skipped) > FEW_SKIPPED else [])


# --- the command ---------------------------------------------------------------------------------


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="folders of trophies; all if none is named")
    parser.add_argument("--root", type=Path, default=HERE, help="the folder of the trophies")
    parser.add_argument("--jobs", type=int, default=2, help="scripts side by side")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one run")
    parser.add_argument("--fresh", action="store_true", help="import anew for every script")
    parser.add_argument("--check", action="store_true", help="run nothing; exit 1 where page and folders do not agree")
    return parser.parse_args()


def _groups(root: Path, scripts: Sequence[str], fresh: bool) -> list[tuple[Start, list[str]]]:
    """Those that begin alike together, the largest first."""
    found: dict[tuple[Start, str], list[str]] = {}
    for script in scripts:
        start = Start() if fresh else start_of((root / script).read_text(encoding="utf-8"))
        found.setdefault((start, "" if start.modules else script), []).append(script)
    return sorted(((start, members) for (start, _), members in found.items()), key=lambda group: -len(group[1]))


def _run(options: argparse.Namespace, page: Path, rows: dict[str, Row]) -> None:
    scripts = scripts_of(options.root)
    wanted = [script for script in scripts if not options.names or script.split("/")[0] in options.names]
    began = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        groups = _groups(options.root, wanted, options.fresh)
        running = [pool.submit(try_scripts, options.root, *group, options.timeout) for group in groups]
        for done in as_completed(running):
            for row in done.result():
                rows[row.script] = row
                told = [f"{time.monotonic() - began:6.0f} s  {' '.join(row.codes)}  {row.script}", *row.trouble]
                print(*told, sep="\n          ", file=sys.stderr, flush=True)
            page.write_text(page_of([rows[script] for script in scripts if script in rows]), encoding="utf-8")
    for gone in set(rows) - set(scripts):
        del rows[gone]


def main() -> int:
    options = _options()
    page: Path = options.root / PAGE
    rows = read_page(page.read_text(encoding="utf-8")) if page.is_file() else {}
    if not options.check:
        _run(options, page, rows)
    found = problems(options.root, rows)
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
