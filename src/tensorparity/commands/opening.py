"""A case file opened for work: inspected, its targets chosen, a runner ready for them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..campaign.sections import Sections
from ..core.case import Case
from ..core.engine import Ask
from ..core.errors import UsageError
from ..core.oracle import Setup
from ..core.outcome import Outcome
from ..core.runner import Runner
from ..core.signature import Key, claim_against
from ..generators.model_files.case_inspection import inspect_case
from ..operators.functions.api import api_known
from ..oracles.kinds import ORACLES
from ..store.casefile import CaseFile, read_case
from ..targets.catalogue import traits_of
from ..targets.exports import ExportedCases, exported_cases
from ..targets.runner import LocalRunner, RunnerSettings, open_runner, with_cache
from ..targets.selection import families_of, named_targets
from ..triage.examine import Examined, Examiner

#: What the name of a suspect that is an exporter begins with.
_EXPORTER = "exporter:"


@dataclass(frozen=True)
class OpenCase:
    """A case that may be run here.

    Args:
        given: what each target is given of it.
        oracle: who judges it, where that is not the oracle of this kind of case.
        sections: settings of oracles.
    """

    path: Path
    file: CaseFile
    targets: tuple[str, ...]
    runner: LocalRunner
    given: ExportedCases
    oracle: str = ""
    sections: Sections = field(default_factory=Sections)

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

    def accused_elsewhere(self, outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
        """Whom the case was filed against, where none of those who ran it is accused, nor shares code with them."""
        ran = [target for target, outcome in outcomes.items() if outcome.completed]
        here = {*ran, *families_of(ran).values()}
        exported = any(suspect.startswith(_EXPORTER) for suspect in self.file.suspects)
        return () if exported or here & set(self.file.suspects) else self.file.suspects

    @property
    def planted(self) -> dict[str, str]:
        """By target, the fault that is planted in it now."""
        return {target: fault.name for target, fault in self.runner.settings.faults.items()}

    def deliver(self, case: Case, target: str) -> Case:
        """What a target is given: the file that was exported for it, where the case is about the original."""
        given = self.given.cases.get(target, self.case)
        return replace(case, subject=given.subject) if case.subject == self.case.subject else case

    def examiner(
        self, runner: Runner | None = None, told: Mapping[str, Mapping[str, object]] | None = None
    ) -> Examiner:
        """An examiner for this case and its targets.

        Args:
            runner: instead of the one that is open.
            told: settings of oracles where the user gives none.
        """
        setup = Setup(self.case.seed, self.targets, traits_of(self.targets))
        settings = {**(told or {}), **self.sections.oracles}
        return Examiner(runner or self.runner, setup, deliver=self.deliver, settings=settings)

    @property
    def ask(self) -> Ask:
        return Ask(self.case, oracles=(self.oracle,) if self.oracle else ())

    @property
    def claim(self) -> Key:
        """What the case was filed for, as far as the file says."""
        return claim_against(self.file.suspects)

    def look(self, *, fresh: bool) -> Examined:
        """Run and judge the case; ``fresh`` in workers of its own, every cache off."""
        runner = self.runner if fresh else with_cache(self.runner, self.runner.settings)
        (examined,) = self.examiner(runner).examine([self.ask], fresh=fresh, claim=self.claim)
        return examined


@contextmanager
def open_case(
    path: Path,
    targets: str | None,
    settings: RunnerSettings,
    oracle: str = "",
    sections: Sections | None = None,
) -> Iterator[OpenCase]:
    """Read and inspect a case file, and make a runner for its targets or for others.

    Args:
        oracle: who judges it, instead of the one that the file names or of its kind.

    Raises:
        CaseFileError: if the file is broken or hostile.
        UsageError: if it has no targets that are installed.
    """
    with tempfile.TemporaryDirectory(prefix="tensorparity-case-") as scratch:
        file = read_case(path, trust=settings.trust, scratch=Path(scratch), api_known=api_known)
        # targets named by the user take the place of the case's own, which then need no trust
        if oracle or file.oracle:
            ORACLES.get(oracle or file.oracle)  # refused before anything is started
        named = () if targets else file.targets
        own = inspect_case(file.case, named, trust=settings.trust, imports=settings.imports)
        chosen = named_targets(targets) if targets else named_targets(",".join(own))
        if not chosen:
            raise UsageError(f"{path.name} names no targets; give some with --targets")
        with open_runner(chosen, settings) as runner:
            given = exported_cases(runner, settings, file.case, Path(scratch))
            judge = oracle or file.oracle
            yield OpenCase(path, file, tuple(chosen), runner, given, judge, sections or Sections())
