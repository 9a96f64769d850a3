"""What a report says in sentences, worded once for every renderer. Verdicts and classes are taken as they are."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ..core.comparison import Comparison
from ..core.finding import Class, Finding
from ..core.verdict import BY_ROUNDING, Judgement, Kind, Stage
from . import wording, words
from .facts import Facts, RunDifference, TargetFacts
from .standing import CLASS_MEANINGS, distinct, known_suspects


class Tone(Enum):
    """The colour of the headline."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Summary:
    """One run in a sentence, what it left open, and what has to be read before all that."""

    headline: str
    tone: Tone
    open_points: tuple[str, ...]
    alerts: tuple[str, ...] = ()


_JUDGEMENT_ORDER = (Judgement.FAIL, Judgement.UNDECIDED, Judgement.PASS)

#: So many reasons of giving no answer are spelled out.
_NAMED_REASONS = 4

#: So many targets of a campaign are named in its headline.
_NAMED_TARGETS = 3

#: Commands that say what is here and run no cases.
INSPECTIONS = ("targets", "doctor", "env")

#: Kinds in which there is no result to be wrong: what the suspect does, for one and for several.
_STOPS = {
    Kind.CRASH: ("crashes", "crash"),
    Kind.ERROR: ("raises an error", "raise an error"),
    Kind.HANG: ("hangs", "hang"),
    Kind.ACCEPTS_INVALID: ("accepts what is invalid", "accept what is invalid"),
}


def summarize(facts: Facts) -> Summary:
    if facts.command in INSPECTIONS:
        sentence, tone = _inspection(facts)
    elif facts.comparisons is not None:
        sentence, tone = _comparison(facts, facts.comparisons)
    elif facts.command == "zoo":
        sentence, tone = _zoo(facts)
    elif facts.difference is not None:
        sentence, tone = _difference_of_runs(facts.difference)
    elif facts.command == "report":
        sentence, tone = _stored_line(facts)
    elif facts.command in ("replay", "reduce", "localize"):
        sentence, tone = _one_case(facts)
    else:
        sentence, tone = _campaign(facts)
    return Summary(sentence, tone, _open_points(facts), _alerts(facts))


def is_open(facts: Facts) -> bool:
    """Something is not decided: a case, a suspicion, or whether a model is the same."""
    if facts.stats.get("undecided") or facts.suspected or facts.unanswered:
        return True
    if facts.comparisons is None:
        return False
    explained = bool(facts.findings) and any(pair.verdict.failed for pair in facts.comparisons)
    return summarize(facts).tone is Tone.UNDECIDED and not explained


def _alerts(facts: Facts) -> tuple[str, ...]:
    """Planted faults, those that changed nothing, and what is wrong with the user's own data."""
    planted = [f"{text[:1].upper()}{text[1:]}." for text in words.planted_faults(facts.planted)]
    unseen = [_unseen(facts, target, fault) for target, fault in facts.planted.items() if not _shows(facts, target)]
    return (*planted, *unseen, *facts.alerts)


def _unseen(facts: Facts, target: str, fault: str) -> str:
    pairs = facts.comparisons
    tried = facts.stats.get("cases", 1) if pairs is None else any(target in (c.a, c.b) for c in pairs)
    return words.without_effect(target, fault) if tried else words.never_tried(target, fault)


def _shows(facts: Facts, target: str) -> bool:
    """Whether anything that was found may be what was planted in this target."""
    names = {item.name for item in facts.targets}
    accused = {suspect for finding in facts.findings for suspect in finding.diagnosis.suspects}
    accused |= {suspect for suspects in facts.suspected for suspect in suspects}
    by_name = target in accused or any(_is_shared(suspect, names) for suspect in accused)
    differs = (c for c in facts.comparisons or () if target in (c.a, c.b))
    return by_name or any(c.verdict.judgement is not Judgement.PASS for c in differs)


def by_class(findings: Iterable[Finding]) -> list[Finding]:
    """Defects first, then as a reader wants the classes; within a class the worst first, then as they came."""
    order = list(CLASS_MEANINGS)
    return sorted(findings, key=lambda finding: (order.index(finding.diagnosis.klass), finding.severity.rank))


def counted_elsewhere(facts: Facts) -> dict[str, str]:
    """New defects that are counted under another finding of their cluster: its id, by theirs."""
    counted = {finding.cluster or finding.signature: finding.id for finding in distinct(by_class(facts.defects))}
    found = {finding.id: counted[finding.cluster or finding.signature] for finding in facts.defects}
    return {identity: other for identity, other in found.items() if identity != other}


