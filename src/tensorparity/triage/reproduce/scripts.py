"""Reproducers: rendered for the suspect's family, then executed in a fresh process before anybody is shown one."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ...core.case import ApiCall, Case, ModelFile
from ...core.finding import Diagnosis
from ...core.graph import LayerGraph
from ...core.outcome import Outcome
from ...core.procedure import Goal
from ...core.suspicion import Suspicion
from ...core.time_limit import TimeLimit
from ...core.traits import Traits
from ...core.verdict import Kind
from ...oracles.declared_valid import DECLARED_VALID
from ...oracles.documentation import suspecting_documentation
from ...oracles.kinds import particular_oracle
from ...oracles.measure.export_failures import export_form
from ...oracles.plain_call import PLAIN_CALL
from ...reporting import words
from ...store.casefile import SUFFIX, CaseFile, write_case
from ...targets.names import parse_target
from ...targets.runner import LocalRunner, PreparedTarget, RunnerSettings
from .attachments import HERE, Attachment, AttachmentFolder
from .claim import Claim
from .draft import draft
from .equivalence_scripts import equivalence_script, plain_script
from .expectations import claim_of
from .export_scripts import export_script
from .file_scripts import FileScript
from .literals import Unprintable
from .replay_script import replay_text
from .script import Reproducer, assemble
from .writers import ScriptRequest, is_foreign, write_file_parts, write_parts

_SECONDS = 300.0
#: Exit codes of a script, and what they say.
SHOWS, FIXED = 1, 0
_NO_END = "no end"
#: What a script says before it ends with 1.
_OBSERVED = "observed"

#: Executes a fault in the process first, and then the script as if it were run alone.
_WITH_FAULT = """
import runpy, sys
sys.path[:] = [folder for folder in sys.path if folder]
library, fault, target, script = sys.argv[1:5]
sys.argv[:] = [script, *sys.argv[5:]]
__import__(library)
with open(fault) as file:
    exec(compile(file.read(), fault, "exec"), {"__name__": "tensorparity_fault", "__file__": fault, "TARGET": target})
