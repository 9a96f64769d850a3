"""Facts: everything a report says, computed before anything is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from .. import __version__
from ..core.comparison import Comparison
from ..core.finding import Class, Finding
from ..core.jsontext import Json
from ..core.operator_errors import Precision
from ..core.precision import HighPrecision
from ..core.self_agreement import SelfAgreement
from ..core.severity import Severity
from ..core.training import Training
from .standing import distinct
from .words import planted_faults, with_words


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """How one target fared: its versions, and why it gave no answer if it gave none.

    Args:
        status: an outcome's status, or ``available``, ``missing``, ``broken``, ``skipped``.
        install: the command that would make a missing target available.
    """

    name: str
    versions: Mapping[str, str] = field(default_factory=dict)
    status: str = "completed"
    reason: str = ""
    seconds: float = 0.0
    mode: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)
    install: str = ""

    @property
    def usable(self) -> bool:
        """It gave an answer, or could give one."""
        return self.status in ("completed", "available")

    def to_json(self) -> Json:
        """An entry of the document's ``details``."""
        return {
            "name": self.name,
            "status": self.status,
            "versions": dict(self.versions),
            "reason": self.reason,
            "install": self.install,
            "seconds": self.seconds,
            "mode": self.mode,
            "flags": dict(self.flags),
        }


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model of the zoo.

    Args:
        data: what it is trained on, in words; empty for one that is not trained.
        measure: what ``score`` is, on data it has not seen.
        spread: standard deviation of the labels, where they are values.
        remark: why it was not trained now.
    """

    name: str
    layers: int
    parameters: int
    data: str
    trained: bool
    measure: str
    score: float | None = None
    spread: float | None = None
    seconds: float | None = None
    remark: str = ""

    def to_json(self) -> Json:
        """An entry of the document's ``models``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """A known difference of ``tensorparity.toml``, and the findings of this run that it accepts.

    Args:
        name: its signature or pattern.
        expired: it accepts nothing any more.
    """

    name: str
    reason: str
    link: str = ""
    expires: str = ""
    findings: tuple[str, ...] = ()
    expired: bool = False

    def to_json(self) -> Json:
        """An entry of the document's ``known``."""
        return {**asdict(self), "findings": list(self.findings)}


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The findings of one run beside those of an earlier one, by id.

    Args:
        before: the earlier run, in a reader's words; ``after`` likewise.
        gone: those of the earlier run that the later one does not have.
        is_fixed: the later run did all that the earlier one did, so that what is gone is fixed.
    """

    before: str
    after: str
    new: tuple[str, ...]
    gone: tuple[str, ...]
    still_there: tuple[str, ...]
    is_fixed: bool

    def to_json(self) -> Json:
        return {
            "before": self.before,
            "after": self.after,
            "new": list(self.new),
            "fixed" if self.is_fixed else "not_seen_again": list(self.gone),
            "still_there": list(self.still_there),
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """One run of one command; ``document`` is the machine-readable contract.

    Args:
        subject: what was examined, in the user's words (``zoo:lenet5``, a file name).
        notes: sentences a reader should know (which data, which weights, what was skipped and why).
        comparisons: None for commands other than ``compare``.
        phases: seconds per phase.
        isolated_threshold: K, above which a layer's isolated error is no rounding.
        high_precision: how far each target is from a run in float64 (``compare``).
        self_agreement: every target beside itself (``compare --batch-sizes``, ``--repeat``).
        training: the trainings side by side (``compare --steps``).
        undecided: how many cases were not decided, by reason; without the undecided comparisons.
        unsupported: how many cases a target does not offer, by reason.
        models: those of the zoo (``zoo``).
        known: the known differences; what they accept is no defect of this run.
        scripts: reproducers by finding, for reports that show their text.
        drafts: of upstream reports, by finding.
        precision: the largest errors of operators (``precision``).
        planted: by target, the fault that was planted in it.
        alerts: what has to be known before anything else is read.
        apis: functions and the rules that speak of them (``equiv --list``).
        interrupted: by the user, so that it did not do all that it was asked for.
        suspected: of each suspicion that there was no time to confirm, whom it accuses.
        difference: what is new beside an earlier run (``report --diff``).
        engine_tables: of engines of other packages, what they print, by name.
        unanswered: what else was asked for and gave no answer, or not the one that was hoped for, as clauses.
        accused: of a case file, whom it was filed against, where nobody of them has run it.
    """

    command: str
    seed: int
    targets: tuple[TargetFacts, ...]
    stats: Mapping[str, Json]
    findings: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...] | None = None
    subject: str = ""
    notes: tuple[str, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    isolated_threshold: float | None = None
    undecided: Mapping[str, int] = field(default_factory=dict)
    unsupported: Mapping[str, int] = field(default_factory=dict)
    training: Training | None = None
    high_precision: HighPrecision | None = None
    self_agreement: tuple[SelfAgreement, ...] = ()
    models: tuple[ModelFacts, ...] = ()
    precision: Precision | None = None
    known: tuple[KnownFacts, ...] = ()
    scripts: Mapping[str, str] = field(default_factory=dict)
    drafts: Mapping[str, str] = field(default_factory=dict)
    planted: Mapping[str, str] = field(default_factory=dict)
    alerts: tuple[str, ...] = ()
    suspected: tuple[tuple[str, ...], ...] = ()
    unanswered: tuple[str, ...] = ()
    accused: tuple[str, ...] = ()
    difference: RunDifference | None = None
    interrupted: bool = False
    engine_tables: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    apis: tuple[Json, ...] | None = None

    @property
    def accepted(self) -> frozenset[str]:
        """Ids of the findings that known differences accept."""
        return frozenset(name for entry in self.known for name in entry.findings)

    @property
    def defects(self) -> tuple[Finding, ...]:
        """Those that are news."""
        spared = self.accepted | {finding.id for finding in self.remarks}
        return tuple(finding for finding in self.findings if finding.is_defect and finding.id not in spared)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Defects of layers that cost digits, in a model whose outputs agree on all that is accused."""
        if not self.comparisons or self.training is not None:
            return ()
        failed = {name for pair in self.comparisons if pair.verdict.failed for name in (pair.a, pair.b)}
        return tuple(
            finding
            for finding in self.findings
            if finding.is_defect
            and finding.severity is Severity.DIGITS
            and not failed & {*finding.targets, *finding.diagnosis.suspects}
        )

    @property
    def broken_targets(self) -> tuple[TargetFacts, ...]:
        """Those that are installed and do not work."""
        fine = ("completed", "available", "missing", "not examined")
        return tuple(target for target in self.targets if target.status not in fine)

    def of_class(self, klass: Class) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.diagnosis.klass is klass)

    def document(self) -> dict[str, Json]:
        document: dict[str, Json] = {
            "tensorparity": __version__,
            "command": self.command,
            "seed": self.seed,
            "targets": [target.name for target in self.targets],
            "versions": {target.name: dict(target.versions) for target in self.targets},
            "stats": self._stats(),
            "details": [target.to_json() for target in self.targets],
        }
        if self.subject:
            document["subject"] = self.subject
        notes = [*self.alerts, *self.notes, *planted_faults(self.planted)]
        if notes:
            document["notes"] = notes
        if self.unanswered:
            document["unanswered"] = list(self.unanswered)
        if self.difference:
            document["difference"] = self.difference.to_json()
        if self.planted:
            document["planted"] = dict(self.planted)
        if self.isolated_threshold is not None:
            document["isolated_threshold"] = self.isolated_threshold
        if self.high_precision:
            document["high_precision"] = self.high_precision.to_json()
        if self.self_agreement:
            document["self_agreement"] = [item.to_json() for item in self.self_agreement]
        if self.training:
            document["training"] = self.training.to_json()
        if self.known:
            document["known"] = [entry.to_json() for entry in self.known]
        if self.models:
            document["models"] = [model.to_json() for model in self.models]
        if self.precision is not None:
            document["precision"] = self.precision.to_json()
        if self.comparisons is not None:
            document["comparisons"] = [comparison.to_json() for comparison in self.comparisons]
        if self.apis is not None:
            document["apis"] = list(self.apis)
        document["findings"] = [with_words(finding).to_json() for finding in self.findings]
        return document

    def _stats(self) -> dict[str, Json]:
        """The stats under the names that the contract promises for every command, and whatever else there is."""
        promised: dict[str, Json] = {"cases": 0, "seconds": 0.0, "undecided": 0, "per_engine": {}}
        further: dict[str, Json] = {"new_defects": len(distinct(self.defects))}
        if self.phases:
            further["phases"] = dict(self.phases)
        if self.undecided:
            further["undecided_reasons"] = dict(self.undecided)
        if self.unsupported:
            further["unsupported_reasons"] = dict(self.unsupported)
        return promised | dict(self.stats) | further
