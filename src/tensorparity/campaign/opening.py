"""A case file opened for work: inspected, its targets chosen, a runner ready for them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..core.case import Case
from ..core.errors import UsageError
from ..generators.case_inspection import inspect_case
from ..operators.api import api_known
from ..store.casefile import CaseFile, read_case
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from .exports import ExportedCases, exported_cases
from .selection import named_targets


@dataclass(frozen=True)
class OpenCase:
    """A case that may be run here; ``given`` is what each target is given of it."""

    path: Path
    file: CaseFile
    targets: tuple[str, ...]
    runner: LocalRunner
    given: ExportedCases

    @property
    def case(self) -> Case:
        return self.file.case

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: faults that were planted then and are not now."""
        given = self.runner.settings.faults
        planted = [(t, name) for t, name in self.file.faults.items() if t in self.targets and t not in given]
        again = (f"found with a fault planted: --fault {target}={name} plants it again" for target, name in planted)
        by = (f"{target}: exported to ONNX by {name}" for target, name in self.given.exporters.items())
        return (*again, *self.given.notes, *by)


@contextmanager
def open_case(path: Path, targets: str | None, settings: RunnerSettings) -> Iterator[OpenCase]:
    """Read and inspect a case file, and make a runner for its targets or for others.

    Raises:
        CaseFileError: if the file is broken or hostile.
        UsageError: if it has no targets that are installed.
    """
    with tempfile.TemporaryDirectory(prefix="tensorparity-case-") as scratch:
        file = read_case(path, trust=settings.trust, scratch=Path(scratch), api_known=api_known)
        # targets named by the user take the place of the case's own, which then need no trust
        named = () if targets else file.targets
        own = inspect_case(file.case, named, trust=settings.trust, imports=settings.imports)
        chosen = named_targets(targets) if targets else named_targets(",".join(own))
        if not chosen:
            raise UsageError(f"{path.name} names no targets; give some with --targets")
        with open_runner(chosen, settings) as runner:
            given = exported_cases(runner, settings, file.case, Path(scratch))
            yield OpenCase(path, file, tuple(chosen), runner, given)