runpy.run_path(script, run_name="__main__")
"""


class Desks(Protocol):
    """What scripts have to know of a runner."""

    @property
    def settings(self) -> RunnerSettings: ...

    def desk(self, target: str) -> PreparedTarget: ...


@dataclass(frozen=True)
class OutOfTime:
    """A runner for which the time is used up: scripts are written, and none is executed."""

    runner: LocalRunner

    @property
    def settings(self) -> RunnerSettings:
        return self.runner.settings

    def desk(self, target: str) -> PreparedTarget:
        return self.runner.desk(target).limited(TimeLimit(-math.inf))


@dataclass(frozen=True)
class Reproduced:
    """What came of rendering: the script (without text where there is none to be had) and the draft of a report.

    Args:
        case: the one that the script shows, where that is not the suspicion's own.
    """

    script: Reproducer
    draft: str
    case: Case | None = None


def reproduce(runner: Desks, suspicion: Suspicion, outcomes: Mapping[str, Outcome], traits: Traits) -> Reproduced:
    """A script for the first suspect that can be run here, verified if it could be, and a report around it.

    Args:
        outcomes: of the suspicion's own case, by target.
    """
    suspect = _runnable(suspicion, outcomes, traits)
    claim = claim_of(suspicion, outcomes, suspect) if suspect else None
    script = _script(runner, suspicion, suspect, claim, outcomes, traits)
    records = {target: outcome.record for target, outcome in outcomes.items()}
    name = suspect or ", ".join(suspicion.diagnosis.suspects)
    said = _told_upstream(suspecting_documentation(suspicion))
    report = draft(
        title_of(suspicion, _spoken_of(suspicion, suspect)), name, suspicion, claim, script, records, said, traits[name]
    )
    return Reproduced(script, report)


#: How a case was found to be small is nothing that they need to know who get the small one.
_OURS = frozenset({"reduced"})


def _told_upstream(diagnosis: Diagnosis) -> tuple[str, ...]:
    return tuple(words.sentence(item) for item in diagnosis.observations if item.code not in _OURS)


def _spoken_of(suspicion: Suspicion, suspect: str | None) -> str:
    """The suspect that is run here; nobody where it is code that several targets share: all of them are meant."""
    suspects = suspicion.diagnosis.suspects
    return suspect if suspect in suspects else "" if suspect else ", ".join(suspects)


def _script(
    runner: Desks,
    suspicion: Suspicion,
    suspect: str | None,
    claim: Claim | None,
    outcomes: Mapping[str, Outcome],
    traits: Traits,
) -> Reproducer:
    if suspect is None:
        return Reproducer("", remark="no suspect is a target that a script could run")
    if not traits[suspect].script_writer:
        return _replaying(runner, suspicion, suspect)
    if suspicion.case.counterpart is not None and isinstance(suspicion.case.subject, ApiCall):
        return _two_sides(runner, suspicion, suspect)
    if suspicion.oracle in (PLAIN_CALL, DECLARED_VALID):
        return _one_side(runner, suspicion, suspect)
    if export_form(suspicion.case):
        return _exported(runner, suspicion, suspect)
    if claim is None and _is_replayed_forward(suspicion):
        return _replaying(runner, suspicion, suspect)
    if claim is None and suspicion.kind not in (Kind.ERROR, Kind.CRASH, Kind.HANG, Kind.ACCEPTS_INVALID):
        if particular_oracle(suspicion):
            return _replaying(runner, suspicion, suspect)  # who convicted knows what is expected
        return Reproducer("", remark="neither a reference nor another target says what the answer should be")
    desktop = AttachmentFolder()
    try:
        if isinstance(suspicion.case.subject, ModelFile):
            how = file_script(runner, suspicion, claim, outcomes.get(suspect))
            text = render_file(suspicion, suspect, claim, traits, how, desktop)
        else:
            text = render(suspicion, suspect, claim, traits)
    except Unprintable as reason:
        if is_foreign(traits[suspect]):
            return _replaying(runner, suspicion, suspect)
        return Reproducer("", remark=f"no short script: {reason}")
    except KeyError as missing:
        return Reproducer("", remark=f"no script: the case has no {missing}")
    return verify(text, runner.desk(suspect), tuple(desktop.files.values()))


def _is_replayed_forward(suspicion: Suspicion) -> bool:
    """A layer of a graph that is accused as it is run in a model, and not as users run it alone."""
    case = suspicion.case
    return isinstance(case.subject, LayerGraph) and case.procedure.goal is Goal.REPLAY and not case.cotangents


def _exported(runner: Desks, suspicion: Suspicion, suspect: str) -> Reproducer:
    """A script that exports the model; around the case file where that takes too many words."""
    try:
        text = export_script(title_of(suspicion, suspect) + ".", suspicion, parse_target(suspect).flavour)
    except Unprintable:
        return _replaying(runner, suspicion, suspect)
    return _or_replaying(verify(text, runner.desk(suspect), ()), runner, suspicion, suspect)


def _or_replaying(found: Reproducer, runner: Desks, suspicion: Suspicion, suspect: str) -> Reproducer:
    """The script; around the case file where it was run and does not show the defect."""
    if found.verified or runner.desk(suspect).time_limit.is_over:
        return found
    return _replaying(runner, suspicion, suspect)


def _two_sides(runner: Desks, suspicion: Suspicion, suspect: str) -> Reproducer:
    """A script that computes a call in two ways; around the case file where that takes too many words."""
    title = title_of(suspicion, suspect) + "."
    try:
        if suspicion.kind in (Kind.CRASH, Kind.HANG):
            raise Unprintable("a process that ends")
        text = equivalence_script(title, suspicion, parse_target(suspect).flavour)
    except Unprintable:
        return _replaying(runner, suspicion, suspect)
    return _or_replaying(verify(text, runner.desk(suspect), ()), runner, suspicion, suspect)


def _one_side(runner: Desks, suspicion: Suspicion, suspect: str) -> Reproducer:
    """A script of a call that ends badly; around the case file where that takes too many words."""
    try:
        text = plain_script(title_of(suspicion, suspect) + ".", suspicion, parse_target(suspect).flavour)
    except Unprintable:
        return _replaying(runner, suspicion, suspect)
    return verify(text, runner.desk(suspect), ())


def _replaying(runner: Desks, suspicion: Suspicion, suspect: str) -> Reproducer:
    """A script around the case file, for a target whose calls nobody can write down."""
    desktop = AttachmentFolder()
    with tempfile.TemporaryDirectory(prefix="tensorparity-case-") as folder:
        path = Path(folder) / f"case{SUFFIX}"
        suspects, oracle = suspicion.diagnosis.suspects, particular_oracle(suspicion)
        write_case(path, CaseFile(suspicion.case, suspicion.targets, suspects=suspects, oracle=oracle))
        case = desktop.data("case", SUFFIX, path.read_bytes())
    options = ["--trust"] if runner.settings.trust else []
    title = title_of(suspicion, suspect) + "."
    text = replay_text(title, suspect, suspicion.targets, case, HERE, options)
    found = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}  # where a plug-in may be
    return verify(text, runner.desk(suspect), tuple(desktop.files.values()), found)


def file_script(runner: Desks, suspicion: Suspicion, claim: Claim | None, own: Outcome | None) -> FileScript:
    """What a script around a model file has to know."""
    settings = runner.settings
    outputs = tuple(own.outputs or own.trace.nodes) if own else ()
    watched = suspicion.kind in (Kind.CRASH, Kind.HANG)
    wanted = claim.name if claim else ""
    return FileScript(outputs, wanted, settings.imports, settings.trust, watched, settings.import_paths)


def render_file(
    suspicion: Suspicion,
    suspect: str,
    claim: Claim | None,
    traits: Traits,
    how: FileScript,
    desktop: AttachmentFolder,
) -> str:
    """The text of a script that reads the model from a file beside it; the files are left in ``desktop``.

    Raises:
        Unprintable: if it cannot be written in a few lines.
    """
    parts = write_file_parts(_request(suspicion, suspect, claim, traits), how, desktop)
    return assemble(title_of(suspicion, suspect) + ".", suspicion.kind, parts, claim, suspicion.exception)


def _runnable(suspicion: Suspicion, outcomes: Mapping[str, Outcome], traits: Traits) -> str | None:
    """A suspect that is a target; of code that several share, the first of them."""
    suspects = [target for target in suspicion.diagnosis.suspects if target in outcomes]
    if suspects:
        return suspects[0]
    families = traits.families(outcomes)
    shared = [t for t in outcomes if families[t] in suspicion.diagnosis.suspects and outcomes[t].completed]
    return shared[0] if shared else None


def _request(suspicion: Suspicion, suspect: str, claim: Claim | None, traits: Traits) -> ScriptRequest:
    watched = suspicion.kind in (Kind.CRASH, Kind.HANG)
    return ScriptRequest(suspicion.case, suspect, traits[suspect], claim, watched)


def render(suspicion: Suspicion, suspect: str, claim: Claim | None, traits: Traits) -> str:
    """The text of the script.

    Raises:
        Unprintable: if it cannot be written in a few lines.
    """
    parts = write_parts(_request(suspicion, suspect, claim, traits))
    return assemble(title_of(suspicion, suspect) + ".", suspicion.kind, parts, claim, suspicion.exception)


def title_of(suspicion: Suspicion, suspect: str) -> str:
    graph = suspicion.case.subject
    otherwise = f"a graph of {len(graph.nodes)} layers" if isinstance(graph, LayerGraph) else "the model"
    return words.title(suspicion, suspect, otherwise)


def verify(
    text: str, desk: PreparedTarget, beside: Sequence[Attachment] = (), variables: Mapping[str, str] | None = None
) -> Reproducer:
    """Execute the script as its target is run, with the fault if there is one and, beside it, without.

    Args:
        beside: files that it reads from its own folder.
        variables: of the environment, besides those of the target.
    """
    if desk.time_limit.is_over:
        return Reproducer(text, remark="it was not run, for the time was used up").with_files(beside)
    ways = (True, False) if desk.fault is not None else (True,)
    with ThreadPoolExecutor(len(ways)) as pool:
        ends = list(pool.map(lambda planted: execute(text, desk, planted=planted, beside=beside, more=variables), ways))
    script = Reproducer(text).with_files(beside)
    code, said = ends[0]
    if code != SHOWS:
        return replace(script, remark=_unlike(code, said))
    if ends[-1][0] != FIXED and len(ends) > 1:
        code, said = ends[-1]
        return replace(script, remark=f"without the planted fault it ended with {code} instead of 0: {said}")
    return replace(script, verified=True)


def _unlike(code: int | str, said: str) -> str:
    """How it ended instead, and what it said last."""
    if str(code).startswith(_NO_END):
        return f"there was {code} in a fresh process"
    return f"it ended with {code} instead of 1 in a fresh process: {said}"


def execute(
    text: str,
    desk: PreparedTarget,
    *,
    planted: bool,
    beside: Sequence[Attachment] = (),
    more: Mapping[str, str] | None = None,
) -> tuple[int | str, str]:
    """Exit code (or how else it ended) and the last line it said."""
    launch = desk.plan(fresh=True).launch
    with tempfile.TemporaryDirectory(prefix="tensorparity-script-") as folder:
        script = Path(folder) / "reproducer.py"
        script.write_text(text)
        for file in beside:
            file.put(Path(folder))
        command = [launch.python, str(script)]
        if planted and desk.fault is not None:
            fault = Path(folder) / "fault.py"
            fault.write_text(desk.fault.source)
            library = desk.spec.distributions[0]
            command = [launch.python, "-c", _WITH_FAULT, library, str(fault), str(desk.name), str(script)]
        variables = {**launch.variables, "HOME": folder, "TMPDIR": folder, **desk.import_variables, **(more or {})}
        left = desk.time_limit.left
        return _run(command, folder, variables, _SECONDS if left is None else min(_SECONDS, left))


#: Scripts that are being executed, by whatever thread.
_RUNNING: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


def end_scripts() -> None:
    """Kill what is being executed: nobody waits for it any more."""
    for process in list(_RUNNING):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _run(command: list[str], folder: str, variables: Mapping[str, str], seconds: float) -> tuple[int | str, str]:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    _RUNNING.add(process)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        limit = "" if seconds >= _SECONDS else ", the time that was left,"
        return f"{_NO_END} after {seconds:.0f} s{limit}", ""
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    last = lines[-1][:300] if lines else ""
    code = process.returncode
    if code == SHOWS and not any(line.startswith(_OBSERVED) for line in lines):
        return "an exception of its own", last  # Python's exit code for it is 1, too
    return (code if code >= 0 else signal.Signals(-code).name), last
