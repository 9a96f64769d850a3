"""What the engines of one campaign share: the examiner, what was found already, and where it goes."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..core.case import ApiCall, Case, ModelFile
from ..core.engine import Result
from ..core.errors import OutOfTimeError
from ..core.finding import Class, Finding
from ..core.jsontext import Json
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..core.time_limit import TimeLimit
from ..core.verdict import Kind
from ..operators.functions.catalogue import operator_of
from ..oracles.kinds import CaseKind, kind_of
from ..reporting import words
from ..store.database import Store
from ..targets.faults import Fault
from ..targets.runner import LocalRunner
from ..triage.examine import Examined, Examiner
from ..triage.reduction.preparation import Preparation, Prepared
from ..triage.witnesses import with_testimonies
from .distinct import Distinct
from .events import Confirmed, FindingFiled, Listener
from .filing import file_findings, make_finding, scripts_of
from .hangs import HangConfirmations, names_of, of_hangs

#: Convictions wait for each other, because fresh workers are dear; but not for longer than this many cases.
CONFIRM_EVERY = 200
#: So many are reduced and filed at a time: Ctrl-C costs those their scripts.
_PIECE = 16
#: Of these, a finding is one of the model that it was found in; of others, of the layer or function.
_WHOLE_MODELS = (CaseKind.LAYERS, CaseKind.FILE, CaseKind.TRAINING)


class Selection(Protocol):
    """Which suspicions are filed where an engine sees the same defect in many cases, and what is filed of them."""

    #: Whether hangs are confirmed beside the others, as they are.
    hangs_apart: bool

    def is_due(self, waiting: int) -> bool:
        """Whether what waits is confirmed now: after so many cases."""
        ...

    def choose(self, examined: Sequence[Examined]) -> list[Examined]:
        """What was examined together, with those suspicions alone that are to be confirmed."""
        ...

    def complete(self, chosen: Suspicion, found: Suspicion) -> Suspicion:
        """What is filed as ``found``, which confirming and reducing made of ``chosen``."""
        ...


class Everything:
    """Every suspicion, as it is."""

    hangs_apart = True

    def is_due(self, waiting: int) -> bool:
        return waiting >= CONFIRM_EVERY

    def choose(self, examined: Sequence[Examined]) -> list[Examined]:
        return list(examined)

    def complete(self, chosen: Suspicion, found: Suspicion) -> Suspicion:
        return found


@dataclass(frozen=True)
class _Chosen:
    """A suspicion as it was chosen, by whom it was found, and what tells its finding from others."""

    suspicion: Suspicion
    name: str
    engine: str


@dataclass
class CampaignSession:
    """One campaign under way.

    Args:
        preparation: None files suspicions as they are.
        store: None keeps nothing; ``campaign`` is its number in the store.
        subject: what the whole campaign is about, in the user's words, where that is one model.
        resumable: results are recorded: ``report`` counts them, and ``--resume`` goes on with them.
        local: whose time limit is kept, and whose memory of hangs; None where nobody waits for anything.
    """

    examiner: Examiner
    preparation: Preparation | None
    emit: Listener
    store: Store | None = None
    campaign: int = 0
    faults: Mapping[str, Fault] = field(default_factory=dict)
    subject: str = ""
    selection: Selection = field(default_factory=Everything)
    resumable: bool = True
    local: LocalRunner | None = None
    findings: dict[str, Finding] = field(default_factory=dict)
    distinct: Distinct = field(default_factory=Distinct)
    #: How many single cases blamed nobody, by the class of what was seen in them.
    blameless: Counter[str] = field(default_factory=Counter)
    #: Confirmed and not filed yet, with what they were chosen as.
    _confirmed: list[tuple[Suspicion, _Chosen]] = field(default_factory=list)
    #: Reduced and not filed yet.
    _reduced: list[tuple[Prepared, _Chosen]] = field(default_factory=list)
    #: What was filed in this run, as it was prepared.
    _filed: dict[str, Prepared] = field(default_factory=dict)
    #: What each target did last, for its versions.
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    #: Whose turn it is, by the engine's name; and by digest, whose case hung.
    searching: str = ""
    _hanging: dict[str, str] = field(default_factory=dict)
    #: Suspicions that there was no time to confirm; ``hangs`` has its own.
    unconfirmed: list[Suspicion] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hangs = HangConfirmations(self.examiner, self.local)
        if self.selection.hangs_apart:
            self.examiner.when_convicted = self._begin_early
        self.time_limit = self.local.settings.time_limit if self.local else TimeLimit()
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
        if self.store is not None and self.resumable:
            self.store.record_results(self.campaign, engine, results)

    def stop_reducing(self) -> None:
        """What comes from now on is filed as it is."""
        if self.preparation is not None:
            self.preparation.stop_reducing()

    # From a suspicion to a finding

    def is_due(self, waiting: int) -> bool:
        """Whether what was convicted in so many cases is confirmed and filed now."""
        return self.selection.is_due(waiting)

    def _begin_early(self, suspicions: Sequence[Suspicion]) -> None:
        """A hang is confirmed by waiting, which should not wait for the other cases of its round."""
        self.begin_hangs(of_hangs(suspicions))

    def begin_hangs(self, hangs: Sequence[Suspicion]) -> None:
        """Have these looked at again while everything goes on; ``take_hangs`` takes them up."""
        for suspicion in hangs:
            self._hanging.setdefault(suspicion.case.digest, self.searching)
        self.hangs.begin(hangs)

    def take_hangs(self, *, wait: bool) -> None:
        """Hangs that were confirmed wait for ``file``."""
        began = time.monotonic()
        found = self.hangs.collect(wait=wait)
        if found:
            confirmed = [again for again, _ in found]
            with contextlib.suppress(OutOfTimeError):  # what witnesses would have said
                confirmed = with_testimonies(self.examiner, confirmed, [{}] * len(found))
            self.emit(Confirmed(tuple(confirmed), time.monotonic() - began))
            chosen = [self._chosen(first, first.case, self._hanging[first.case.digest]) for _, first in found]
            self._confirmed += zip(confirmed, chosen, strict=True)

    def open_questions(self) -> list[str]:
        """What the time did not suffice for, and what was left out because it hangs; in words."""
        spared = self.local.hanging.spared() if self.local else {}
        return words.left_open(self.unconfirmed, names_of(self.hangs.open), spared)

    def suspected(self) -> tuple[tuple[str, ...], ...]:
        """Of each suspicion that there was no time to confirm, whom it accuses."""
        seen = [s.diagnosis.suspects for s in (*self.unconfirmed, *self.hangs.open)]
        known = {name for suspects in seen for name in suspects} | self._found_hanging()
        hanging = self.local.hanging.hanging() if self.local else {}
        return (*seen, *((target,) for target, parts in hanging.items() for _ in parts if target not in known))

    def _found_hanging(self) -> set[str]:
        return {name for f in self.findings.values() if f.kind is Kind.HANG for name in f.diagnosis.suspects}

    def confirm(self, found: Mapping[str, Sequence[Examined]]) -> None:
        """See suspicions again in fresh processes; they wait for ``file`` then, because Ctrl-C may come in between.

        Args:
            found: by engine.
        """
        began = time.monotonic()
        wanted = {
            name: [i for i in self.selection.choose(items) if i.judged.suspicions] for name, items in found.items()
        }
        asked = [
            self._chosen(suspicion, item.case, name)
            for name, items in wanted.items()
            for item in items
            for suspicion in item.judged.suspicions
        ]
        again = self.examiner.confirm([item for items in wanted.values() for item in items]) if asked else []
        confirmed = with_testimonies(self.examiner, [one for one, _ in again], [outcomes for _, outcomes in again])
        self.emit(Confirmed(tuple(confirmed), time.monotonic() - began))
        self._confirmed += _in_turns(list(zip(confirmed, asked, strict=True)))

    def _chosen(self, suspicion: Suspicion, case: Case, engine: str) -> _Chosen:
        return _Chosen(suspicion, _name(case, suspicion, self.subject), engine)

    def file(self) -> None:
        """Reduce what is new of all that was confirmed; only then file it, with scripts: some at a time."""
        while self._confirmed:
            piece = self._confirmed[:_PIECE]
            chosen = {id(suspicion): first for suspicion, first in piece}
            new = [s for s, _ in piece if not self._is_filed(self._completed(Prepared(s, s), chosen)[0].id)]
            self._reduced += [(item, chosen[id(item.original)]) for item in self._prepared(new)]
            del self._confirmed[:_PIECE]
        while self._reduced:
            items, own = zip(*self._reduced[:_PIECE], strict=True)
            ready = self.preparation.finished(items) if self.preparation is not None else items
            self._keep(ready, {id(item.original): first for item, first in zip(items, own, strict=True)})
            del self._reduced[:_PIECE]
        if self.preparation is not None:
            with contextlib.suppress(OutOfTimeError):  # what was met on the way and could not be confirmed
                self._keep(self.preparation.met(), {})

    def filed(self) -> list[tuple[Finding, Prepared]]:
        """What was filed in this run, in its order."""
        return [(self.findings[identity], item) for identity, item in self._filed.items()]

    def change(self, finding: Finding, *, script: str | None = None, remark: str = "") -> None:
        """Keep a finding that was filed with more in it.

        Args:
            script: in place of the one that it has.
            remark: a section to the draft of its report.
        """
        self.findings[finding.id] = finding
        if self.store is not None:
            self.store.change_texts(self.campaign, finding, script=script, remark=remark)
            self.store.update_finding(self.campaign, finding)

    def _prepared(self, suspicions: Sequence[Suspicion]) -> list[Prepared]:
        if self.preparation is None:
            return [Prepared(suspicion, suspicion) for suspicion in suspicions]
        return self.preparation.reduce(suspicions, finish=False)

    def _is_filed(self, identity: str) -> bool:
        return identity in self.findings or self.distinct.is_merged(identity)

    def _keep(self, prepared: Sequence[Prepared], chosen: Mapping[int, _Chosen]) -> None:
        """File what is no other's defect once more."""
        found = self.distinct.of([self._completed(item, chosen) for item in prepared])
        if self.store is None:
            filed = [finding for finding, _ in found]
        else:
            filed = file_findings(self.store, self.campaign, found, self.faults)
        scripts = scripts_of(filed, [item for _, item in found])
        items = {finding.id: item for finding, item in reversed(found)}
        for finding in filed:
            if finding.id not in self.findings:
                self.findings[finding.id] = finding
                self._filed[finding.id] = items[finding.id]
                self.emit(FindingFiled(finding.engine, finding, scripts.get(finding.id)))

    def _completed(self, item: Prepared, chosen: Mapping[int, _Chosen]) -> tuple[Finding, Prepared]:
        """What is filed; what was met on the way was not chosen, and is filed as it is."""
        first = chosen.get(id(item.original))
        if first is None:
            first = self._chosen(item.original, item.original.case, self.searching)
        else:
            done, original = (self.selection.complete(first.suspicion, s) for s in (item.suspicion, item.original))
            item = replace(item, suspicion=done, original=original)
        traits = self.examiner.setup.traits
        finding = make_finding(
            item.suspicion, first.engine, self.outcomes, first.name, item.original, traits, item.above
        )
        return finding, item

    # At the end

    def merge(self, *, trying: bool = True) -> None:
        """Say of every finding how often it was met, and which of them are one defect.

        Which of two was reduced first depends on timing; so it is tried once more in the order of signatures.

        Args:
            trying: False runs nothing, and only counts.
        """
        known = self.preparation.explanations if self.preparation is not None and trying else None
        roots = known.merged(self._unreduced()) if known is not None else {}
        through: dict[str, set[str]] = {}
        for finding in self.findings.values():
            if finding.signature in roots and finding.diagnosis.api:
                through.setdefault(roots[finding.signature], set()).add(finding.diagnosis.api)
        clusters = {finding.signature: finding.cluster for finding in self.findings.values()}
        for finding in list(self.findings.values()):
            root = roots.get(finding.signature, finding.signature)
            counted = self._with_sightings(finding, through.get(finding.signature, set()))
            self._update(replace(counted, cluster=clusters.get(root) or finding.cluster))

    def _unreduced(self) -> list[Suspicion]:
        """What was filed of this run that there was no time to reduce."""
        return [item.suspicion for finding, item in self.filed() if finding.is_defect and finding.reduced is False]

    def _with_sightings(self, finding: Finding, names: Set[str]) -> Finding:
        """How often it was met, and under which names, those of what was merged into it among them."""
        again = self.distinct.again.get(finding.signature, 0)
        names = names | self.distinct.reached_through.get(finding.signature, set()) | set(finding.reached_through)
        through = tuple(sorted(names - {finding.diagnosis.api}))
        aliases = tuple(sorted({*finding.aliases, *self.distinct.aliases.get(finding.signature, ())}))
        sightings = max(finding.sightings, 1 + again)
        return replace(finding, sightings=sightings, reached_through=through, aliases=aliases)

    def _update(self, finding: Finding) -> None:
        if self.findings[finding.id] != finding:
            self.findings[finding.id] = finding
            if self.store is not None:
                self.store.update_finding(self.campaign, finding)


