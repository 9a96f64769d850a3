"""The local runner: targets to plans, cases to requests, replies to outcomes."""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import platformdirs

from ..core.arrays import Arrays
from ..core.case import Case, ModelFile
from ..core.errors import UsageError, WorkerStartError
from ..core.machine_settings import THREAD_VARIABLES
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.runner import Runner
from ..core.time_limit import TimeLimit
from .begun import BegunCases, nobody
from .cache import CachedRunner, OutcomeCache, drop_unused
from .catalogue import TargetSpec, install_hint, spec_of
from .describing import describing_request
from .environments import (
    Environment,
    adapter_of,
    base_variables,
    cpu_features,
    find_environment,
    installed_libraries,
    inventory,
)
from .faults import Fault
from .hanging import HangMemory, parts_of
from .limits import WorkerLimits
from .lowering import lower
from .names import TargetName, parse_target
from .pack_memory import PackMemory
from .packing import Packed, packs_of, run_packs
from .pool import Pool
from .process import WORKER_FOLDER, Launch
from .reading import reading_request
from .replies import unsupported_outcome
from .requests import Reply, Request, WorkerPlan

#: Where each operation was written down is of no use to anybody here, and takes JAX a tenth of its time to note.
_NOWHERE = {"JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0"}
_ALWAYS = {"TF_CPP_MIN_LOG_LEVEL": "2", "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "-1", **_NOWHERE}


@dataclass(frozen=True)
class RunnerSettings:
    """Everything a runner is told once.

    Args:
        imports: modules each worker imports after the library (custom layers).
        import_paths: where to look for them.
        trust: model files may run code of their own.
        cache: folder of the outcome and compiler caches; None switches both off.
        lines: a package whose executed Python lines each worker records; makes everything slower.
        time_limit: when whatever is under way is ended.
    """

    limits: WorkerLimits = field(default_factory=WorkerLimits)
    workers: int | None = None
    faults: Mapping[str, Fault] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    import_paths: tuple[str, ...] = ()
    trust: bool = False
    cache: Path | None = None
    config: Path | None = None
    lines: str = ""
    time_limit: TimeLimit = field(default_factory=TimeLimit, compare=False)


def default_cache() -> Path:
    return Path(platformdirs.user_cache_dir("tensorparity"))


@functools.cache
def worker_code_digest() -> str:
    """Of everything that decides what a worker does with a case; lowering uses the catalogue, too."""
    state = hashlib.sha256()
    package = Path(__file__).parents[1]
    for folder in (WORKER_FOLDER, package / "targets" / "lowering", package / "core", package / "operators"):
        for path in sorted(folder.rglob("*.py")):
            state.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


def _file_digest(path: str) -> str:
    """Of a third party's adapter, which is worker code like ours."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class PreparedTarget:
    """A target made ready: its name, its entry in the table (or ``spec``), its environment and fault."""

    def __init__(self, name: TargetName, settings: RunnerSettings, spec: TargetSpec | None = None) -> None:
        self.name = name
        self.spec: TargetSpec = spec or spec_of(name)
        self.environment: Environment = find_environment(name.environment, settings.config)
        self.fault = settings.faults.get(str(name))
        self._settings = settings

    @functools.cached_property
    def circumstances(self) -> str:
        """All that an outcome depends on besides the case."""
        return json.dumps(
            [
                str(self.name),
                inventory(self.environment).fingerprint(),
                installed_libraries(self.environment, self.spec).digest,
                sorted({**_inherited_variables(), **self._variables()}.items()),
                cpu_features(),
                worker_code_digest(),
                _file_digest(self.adapter) if self.adapter.endswith(".py") else None,
                self.fault.digest if self.fault else None,
                self._settings.trust,
            ]
        )

    @functools.cached_property
    def adapter(self) -> str:
        """The adapter for what the environment holds: a module's name, or a file.

        Raises:
            UsageError: if there is none for it.
        """
        if isinstance(self.spec.adapter, str):
            return self.spec.adapter
        return adapter_of(self.spec, inventory(self.environment), self.name.environment)

    @functools.cached_property
    def accountable(self) -> bool:
        """Whether the circumstances tell the whole truth: not of libraries that somebody is working on."""
        return "PYTHONPATH" not in self._variables() and not installed_libraries(self.environment, self.spec).loose

    def limited(self, limit: TimeLimit) -> PreparedTarget:
        """The same with another end."""
        return PreparedTarget(self.name, replace(self._settings, time_limit=limit), self.spec)

    @property
    def time_limit(self) -> TimeLimit:
        return self._settings.time_limit

    @property
    def import_variables(self) -> dict[str, str]:
        """What lets a script import the user's modules, where the run has any."""
        settings = self._settings
        if not settings.imports:
            return {}
        given = [*settings.import_paths, self._variables().get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(path for path in given if path)}

    def plan(self, *, fresh: bool = False) -> WorkerPlan:
        settings = self._settings
        launch = Launch(
            python=self.environment.python,
            variables={**base_variables(), **self._variables(), **({} if fresh else self._compiler_caches())},
            file_bytes=settings.limits.file_bytes,
            frame_bytes=settings.limits.frame_bytes,
        )
        start: dict[str, Any] = {
            "do": "start",
            "target": str(self.name),
            "adapter": self.adapter,
            "flavour": self.name.flavour,
            "options": self.name.options,
            "imports": list(settings.imports),
            "import_paths": list(settings.import_paths),
            "hint": self._hint(),
        }
        if settings.lines and not fresh:
            start["lines"] = settings.lines
        if self.fault:
            start["fault"] = {"name": self.fault.name, "source": self.fault.source}
            start["fault_name"] = self.fault.name
        return WorkerPlan(str(self.name), launch, start)

    def _hint(self) -> str:
        """How to get the libraries; another environment needs them alone, and may be too old for our package."""
        if not self.name.environment:
            return install_hint(self.spec)
        return f"{self.environment.python} -m pip install -U {' '.join(self.spec.distributions)}"

    def _variables(self) -> dict[str, str]:
        threads = self.name.options.get("threads", "1")
        if not threads.isdigit() or int(threads) < 1:
            raise UsageError(f"threads={threads!r} in {self.name} is not a positive number")
        return {
            **_ALWAYS,
            **dict.fromkeys(THREAD_VARIABLES, threads),  # the adapters pin the rest by call
            **self.spec.environment,
            **self.environment.variables,
            **self.name.environment_variables,
        }

    def _compiler_caches(self) -> dict[str, str]:
        """Folders of their own per environment, settings and fault."""
        if self._settings.cache is None or self._settings.imports or not self.accountable:
            return {}
        folder = self._settings.cache / "compilers" / hashlib.sha256(self.circumstances.encode()).hexdigest()[:24]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)  # it is used: see drop_unused
        except OSError:
            return {}
        return {
            "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        }


def _inherited_variables() -> dict[str, str]:
    """What a worker gets from us that may change an outcome; PATH names programs, and differs in every shell."""
    return {name: value for name, value in base_variables().items() if name != "PATH"}


class LocalRunner:
    """Runs cases in worker processes on this machine; close it, or use it in a ``with``."""

    def __init__(self, desks: Sequence[PreparedTarget], settings: RunnerSettings) -> None:
        self._desks = {str(desk.name): desk for desk in desks}
        self._settings = settings
        #: What hangs on which target; fresh workers know nothing of it.
        self.hanging = HangMemory()
        #: Whether it answers from that memory, and keeps it.
        self._spares = True
        #: What is known of calls that are compiled together.
        self.packing = PackMemory()
        self._pool = self._new_pool(desks, fresh=False)
        #: Fresh workers that several steps share; None where each step has its own.
        self._shared: contextlib.ExitStack | None = None
        self._shared_pool: Pool | None = None
        #: Targets whose worker could not be started, and why; what happens in fresh workers is an outcome only.
        self.broken: dict[str, WorkerStartError] = {}

    def _new_pool(self, desks: Iterable[PreparedTarget], *, fresh: bool) -> Pool:
        plans = {str(desk.name): desk.plan(fresh=fresh) for desk in desks}
        counted = bool(self._settings.lines)  # a worker knows its own lines only
        hanging = None if fresh else self.hanging
        return Pool(
            plans,
            self._settings.limits,
            self._settings.workers,
            grow=not counted,
            sparing=fresh,
            hanging=hanging,
            time_limit=self._settings.time_limit,
        )

    def within(self, limit: TimeLimit) -> LocalRunner:
        """The same workers; what is run in fresh ones ends by a limit of its own."""
        other = copy.copy(self)
        other._shared = other._shared_pool = None
        other._settings = replace(self._settings, time_limit=limit)
        return other

    def asking_all(self) -> LocalRunner:
        """The same workers, which are asked also what is known to hang."""
        other = copy.copy(self)
        other._shared = other._shared_pool = None
        other._spares = False
        return other

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._pool.close()

    @property
    def targets(self) -> Sequence[str]:
        return tuple(self._desks)

    @property
    def settings(self) -> RunnerSettings:
        return self._settings

    @property
    def cpu_seconds(self) -> Mapping[str, float]:
        """What the workers of each target have cost so far."""
        return self._pool.cpu_seconds

    @property
    def pool(self) -> Pool:
        return self._pool

    def desk(self, target: str) -> PreparedTarget:
        return self._desks[target]

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        tell = on_outcome or nobody
        if not fresh and deadline_factor == 1.0:
            return self._begin_packed(pairs, background=False).outcomes(tell)
        if not fresh:
            return self._begin(self._pool, pairs, deadline_factor).outcomes(tell)
        desks = [self._desks[name] for name in dict.fromkeys(target for _, target in pairs)]
        # what is only waited for, with much patience, leaves the machine to others
        held = self._pool.holding_back() if deadline_factor == 1.0 else contextlib.nullcontext()
        with held, self._fresh_pool(desks) as pool:
            return self._begin(pool, pairs, deadline_factor).outcomes(tell)

    @contextlib.contextmanager
    def one_fresh_set(self) -> Iterator[None]:
        """Within it, all that is run fresh is run in the same fresh workers: what is confirmed takes several steps."""
        if self._shared is not None:
            yield
            return
        with contextlib.ExitStack() as self._shared:
            try:
                yield
            finally:
                self._shared = self._shared_pool = None

    def _fresh_pool(self, desks: Sequence[PreparedTarget]) -> contextlib.AbstractContextManager[Pool]:
        if self._shared is None:
            return self._new_pool(desks, fresh=True)
        if self._shared_pool is None:
            self._shared_pool = self._shared.enter_context(self._new_pool(self._desks.values(), fresh=True))
        return contextlib.nullcontext(self._shared_pool)

    def run_packs(self, packs: Sequence[tuple[Sequence[Case], str]]) -> list[list[Outcome]]:
        """Packs of calls, each compiled as one unit by its target; one that fails is halved, down to single cases."""
        return run_packs(packs, self.prepare, self._pool, self._run_single, self.packing)

    def companions(self, case: Case, target: str) -> tuple[Case, ...]:
        """The calls that a case was last compiled with, itself included; none where it was run by itself."""
        return self.packing.companions(case, target)

    def _run_single(self, pairs: Sequence[tuple[Case, str]]) -> list[Outcome]:
        """Each case by itself, also where a compiler would take them together."""
        return self._begin(self._pool, pairs, 1.0).outcomes()

    def _begin_packed(self, pairs: Sequence[tuple[Case, str]], *, background: bool) -> BegunCases | Packed:
        """Calls that are compiled go in packs, for compiling one takes as long as compiling many."""
        groups = packs_of(pairs, lambda target: self._desks[target].spec.traits.compiled, self.packing)

        def begin(single: Sequence[tuple[Case, str]]) -> BegunCases:
            return self._begin(self._pool, single, 1.0, background=background)

        if not groups:
            return begin(pairs)
        return Packed(pairs, groups, begin, self.run_packs, self._run_single, self.packing)

    def ask(self, target: str, header: Mapping[str, Any], arrays: Arrays, cpu_seconds: float) -> Reply:
        """A request that is not a case (importing a model, training); the reply as it is.

        Raises:
            WorkerStartError: if the worker cannot be started.
        """
        request = Request(target, header, arrays, cpu_seconds)
        _, reply = next(iter(list(self._pool.ask([request]))))
        if reply.error:
            raise reply.error
        return reply

    def begin_pairs(self, pairs: Sequence[tuple[Case, str]]) -> BegunCases | Packed:
        """Send cases out and return at once; whatever is asked in the meantime goes first."""
        return self._begin_packed(pairs, background=True)

    def _begin(
        self, pool: Pool, pairs: Sequence[tuple[Case, str]], deadline_factor: float, *, background: bool = False
    ) -> BegunCases:
        prepared = [self.prepare(case, target, deadline_factor) for case, target in pairs]
        return BegunCases(pool, prepared, self.broken if pool is self._pool else {}, background=background)

    def prepare(self, case: Case, target: str, deadline_factor: float = 1.0) -> Request | Outcome:
        """The request of a case; or the outcome, if the target need not even be asked."""
        if case.procedure.goal is Goal.LAYERS:
            return reading_request(case, target, trust=self._settings.trust, deadline_factor=deadline_factor)
        if case.procedure.goal in (Goal.APIS, Goal.SAMPLES):
            return describing_request(case, target, deadline_factor)
        traits = self._desks[target].spec.traits
        if isinstance(case.subject, ModelFile) and traits.reads and case.subject.format not in traits.reads:
            return unsupported_outcome(target, f"it reads no .{case.subject.format} files")
        arrays: Arrays = case.arrays()
        header: dict[str, Any] = {**case.header(), "trust": self._settings.trust}
        lowered = lower(traits.lowering, case, traits.calls)
        if isinstance(lowered, str):
            return unsupported_outcome(target, lowered)
        if lowered is not None:
            header["subject"], arrays = lowered
        cpu = self._settings.limits.cpu_seconds * deadline_factor
        # who asks with another patience wants to know how it ends
        parts = parts_of(case) if self._spares and deadline_factor == 1.0 else {}
        return Request(target, {"do": "run", "case": header}, arrays, cpu, parts)


def open_runner(targets: Iterable[str], settings: RunnerSettings | None = None) -> LocalRunner:
    """A runner for these targets; nothing is started until the first case.

    Raises:
        UsageError: for an unknown target, environment or fault target.
    """
    settings = settings or RunnerSettings()
    names = [parse_target(text) for text in targets]
    canonical = [str(name) for name in names]
    for name in canonical:
        if canonical.count(name) > 1:
            raise UsageError(f"target {name} is given twice")
    for name in settings.faults:
        if name not in canonical:
            raise UsageError(f"--fault names {name}, which is not among the targets {', '.join(canonical)}")
    return LocalRunner([PreparedTarget(name, settings) for name in names], settings)


def with_cache(runner: LocalRunner, settings: RunnerSettings) -> Runner:
    """The runner behind the outcome cache, unless there is none or custom code makes it unsafe."""
    if settings.cache is None or settings.imports:
        return runner
    drop_unused(settings.cache / "compilers")
    cache = OutcomeCache(settings.cache / "outcomes")
    return CachedRunner(runner, cache, lambda target: _circumstances(runner.desk(target)))


def _circumstances(desk: PreparedTarget) -> str | None:
    return desk.circumstances if desk.accountable else None


def user_import_paths() -> tuple[str, ...]:
    """Where a user's own modules are looked for: the folder they are in."""
    return tuple(path for path in (str(Path.cwd()),) if path not in sys.path[1:])
