"""What the engines of one campaign share: the examiner, what was found already, and where it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.case import ApiCall, Case, ModelFile
from ..core.engine import Result
from ..core.finding import Class, Finding
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..operators.calls.catalogue import operator_of
from ..oracles.kinds import CaseKind, kind_of
from ..store.database import Store
from ..targets.faults import Fault
from ..triage.examine import Examined, Examiner
from ..triage.witnesses import with_testimonies
from .distinct import Distinct
from .events import FindingFiled, Listener
from .filing import file_findings, make_finding, scripts_of
from .reducing import Preparation, Prepared

#: So many are reduced and filed at a time: Ctrl-C costs those their scripts.
_PIECE = 16
#: Of these, a finding is one of the model that it was found in; of others, of the layer or function.
_WHOLE_MODELS = (CaseKind.LAYERS, CaseKind.FILE, CaseKind.TRAINING)


@dataclass
class Session:
    """One campaign under way.

    Args:
        store: None keeps nothing; ``campaign`` is its number in the store.
        subject: what the whole campaign is about, in the user's words, where that is one model.
    """

    examiner: Examiner
    preparation: Preparation
    emit: Listener
    store: Store | None = None
    campaign: int = 0
    faults: Mapping[str, Fault] = field(default_factory=dict)
    subject: str = ""
    findings: dict[str, Finding] = field(default_factory=dict)
    distinct: Distinct = field(default_factory=Distinct)
    #: How many single cases blamed nobody, by the class of what was seen in them.
    blameless: Counter[str] = field(default_factory=Counter)
    #: Confirmed and not filed yet, with what tells them from others of the same layer.
    _confirmed: list[tuple[Suspicion, str]] = field(default_factory=list)
    #: What each target did last, for its versions.
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.store is not None:
            self.findings = {finding.id: finding for finding in self.store.findings(self.campaign)}
            self.distinct = Distinct(self.findings.values())

    def summary(self, waiting: int) -> str:
        """For whoever watches."""
        return f"{len(self.findings)} findings, {waiting} suspected"

    def remember(self, outcomes: Mapping[str, Outcome]) -> None:
        """Keep what each target says of itself; the numbers it gave are not kept."""
        for target, outcome in outcomes.items():
            known = self.outcomes.get(target)
            if known is None or (outcome.completed and not known.completed):
                self.outcomes[target] = Outcome(
                    target, outcome.status, failure=outcome.failure, seconds=outcome.seconds, record=outcome.record
                )

    def set_aside(self, classes: Iterable[Class]) -> None:
        self.blameless.update(klass.value for klass in classes)

    def recorded(self, engine: str) -> list[Result]:
        """The results of an engine in an earlier part of this campaign."""
        return self.store.results(self.campaign, engine) if self.store is not None else []

    def record(self, engine: str, results: Sequence[Result]) -> None:
        if self.store is not None:
            self.store.record_results(self.campaign, engine, results)

    def stop_reducing(self) -> None:
        """What comes from now on is filed as it is."""
        self.preparation.stop_reducing()

    # From a suspicion to a finding

    def confirm(self, examined: Sequence[Examined]) -> None:
        """See suspicions again in fresh processes; they wait for ``file`` then, because Ctrl-C may come in between."""
        names = [_name(item.case, s, self.subject) for item in examined for s in item.judged.suspicions]
        again = self.examiner.confirm(examined)
        confirmed = with_testimonies(self.examiner, [one for one, _ in again], [outcomes for _, outcomes in again])
        self._confirmed += zip(confirmed, names, strict=True)

    def file(self, engine: str) -> None:
        """Reduce what is new of all that was confirmed, and file it; some at a time."""
        while self._confirmed:
            piece = self._confirmed[:_PIECE]
            new = [s for s, name in piece if not self._is_filed(self._finding(engine, s, s, name).id)]
            self._keep(engine, self.preparation.reduce(new), {id(s): name for s, name in piece})
            del self._confirmed[:_PIECE]
        self._keep(engine, self.preparation.met(), {})

    def _is_filed(self, identity: str) -> bool:
        return identity in self.findings or self.distinct.is_merged(identity)

    def _keep(self, engine: str, prepared: Sequence[Prepared], named: Mapping[int, str]) -> None:
        """File what is no other's defect once more."""
        made = [
            (self._finding(engine, item.suspicion, item.original, named.get(id(item.original), "")), item)
            for item in prepared
        ]
        found = self.distinct.of(made)
        if self.store is None:
            filed = [finding for finding, _ in found]
        else:
            filed = file_findings(self.store, self.campaign, found, self.faults)
        scripts = scripts_of(filed, [item for _, item in found])
        for finding in filed:
            if finding.id not in self.findings:
                self.findings[finding.id] = finding
                self.emit(FindingFiled(engine, finding, scripts.get(finding.id)))

    def _finding(self, engine: str, suspicion: Suspicion, original: Suspicion, name: str) -> Finding:
        subject = name or _name(original.case, original, self.subject)
        return make_finding(suspicion, engine, self.outcomes, subject, original)


def _name(case: Case, suspicion: Suspicion, subject: str) -> str:
    """What tells one finding of a layer from another: the model or operator it was found in, or nothing."""
    if subject:
        return subject
    if isinstance(case.subject, ApiCall) and (operator := operator_of(case.subject.api)):
        return operator.name
    if kind_of(case) in _WHOLE_MODELS and not isinstance(case.subject, ApiCall):
        return case.subject.path if isinstance(case.subject, ModelFile) else case.subject.name
    return suspicion.diagnosis.api or suspicion.case.digest