def _in_turns(found: Sequence[tuple[Suspicion, _Chosen]]) -> list[tuple[Suspicion, _Chosen]]:
    """One of each engine after another, so that no engine's findings are all left when the time for reducing ends."""
    place: Counter[str] = Counter()
    ranked: list[tuple[int, tuple[Suspicion, _Chosen]]] = []
    for item in found:
        ranked.append((place[item[1].engine], item))
        place[item[1].engine] += 1
    return [item for _, item in sorted(ranked, key=lambda pair: pair[0])]


def open_campaign(
    store: Store, command: str, seed: int, identity: Mapping[str, Json], *, resume: bool
) -> tuple[int, list[str]]:
    """A new campaign, or the last one of the same seed and identity to go on with; and what a reader should know."""
    earlier = store.find_campaign(command, seed, identity) if resume else None
    if earlier is not None:
        return earlier.id, []
    unknown = f"nothing to resume: no {command} of this seed with these settings and versions; begun anew"
    return store.begin_campaign(command, seed, identity), [unknown] if resume else []


def _name(case: Case, suspicion: Suspicion, subject: str) -> str:
    """What tells one finding of a layer from another: the model or operator it was found in, or nothing."""
    if subject:
        return subject
    if isinstance(case.subject, ApiCall) and (operator := operator_of(case.subject.api)):
        return operator.name
    if kind_of(case) in _WHOLE_MODELS:
        assert not isinstance(case.subject, ApiCall)
        return case.subject.path if isinstance(case.subject, ModelFile) else case.subject.name
    return suspicion.diagnosis.api or suspicion.case.digest