def by_urgency(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Failing first, then undecided, then passing; stable within each."""
    return sorted(comparisons, key=lambda comparison: _JUDGEMENT_ORDER.index(comparison.verdict.judgement))


def tally(facts: Facts) -> str:
    """``17 findings, 3 defects``; of defects that were met repeatedly, ``80 sightings, 31 defects, 3 of them not yet
    reduced``.
    """
    if not facts.findings:
        return "no findings"
    findings = wording.count(len(facts.findings), "finding")
    if not facts.defects:
        return f"{findings}, no defects"
    clusters = distinct(facts.defects)
    sightings = sum(finding.sightings for finding in facts.defects)
    often = f", {wording.count(sightings, 'sighting')}" if sightings > len(clusters) else ""
    open_ones = sum(finding.reduced is False for finding in clusters)
    unreduced = f", {open_ones} of them not yet reduced" if open_ones else ""
    return f"{findings}{often}, {wording.count(len(clusters), 'defect')}{unreduced}"


def place(finding: Finding, comparisons: Iterable[Comparison] | None) -> str:
    """``layer conv2d_3 (Conv2D)``, as exactly as it is known; empty if it is not."""
    diagnosis = finding.diagnosis
    short = _short(diagnosis.api) if diagnosis.api else _layer_type(diagnosis.node, comparisons or ())
    if diagnosis.node:
        return f"layer {node_name(diagnosis.node)} ({short})" if short else f"layer {node_name(diagnosis.node)}"
    return diagnosis.api or ""


def _short(api: str) -> str:
    """``Conv2D`` of keras.layers.Conv2D; ``aten.silu`` of torch.ops.aten.silu.default."""
    if api.startswith("torch.ops."):
        return ".".join(api.split(".")[2:4])
    return api.rpartition(".")[2]


def node_name(key: str) -> str:
    """A node key (``layer#call``) as a reader says it: the call only where it is not the first."""
    layer, _, call = key.partition("#")
    return layer if call in ("", "0") else f"{layer}, call {call}"


def _layer_type(node: str | None, comparisons: Iterable[Comparison]) -> str:
    name, _, call = (node or "").partition("#")
    for comparison in comparisons:
        for layer in comparison.layers:
            if layer.name == name and (not call or call == str(layer.call)):
                return layer.type
    return ""


# --- the headline -------------------------------------------------------------------------------


def _comparison(facts: Facts, comparisons: Sequence[Comparison]) -> tuple[str, Tone]:
    defects = distinct(facts.defects)
    if len(defects) == 1:
        return _one_defect(defects[0], comparisons), Tone.FAIL
    if defects:
        return _many_defects(facts, defects), Tone.FAIL
    if any(comparison.verdict.failed for comparison in comparisons):
        if facts.accepted:
            return _known_difference(facts, comparisons)
        return _difference(facts, comparisons)
    return _agreement(facts, comparisons)


def _known_difference(facts: Facts, comparisons: Sequence[Comparison]) -> tuple[str, Tone]:
    said = f"{_subject(facts)} differs only in known ways ({wording.count(len(facts.accepted), 'finding')})"
    open_ends = _open_ends(facts, comparisons)
    return (f"{said}, but {'; '.join(open_ends)}.", Tone.UNDECIDED) if open_ends else (f"{said}.", Tone.PASS)


def _one_defect(defect: Finding, comparisons: Sequence[Comparison]) -> str:
    ending = "; the others agree." if _others_agree(defect, comparisons) else "."
    return _accusation(defect, comparisons) + ending


def _accusation(defect: Finding, comparisons: Sequence[Comparison] | None) -> str:
    suspects, several = defect.diagnosis.suspects, len(defect.diagnosis.suspects) > 1
    where, stage = place(defect, comparisons), _stage(defect.stage)
    if not suspects:
        subject = where[:1].upper() + where[1:] if where else "The result"
        return f"{subject} is wrong{stage}; on which target is not decided"
    if defect.kind in _STOPS:
        action = _STOPS[defect.kind][several]
        return f"{_suspects(defect)} {action}{f' in {where}' if where else ''}{stage}"
    if not where:
        return f"{_suspects(defect)} {'are' if several else 'is'} wrong{stage}; in which layer is not known"
    if all(_is_shared(suspect, defect.targets) for suspect in suspects):
        return f"{_suspects(defect)} is wrong: {where}{stage}, in the same way on every target that runs it"
    return f"{_suspects(defect)} {'differ' if several else 'differs'}: {where} is wrong there{stage}"


def _stage(stage: Stage) -> str:
    return "" if stage in (Stage.FORWARD, Stage.CALL) else f" (stage {stage.value})"


def _is_shared(suspect: str, targets: Collection[str]) -> bool:
    """Who is no target is code that several of them run, or the exporter of a file."""
    return suspect not in targets


def _possessive(name: str) -> str:
    return f"{name.capitalize()}'" if name.endswith("s") else f"{name.capitalize()}'s"


def _suspects(defect: Finding) -> str:
    def spelled(suspect: str) -> str:
        if suspect.startswith("exporter:"):
            return f"the exporter {suspect.removeprefix('exporter:')}"
        if suspect.endswith(":documentation"):
            return f"{_possessive(suspect.removesuffix(':documentation'))} documentation"
        return f"{_possessive(suspect)} shared code" if _is_shared(suspect, defect.targets) else suspect

    text = wording.names(spelled(suspect) for suspect in defect.diagnosis.suspects)
    return text[:1].upper() + text[1:] if text.startswith("the ") else text


def _others_agree(defect: Finding, comparisons: Sequence[Comparison]) -> bool:
    suspects = set(defect.diagnosis.suspects)
    others = [comparison for comparison in comparisons if not suspects & {comparison.a, comparison.b}]
    return bool(suspects and others) and all(other.verdict.judgement is Judgement.PASS for other in others)


def _many_defects(facts: Facts, defects: Sequence[Finding]) -> str:
    counts: dict[str, int] = {}
    for defect in defects:
        for suspect in defect.diagnosis.suspects or ("a target not yet known",):
            counts[suspect] = counts.get(suspect, 0) + 1
    shares = wording.names(f"{amount} in {suspect}" for suspect, amount in counts.items())
    return f"{_subject(facts)} shows {wording.count(len(defects), 'defect')}: {shares}."


def _difference(facts: Facts, comparisons: Sequence[Comparison]) -> tuple[str, Tone]:
    failing = [comparison for comparison in comparisons if comparison.verdict.failed]
    pairs = list(dict.fromkeys(_pair(comparison) for comparison in failing))
    between = pairs[0] if len(pairs) == 1 else f"{len(pairs)} pairs of targets"
    classes = {finding.diagnosis.klass for finding in facts.findings}
    if not classes:
        return f"{_subject(facts)} differs between {between}; which target is wrong is not decided.", Tone.UNDECIDED
    meanings = wording.names(f"{klass.value} ({CLASS_MEANINGS[klass]})" for klass in CLASS_MEANINGS if klass in classes)
    return f"{_subject(facts)} differs between {between}, but no defect was found: {meanings}.", Tone.UNDECIDED


def _agreement(facts: Facts, comparisons: Sequence[Comparison]) -> tuple[str, Tone]:
    """Says "the same" where everything that was asked for is decided and no label changed, and nowhere else."""
    passing = [comparison for comparison in comparisons if comparison.verdict.judgement is Judgement.PASS]
    if not comparisons:
        return "Nothing was compared: fewer than two targets gave an answer.", Tone.UNDECIDED
    if not passing:
        return f"It is not decided whether {_subject(facts)} is the same on {_targets(comparisons)}.", Tone.UNDECIDED
    changed = max(passing, key=lambda comparison: comparison.labels_changed or 0)
    if changed.labels_changed:
        return _changed_labels(facts, changed, _open_ends(facts, comparisons))
    open_ends = _open_ends(facts, comparisons)
    if open_ends:
        return f"{_subject(facts)}: {_targets(passing)} agree, but {'; '.join(open_ends)}.", Tone.UNDECIDED
    return f"{_subject(facts)} is the same on {_targets(passing)}.", Tone.PASS


def _open_ends(facts: Facts, comparisons: Sequence[Comparison]) -> list[str]:
    """What was asked for and gave no answer."""
    undecided = sum(comparison.verdict.judgement is Judgement.UNDECIDED for comparison in comparisons)
    known = known_suspects(facts)
    silent = [target for target in facts.targets if not target.usable and target.name not in known]
    found = [f"{target.name} {_status(target)}" for target in silent]
    if undecided:
        verb = "is" if undecided == 1 else "are"
        found.append(f"{undecided} of {wording.count(len(comparisons), 'comparison')} {verb} not decided")
    if facts.suspected:
        found.append(words.not_confirmed(len(facts.suspected)))
    return [*found, *facts.unanswered, *([words.interrupted()] if facts.interrupted else [])]


def _changed_labels(facts: Facts, changed: Comparison, open_ends: Sequence[str]) -> tuple[str, Tone]:
    """Why a difference passes that a user would see."""
    errors = [layer.isolated_error for layer in changed.layers if layer.isolated_error is not None]
    worst = math.nan if any(map(math.isnan, errors)) else max(errors, default=None)
    limit, reason = facts.isolated_threshold, changed.verdict.reason
    rounded = changed.verdict.judged_by == BY_ROUNDING
    why = words.why_labels_change(len(errors), len(changed.layers), worst, limit, reason, by_rounding=rounded)
    said = words.labels_changed(changed.labels_changed or 0, changed.instances, changed.a, changed.b)
    ending = "".join(f"; {text}" for text in [*_as_far_from_themselves(facts, changed), *open_ends])
    return f"{_subject(facts)}: {said}; {why}{ending}.", Tone.UNDECIDED


def _as_far_from_themselves(facts: Facts, pair: Comparison) -> list[str]:
    """Of either target that differs from itself as much as the pair does."""
    found: dict[str, list[str]] = {}
    for own in facts.self_agreement:
        as_many = (own.labels_changed or 0) >= (pair.labels_changed or 1)
        as_far = bool(pair.max_rel) and own.max_rel is not None and own.max_rel >= (pair.max_rel or 0.0)
        if own.target in (pair.a, pair.b) and (as_many or as_far):
            found.setdefault(own.target, []).append(own.way)
    return [words.as_much_from_itself(target, ways) for target, ways in found.items()]


def _targets(comparisons: Iterable[Comparison]) -> str:
    return wording.names(dict.fromkeys(name for comparison in comparisons for name in (comparison.a, comparison.b)))


def _status(target: TargetFacts) -> str:
    return target.status if target.status in ("crashed", "raised", "timed out") else f"is {target.status}"


def _subject(facts: Facts) -> str:
    return facts.subject or "The model"


def _pair(comparison: Comparison) -> str:
    return f"{comparison.a} and {comparison.b}"


def _campaign(facts: Facts) -> tuple[str, Tone]:
    cases = int(facts.stats.get("cases", 0))
    amount = tally(facts)
    sentence = f"{amount[:1].upper()}{amount[1:]} in {wording.count(cases, 'case')}"
    sentence = f"{sentence} on {_few(facts.targets)}" if facts.targets else sentence
    if not cases and not facts.findings and not facts.interrupted and not facts.suspected:
        return f"{words.nothing_judged(_few(facts.targets))}.", Tone.UNDECIDED
    sentence = f"{sentence}{words.explained(facts.stats)}"
    if facts.defects:
        return f"{sentence}.", Tone.FAIL
    if facts.interrupted:
        return f"{sentence}; {words.interrupted()}.", Tone.UNDECIDED
    if facts.suspected:
        return f"{sentence}; {words.not_confirmed(len(facts.suspected))}.", Tone.UNDECIDED
    return f"{sentence}.", Tone.PASS if cases else Tone.UNDECIDED


def _few(targets: Sequence[TargetFacts]) -> str:
    """Few targets by their names, many by their number: the list of all stands elsewhere."""
    if len(targets) > _NAMED_TARGETS:
        return wording.count(len(targets), "target")
    return wording.names(target.name for target in targets)


def unnamed_targets(facts: Facts) -> str:
    """The targets that the headline only counts; empty where it names them, or another table does."""
    if facts.comparisons is not None or len(facts.targets) <= _NAMED_TARGETS or facts.command in INSPECTIONS:
        return ""
    return f"Targets: {wording.names(target.name for target in facts.targets)}."


def _stored_line(facts: Facts) -> tuple[str, Tone]:
    """``17 findings, 3 defects in run 2, compare zoo:lenet5.``"""
    amount = tally(facts)
    where = f" in {facts.subject}" if facts.subject else ""
    return f"{amount[:1].upper()}{amount[1:]}{where}.", Tone.FAIL if facts.defects else Tone.PASS


def _difference_of_runs(found: RunDifference) -> tuple[str, Tone]:
    tone = Tone.FAIL if found.new else Tone.PASS
    sizes = (len(found.new), len(found.gone), len(found.still_there))
    return words.beside_earlier(found.before, found.after, *sizes, is_fixed=found.is_fixed), tone


def _one_case(facts: Facts) -> tuple[str, Tone]:
    """Still fails, flaky, fixed or cannot run."""
    if facts.defects:
        first = facts.defects[0]
        return f"{_subject(facts)} still fails. {_accusation(first, None)}.", Tone.FAIL
    if facts.findings:
        first = by_class(facts.findings)[0]
        klass = first.diagnosis.klass
        if klass is Class.FLAKY:
            return f"{_subject(facts)} is flaky: it failed in some repeats only.", Tone.UNDECIDED
        if first.is_defect:
            return f"{_subject(facts)} still fails, in a known way.", Tone.PASS
        return f"{_subject(facts)} still fails, but this is not a defect: {CLASS_MEANINGS[klass]}.", Tone.UNDECIDED
    ran = [target.name for target in facts.targets if target.usable]
    if facts.targets and not ran:
        return f"{_subject(facts)} cannot run here.", Tone.UNDECIDED
    if facts.stats.get("undecided"):
        return f"It is not decided whether {_subject(facts)} still fails.", Tone.UNDECIDED
    if facts.accused:
        return words.found_elsewhere(_subject(facts), ran, facts.accused), Tone.UNDECIDED
    return f"{_subject(facts)} no longer fails here.", Tone.PASS


def _zoo(facts: Facts) -> tuple[str, Tone]:
    trained = sum(model.trained for model in facts.models)
    models = wording.count(len(facts.models), "model")
    return f"{models} of the zoo, {trained or 'none'} with trained weights here.", Tone.PASS


def _inspection(facts: Facts) -> tuple[str, Tone]:
    usable = sum(target.usable for target in facts.targets)
    if not usable:
        return "No target can run here.", Tone.UNDECIDED
    if facts.command == "doctor":
        return _examination(facts)
    return f"{usable} of {wording.count(len(facts.targets), 'target')} can run here.", Tone.PASS


def _examination(facts: Facts) -> tuple[str, Tone]:
    ill = [target.name for target in facts.broken_targets]
    late = [target.name for target in facts.targets if target.status == "not examined"]
    if ill:
        return f"{wording.names(ill)} {'does' if len(ill) == 1 else 'do'} not work.", Tone.FAIL
    works = sum(target.usable for target in facts.targets)
    if late:
        was = "was" if len(late) == 1 else "were"
        return f"{wording.count(works, 'target')} work; {wording.names(late)} {was} not examined.", Tone.UNDECIDED
    return f"Every installed target works ({works}).", Tone.PASS


# --- what was left open -------------------------------------------------------------------------


def _open_points(facts: Facts) -> tuple[str, ...]:
    """One sentence per way of giving no answer, with whom it concerns and why."""
    points: dict[str, dict[str, list[str]]] = {}

    def add(label: str, reason: str, whom: str) -> None:
        points.setdefault(label, {}).setdefault(wording.one_line(reason), []).append(whom)

    for comparison in facts.comparisons or ():
        if comparison.verdict.judgement is Judgement.UNDECIDED:
            add("Not decided", comparison.verdict.reason, f"{comparison.a} / {comparison.b}")
    for label, reasons in (("Not decided", facts.undecided), ("Not compared", facts.unsupported)):
        for reason, amounts in _most_frequent(reasons):
            add(label, reason, wording.count(amounts, "case"))
    if facts.command not in INSPECTIONS:
        for target in facts.targets:
            if not target.usable:
                add(target.status.capitalize(), target.reason, target.name)
    return tuple(f"{label}: {_targets_by_reason(reasons)}." for label, reasons in points.items())


def _most_frequent(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """A campaign has dozens of reasons: the most frequent, and the others together; the document has them all."""
    ranked = sorted(reasons.items(), key=lambda item: -item[1])
    if len(ranked) <= _NAMED_REASONS + 1:
        return ranked
    rest = [amount for _, amount in ranked[_NAMED_REASONS:]]
    return [*ranked[:_NAMED_REASONS], (f"{len(rest)} other reasons", sum(rest))]


def _targets_by_reason(reasons: dict[str, list[str]]) -> str:
    return "; ".join(
        f"{wording.names(dict.fromkeys(whom))} ({reason.rstrip('.')})" if reason else wording.names(whom)
        for reason, whom in reasons.items()
    )
