"""What a finding says in words: a sentence for every code of evidence, and the title. Nothing else makes them.

Every sentence stands by itself: its reader may never have seen this tool. Where a sentence belongs to a code that is
not in the table (a plug-in's, or a newer version's), the text that came with the evidence is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from ..core.evidence import Evidence
from ..core.finding import Class, Diagnosis, Finding
from ..core.jsontext import Json
from ..core.severity import Severity, severity_of
from ..core.verdict import Kind, Stage
from . import wording
from .rule_words import other_side, rule_symptom

Data = Mapping[str, Json]

_EXPORTER = "exporter:"
#: ... and how the name of one ends that is what a library says of itself.
_DOCUMENTATION = ":documentation"
#: So many parameters are part of a title, each as long as this.
_MOST_PARAMETERS, _LONGEST_PARAMETER = 4, 60

#: What a target is held against.
_AGAINST = {"reference": "the float64 reference", "vote": "what most targets give"}

#: How a layer was looked at: what is said of it, by the code that triage uses.
_HOW = {
    "forward": "{} run alone on identical inputs",
    "backward": "the gradient of {}, pulled back alone on identical inputs and cotangents",
    "loss": "{} run alone on identical predictions, in value or gradient",
    "update": "one step of {} from identical weights with its own gradients",
    "own-loss": "the loss {}, computed from its own outputs",
    "loss-gradient": "the gradient of the loss {} with respect to the predictions",
    "all-gradients": "the gradients of the loss through {}",
    "state": "the state of {} after one training step",
    "fit-loss": "the loss of {}, trained from identical weights",
    "fit-weights": "the weights of {}, trained from identical weights",
}
#: In the data of evidence of which some was left out: its text is all that may be said.
REDACTED = "redacted"
#: What the judges of whole steps call what has no layer of its own.
_NAMELESS = {"training": "the whole model"}


class Told(Protocol):
    """A finding, or a suspicion on its way to become one."""

    @property
    def kind(self) -> Kind: ...
    @property
    def stage(self) -> Stage: ...
    @property
    def diagnosis(self) -> Diagnosis: ...
    @property
    def targets(self) -> tuple[str, ...]: ...


def sentence(evidence: Evidence) -> str:
    """One observation in words."""
    if evidence.data.get(REDACTED):
        return evidence.text
    said = SENTENCES.get(evidence.code)
    return said(evidence.data) if said else str(evidence)


def sentences(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The evidence of a diagnosis in words."""
    return tuple(sentence(item) for item in diagnosis.observations)


def with_words(finding: Finding) -> Finding:
    """The finding with its words filled in: the text of its evidence, and its title."""
    evidence = tuple(replace(item, text=sentence(item)) for item in finding.diagnosis.observations)
    return replace(finding, diagnosis=replace(finding.diagnosis, evidence=evidence), title=title(finding))


def in_short(finding: Finding) -> str:
    """``wrong (inconsistency), stage forward; users meet it through ...; not fully reduced: out of time``."""
    severity, kind = finding.severity.value, finding.kind.value
    said = f"{severity}{f' ({kind})' if kind != severity else ''}, stage {finding.stage.value}"
    if finding.reached_through:
        said += f"; users meet it through {wording.names(finding.reached_through)}"
    why = f": {finding.not_reduced}" if finding.not_reduced else ""
    return f"{said}; not fully reduced{why}" if finding.reduced is False else said


def remark(finding: Finding) -> str:
    """Of a defect that fails nothing here."""
    return f"Remark: {title(finding)} ({finding.id}: {in_short(finding)})."


# --- the title ----------------------------------------------------------------------------------


def title(told: Told, on: str = "", otherwise: str = "a model") -> str:
    """``keras.layers.CenterCrop with data_format='channels_first' gives a different shape on keras:torch``.

    Args:
        on: one of the suspects, where only that one is spoken of.
        otherwise: what is wrong where no API is known.
    """
    diagnosis = told.diagnosis
    suspects = (on,) if on else diagnosis.suspects
    what = (diagnosis.api or otherwise) + _with(diagnosis.parameters)
    exporters = [suspect.removeprefix(_EXPORTER) for suspect in suspects if suspect.startswith(_EXPORTER)]
    if exporters:
        others = [suspect for suspect in diagnosis.suspects if not suspect.startswith(_EXPORTER)]
        doubt = f", or wrong on {wording.names(others)}" if others else ""
        return f"{what} is exported wrongly by {wording.names(exporters)}{doubt}"
    if diagnosis.klass is Class.UNSUPPORTED:
        return f"{what} is not supported{_on(suspects, told.targets)}"
    if diagnosis.klass is Class.SPECIFICATION:
        return f"{what} differs between targets, where the documentation leaves it open"
    place = "{}" if what.startswith(_EXPORT) else _PLACES.get(told.stage, "{}")
    said = f"{place.format(what)} {symptom(told.kind, diagnosis)}{_on(suspects, told.targets)}"
    return f"{said}, in some runs only" if diagnosis.klass is Class.FLAKY else said


#: A method that is what it is about.
_EXPORT = "keras.Model.export"
_PLACES = {
    Stage.BUILD: "building {}",
    Stage.BACKWARD: "the gradient of {}",
    Stage.UPDATE: "a training step of {}",
    Stage.SAVE_LOAD: "{}, saved and loaded again,",
}


def not_confirmed(count: int) -> str:
    """Of suspicions that the time did not suffice for."""
    return f"{wording.count(count, 'suspicion')} could not be confirmed in the time that was left"


#: Of what could not be confirmed, so many are named.
_MOST_NAMED = 3


def _worst_of(suspicions: Sequence[Told]) -> str:
    """What the worst of them would be called, if they were confirmed."""
    worst = sorted(suspicions, key=lambda told: severity_of(told.kind, told.diagnosis).rank)
    names = list(dict.fromkeys(title(told) for told in worst))
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return "; ".join([*names[:_MOST_NAMED], *more])


def left_open(unconfirmed: Sequence[Told], hangs: Sequence[str], spared: Mapping[str, Mapping[str, int]]) -> list[str]:
    """What a campaign leaves open, a sentence each.

    Args:
        unconfirmed: suspicions that there was no time to confirm.
        hangs: the same of hangs, each with API and target.
        spared: by target and what hangs on it, how many requests were answered from memory.
    """
    said = []
    if unconfirmed:
        said.append(f"{not_confirmed(len(unconfirmed))}, a longer --budget has more: {_worst_of(unconfirmed)}")
    said += [f"{name} did not answer in time, and there was no time left to confirm that it hangs" for name in hangs]
    for target, parts in spared.items():
        for part, count in parts.items():
            cases = wording.count(count, "case")
            said.append(f"{part} hung on {target}; {cases} with it skipped there")
    return said


def dear_rules_left_out(rules: Sequence[str]) -> str:
    """What a run of a few functions did not do, and how to have it done."""
    return (
        f"left out, because they take a compiler seconds for each call: {wording.names(rules)}; "
        f"--rule {','.join(rules)} runs them alone, and with --budget all rules are run"
    )


def first_reduce() -> str:
    """Above defects that nobody upstream could do anything with yet."""
    return "There was no time to reduce these, so that they have no script. Each command below makes one."


def before_sending() -> str:
    """What a page of drafts says first: nobody sends anything but the reader."""
    return (
        "Drafts for the library's own issue tracker, the worst first; nothing was sent anywhere. Before you file one, "
        "check whether the newest release still shows the defect, and search the tracker for it."
    )


def beside_earlier(before: str, after: str, new: int, gone: int, still_there: int, *, is_fixed: bool) -> str:
    """What a run has found beside an earlier one: ``2 new, 1 fixed, 5 still there: run 2 compared with run 1.``"""
    return f"{new} new, {gone} {gone_as(is_fixed)}, {still_there} still there: {after} compared with {before}."


def gone_as(is_fixed: bool) -> str:
    """What is said of what an earlier run has found and a later one has not."""
    return "fixed" if is_fixed else "not seen again"


def clock(spent: float, budget: float | None) -> str:
    """How long a run has taken, and what is left of its time."""
    if budget is None:
        return _minutes(spent)
    left = max(0.0, budget - spent)
    return f"{_minutes(min(spent, budget) if left else spent)} of {_minutes(budget)}, {_minutes(left)} left"


def _minutes(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def work(phase: str, done: int, total: int | None, cases: int, spent: float, detail: str) -> str:
    """What a run is doing: the phase, how much of it is done, its speed, and whatever the phase says itself."""
    amount = f" {done} of {total}" if total else f" {done}" if done else ""
    speed = f"{cases / spent:.1f} cases/s" if cases and spent else ""
    return ", ".join(part for part in (f"{phase}{amount}", speed, detail) if part)


def workers(targets: Sequence[str], restarts: Mapping[str, int]) -> str:
    """The targets with how often their workers had to be started again."""
    named = dict.fromkeys([*targets, *restarts])
    told = (f"{name} ({wording.count(restarts[name], 'restart')})" if restarts.get(name) else name for name in named)
    return f"workers: {', '.join(told)}" if named else ""


def never_trained(targets: Sequence[str]) -> str:
    """Of a training that was asked for."""
    return f"the model was not trained: {_do_not_support(targets, 'training')}, or did not run the model"


def _do_not_support(targets: Sequence[str], what: str) -> str:
    return f"{wording.names(targets)} {'does' if len(targets) == 1 else 'do'} not support {what}"


def not_trained() -> str:
    """The same as a clause of the headline, and what else was asked for and gave no answer."""
    return "the training that was asked for never ran"


def interrupted() -> str:
    return "the run was interrupted"


def not_beside_itself() -> str:
    return "no target was compared with itself"


def silent_beside_itself(target: str, ways: Sequence[str]) -> str:
    return f"{target} could not be compared with itself ({wording.names(ways)})"


def changes_own_labels(target: str, ways: Sequence[tuple[str, int]]) -> str:
    """``onnxruntime differs from itself: 2 labels change in batch size 1``."""
    told = wording.names(f"{wording.count(changed, 'label')} in {way}" for way, changed in ways)
    return f"{target} differs from itself: other labels ({told})"


def differs_from_itself(target: str, ways: Sequence[tuple[str, float]]) -> str:
    """Of a target beside itself, by more than rounding."""
    told = wording.names(f"{wording.number(apart)} in {way}" for way, apart in ways)
    return f"{target} differs from itself (relatively by {told})"


def not_searched(missed: int, pairs: int) -> str:
    """Of ``--stress``."""
    if missed == pairs:
        return "the search of --stress never ran"
    return f"{missed} of {wording.count(pairs, 'pair')} {'was' if missed == 1 else 'were'} not searched by --stress"


def never_ran(stages: Sequence[str], targets: Sequence[str]) -> str:
    """Of stages of a training step that were asked for."""
    return f"{wording.names(stages)} never ran: {_do_not_support(targets, 'it' if len(stages) == 1 else 'them')}"


def no_size_fits(
    inputs: Sequence[tuple[str, Sequence[int | None]]], sizes: Sequence[int], target: str, said: str
) -> str:
    """Of open sizes that nobody can guess: what was tried, what was said of it, and the option that helps."""
    shapes = wording.names(
        f"{name} ({', '.join('?' if s is None else str(s) for s in shape)})" for name, shape in inputs
    )
    given = " ".join(
        f"--input {name}={'x'.join('SIZE' if s is None else str(s) for s in shape)}" for name, shape in inputs
    )
    tried = ", ".join(str(size) for size in sorted(sizes))
    return f"{target} accepts none of the sizes {tried} for the open sizes of {shapes} ({said}); choose them: {given}"


def not_examined(target: str, seconds: float) -> str:
    """Of a target that took too long to be examined."""
    return f"no answer within {seconds:.0f} s; 'tensorparity doctor --targets {target}' waits for it"


def machine(
    architecture: str,
    cores: int,
    instructions: Sequence[str],
    switches: Mapping[str, str],
    compiler: str | None,
    headers: bool,
    memory: int,
    available: int,
) -> list[str]:
    """What decides which kernels run here."""
    sets = ", ".join(instructions) or "instruction set not known"
    kernels = ", ".join(f"{name}={value}" for name, value in switches.items()) or "each library's default"
    if compiler is None:
        compiling = "torch.compile has no C++ compiler: install g++, or set CXX"
    elif not headers:
        compiling = f"torch.compile has {compiler}, but not Python's headers (python3-dev)"
    else:
        compiling = f"torch.compile has {compiler}"
    gib = 1 << 30
    return [
        f"machine: {architecture}, {wording.count(cores, 'core')}, {sets}",
        f"oneDNN and kernels: {kernels}",
        compiling,
        f"memory: {available / gib:.1f} of {memory / gib:.1f} GiB free; a worker may use half of all (--memory)",
    ]


def planted_faults(faults: Mapping[str, str]) -> list[str]:
    """The planted faults, by target."""
    return [f"fault {name} is planted in {target}" for target, name in faults.items()]


def without_effect(target: str, fault: str) -> str:
    """Of a planted fault that nobody noticed."""
    return f"The fault {fault} planted in {target} changed nothing that was compared."


def never_tried(target: str, fault: str) -> str:
    """Of a planted fault that nobody could notice."""
    return f"Nothing was compared in which the fault {fault} planted in {target} could have shown."


def nothing_judged(on: str) -> str:
    """Of a campaign whose time was over before its first result: not the same as one that found nothing."""
    return f"Nothing is known yet: no case was judged{f' on {on}' if on else ''}"


def labels_changed(changed: int, instances: int, a: str, b: str) -> str:
    """How many labels two targets disagree about."""
    return f"{changed} of {wording.count(instances, 'label')} changed between {a} and {b}"


def why_labels_change(
    measured: int, layers: int, units: float | None, limit: float | None, reason: str, *, by_rounding: bool
) -> str:
    """Why a pair passes that changes labels: "rounding" only where every layer was seen to do no more than round.

    Args:
        measured: so many of the ``layers`` were run alone, and were off by up to ``units`` of rounding.
        limit: K, up to which that is rounding.
        reason: of the pair's verdict.
        by_rounding: the pair was judged by what rounding explains, and not by a distance of a paper's.
    """
    if not measured or units is None:
        none = f"none of its {wording.count(layers, 'layer')} was run alone" if layers else "no layer was run alone"
        return f"{none} ({reason})"
    within = limit is not None and units <= limit
    every = wording.count(layers, "layer")
    alone = f"all {every} were run alone" if measured == layers else f"{measured} of {every} could be run alone"
    if not within:
        return f"{alone}, and the worst is off by {wording.number(units)} units of rounding ({reason})"
    if measured < layers:
        return f"{alone}, and those agree to {wording.number(units)} units of rounding ({reason})"
    agree = f"all {every} agree alone to {wording.number(units)} units of rounding"
    return f"{agree}, so this is rounding carried along" if by_rounding else f"{agree} ({reason})"


def as_much_from_itself(target: str, ways: Sequence[str]) -> str:
    """Of a target that is beside itself as far away as from the other one."""
    return f"{target} differs from itself as much ({wording.names(ways)})"


def not_finite(counts: Mapping[str, int]) -> list[str]:
    """Of the user's own data: what is no number there is none anywhere behind."""
    if not counts:
        return []
    arrays = wording.names(f"{count} in {name}" for name, count in counts.items())
    return [
        f"The data contains NaN or infinite values ({arrays}); what follows from them is not the fault of any target."
    ]


def found_elsewhere(subject: str, ran: Sequence[str], accused: Sequence[str]) -> str:
    """A case that was replayed without whom it was filed against."""
    return f"{subject} does not fail on {wording.names(ran)}; the failure was found on {wording.names(accused)}."


def symptom(kind: Kind, diagnosis: Diagnosis) -> str:
    """What a user sees: ``raises ValueError``, ``gives a different shape``."""
    if kind in _ENDS:
        verb, plain = _ENDS[kind]
        how = next((str(item.data["type"]) for item in diagnosis.observations if item.code == "ended"), "")
        return f"{verb} {how}" if how and verb else plain
    if kind is Kind.NAN:
        return _nan_symptom(diagnosis)
    if kind is Kind.EQUIVALENCE:
        return _rule_symptom(diagnosis)
    if kind in _SYMPTOMS:
        return _SYMPTOMS[kind]
    if diagnosis.klass is Class.PRECISION or severity_of(kind, diagnosis) is Severity.DIGITS:
        return "gives inexact numbers"
    return "gives wrong numbers"


#: With the name of the exception or signal, and without.
_ENDS = {
    Kind.ERROR: ("raises", "raises an exception"),
    Kind.CRASH: ("kills the process with", "kills the process"),
    Kind.HANG: ("", "never ends"),
}
_SYMPTOMS = {
    Kind.SHAPE: "gives a different shape",
    Kind.DTYPE: "gives a different dtype",
    Kind.ACCEPTS_INVALID: "is accepted, though the documentation rules it out",
    Kind.PRECISION: "gives inexact numbers",
}


def _rule_symptom(diagnosis: Diagnosis) -> str:
    """Two computations of one thing that disagree, by the rule that says they agree."""
    seen = {item.code: item.data for item in diagnosis.observations}
    return rule_symptom(str(seen.get("breaks-rule", {}).get("rule", "")), dict(seen.get("differs-at", {})))


def _nan_symptom(diagnosis: Diagnosis) -> str:
    if any(item.code == "both-ways" for item in diagnosis.observations):
        return "gives NaN in some places and numbers in others, for the same input"
    placed = (item.data for item in diagnosis.observations if item.code in ("not-finite", "says"))
    place = next(placed, None)
    if place is None:
        return "gives NaN or infinity"
    given, right = _is_finite(place["observed"]), _is_finite(place["expected"])
    said = "a number" if given else _special(place["observed"])
    return f"gives {said}" if right and not given else f"gives {said} where {_special(place['expected'])} is right"


def _special(value: Json) -> str:
    """What is no number, in words."""
    number = float(value)
    return "NaN" if math.isnan(number) else "infinity" if number > 0 else "-infinity"


def _with(parameters: Mapping[str, Json]) -> str:
    if not parameters:
        return ""
    shown = [_short(wording.parameters({name: value})) for name, value in list(parameters.items())[:_MOST_PARAMETERS]]
    return f" with {', '.join(shown)}{', ...' if len(parameters) > _MOST_PARAMETERS else ''}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_PARAMETER else text[: _LONGEST_PARAMETER - 3] + "..."


def _on(suspects: Sequence[str], targets: Sequence[str]) -> str:
    """Where; code that all targets of a family share is accused by the family's name."""
    if not suspects:
        return ""
    if suspects[0].endswith(_DOCUMENTATION):
        library = suspects[0].removesuffix(_DOCUMENTATION).capitalize()
        return f" on every {library} backend, as in its tests: the documentation is the suspect"
    family = suspects[0] if len(suspects) == 1 and suspects[0] not in targets else ""
    if family and any(target.startswith(f"{family}:") for target in targets):
        return f" on every {family.capitalize()} backend"
    return f" on {wording.names(suspects)}"


# --- numbers and places -------------------------------------------------------------------------


def _value(value: Json) -> str:
    """A number as it is read; non-finite ones come as words from a store."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return wording.number(float(value), digits=6) if isinstance(value, float) else str(value)
    return str(value)


def _is_finite(value: Json) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return True


def where(data: Data) -> str:
    """``conv (Conv2D) run alone on identical inputs``."""
    return _HOW.get(data["how"], _HOW["forward"]).format(_layer(data))


def _layer(data: Data) -> str:
    """A layer by its name in the model and its type; a call, a loss or an optimizer by what it is."""
    name, op = data["layer"], data["op"]
    if op in _NAMELESS:
        return _NAMELESS[op]
    return op if name in (op, "call", "loss", "training") else f"{name} ({op})"


def _explained_text(ratio: Json) -> str:
    if ratio is None or not math.isfinite(float(ratio)):
        return "more than any rounding explains"
    return f"{float(ratio):.3g} times what rounding explains"


def _index(data: Data) -> str:
    output = f" of output {data['output']}" if data.get("output") else ""
    return f"at {list(data['index'])}{output}" if data["index"] else f"in its only element{output}"


# --- one sentence per code: what a layer, a loss or an optimizer gives ----------------------------


def _off(data: Data) -> str:
    off = float(data["off"])
    by = f"off by {off:.3g}" if off and math.isfinite(off) else "wrong"  # some measures know no absolute error
    said = f"{data['target']} is {by} in {where(data)}: {_explained_text(data['ratio'])}"
    return f"{said}; {_gives(data)}" if "index" in data else said


def _gives(data: Data) -> str:
    return f"{_index(data)} it gives {_value(data['observed'])} where {who_is_right(data)} {_value(data['expected'])}"


def who_is_right(data: Data) -> str:
    return "the reference gives" if data["against"] == "reference" else "most targets give"


def _not_finite(data: Data) -> str:
    given = f"{_value(data['observed'])} where {who_is_right(data)} {_value(data['expected'])}"
    return f"{data['target']} gives {given}, {_index(data)}, in {where(data)}"


def _other_shape(data: Data) -> str:
    given = f"the shape {_shape(data['given'])} where {who_is_right(data)} {_shape(data['wanted'])}"
    return f"{data['target']} gives {given}, in {where(data)}"


def _shape(sizes: Json) -> str:
    return f"({', '.join(map(str, sizes))})"


def _other_dtype(data: Data) -> str:
    return f"{data['target']} returns {data['dtype']} in {where(data)}, which is not what its dtype policy says"


def _agree(data: Data) -> str:
    targets, off, ratio = data["targets"], float(data["off"]), data["ratio"]
    to = f" to {off:.1g}" if off and math.isfinite(off) else ""
    bound = f", {float(ratio):.1g} of what rounding explains" if ratio is not None and float(ratio) > 0 else ""
    return f"{wording.names(targets)} agree{'s' * (len(targets) == 1)} with {_AGAINST[data['against']]}{to}{bound}"


def _all_agree(data: Data) -> str:
    return f"all of them agree with each other, but not with {_AGAINST[data['against']]}"


def _affected_text(data: Data) -> str:
    return f"{data['count']} layers of type {data['op']} are affected; {data['layer']} is the first"


def _no_answer(data: Data) -> str:
    return f"{data['target']} {data['ending']}"


def _announced_text(data: Data) -> str:
    return f"{data['target']} gives {data['given']}, although it announces {data['announced']}"


def _outvoted_dtype(data: Data) -> str:
    return f"{data['target']} gives {', '.join(data['given'])}, most others give {', '.join(data['most'])}"


# --- gradients ------------------------------------------------------------------------------------


def _outside_slopes(data: Data) -> str:
    if "slope" not in data:
        return f"{data['target']} gives a gradient that is not finite along {data['along']}"
    given, low, high = (float(data[name]) for name in ("slope", "low", "high"))
    allowed = f"where the formula allows {low:.4g} to {high:.4g}"
    return f"{data['target']} gives the slope {given:.4g} along {data['along']}, {allowed}"


def _kink(data: Data) -> str:
    targets = ", ".join(data["targets"])
    return f"the gradients of {targets} differ at a kink or tie of {data['op']}, where it has no derivative"


def _between_slopes(data: Data) -> str:
    return "each lies between the one-sided derivatives of the formula in every direction tried"


def _guard(data: Data) -> str:
    return f"the gradients of {', '.join(data['targets'])} differ where {data['op']} is guarded against infinities"


def _guard_formula(data: Data) -> str:
    return "each follows a formula with the guard in a different place, and it is not documented which is meant"


# --- endings --------------------------------------------------------------------------------------


def _ended_text(data: Data) -> str:
    """How a call ended that should have answered."""
    target, status, kind = data["target"], data["status"], data["type"]
    call = f" in {data['api']}({wording.parameters(data.get('parameters', {}))})" if data.get("api") else ""
    if status == "crashed":
        message = f": {data['message']}" if data["message"] else ""
        return f"{target}: the process {_death(str(kind))}{call}{message}"
    if status == "timed out":
        return f"{target}: no answer{call}: {data['message'] or kind}"
    return f"{target} raised {kind}{call}: {data['message']}"


def _death(kind: str) -> str:
    """How a process ended: ``was killed by SIGSEGV``, ``ended with exit code 3``, or what else is known of it."""
    if kind.startswith(("SIG", "signal ")):
        return f"was killed by {kind}"
    return f"ended with {kind}" if kind.startswith("exit code") else f"died ({kind})"


def _completed_text(data: Data) -> str:
    return f"{wording.names(data['targets'])} completed the same case on the same inputs"


def _accepted_text(data: Data) -> str:
    return "the documented shape rule and formula accept it"


def _unsupported_text(data: Data) -> str:
    if data.get("missing"):
        return f"{data['target']} says that it needs a package which is not installed here"
    return f"{data['target']} says that it does not support this"


# --- what the documentation leaves open -------------------------------------------------------------


def _freedom(data: Data) -> str:
    name = f" ({data['name']})" if data.get("name") else ""
    return f"documented freedom{name}: {data['words']} ({data['source']})"


def _documentation(data: Data) -> str:
    return (
        f"a test that {str(data['library']).capitalize()} ships expects what all backends do with {data['api']} "
        f"({data['test']}); its documentation says otherwise, so the documentation is the suspect"
    )


def _formula(data: Data) -> str:
    return f"the documentation of {data['api']} says: {data['words']}"


def _defined(data: Data) -> str:
    return f"{data['target']} agrees with the library that defines the function: {data['words']}"


# --- repeats ----------------------------------------------------------------------------------------


def _not_again(data: Data) -> str:
    return "did not fail again in fresh processes"


def _only_together(data: Data) -> str:
    return "only together: it occurs when the calls are compiled as one unit, not when each is compiled alone"


def _two_answers(data: Data) -> str:
    return f"{data['target']} gives two different answers on the same case"


def _says(data: Data) -> str:
    """``sin(1e+06) = -0.349993502, and jax:jit says -0.35 in float32: 80 times what rounding explains``."""
    said, true = (f"{float(data[name]):.9g}" for name in ("observed", "expected"))
    ratio = "" if data["ratio"] is None else f": {float(data['ratio']):.3g} times what rounding explains"
    return f"{data['called']} = {true}, and {data['target']} says {said} in {data['dtype']}{ratio}"


def _both_ways(data: Data) -> str:
    """Either answer would be right; both are not."""
    at, index = data["target"], list(data["index"])
    if data["how"] == "size":
        return f"{at} answers NaN or a number at {index}, depending on how many equal rows are given at once"
    if data["how"] != "position":
        return f"{at} gives NaN where {data['how']} gives a number, or a number where that gives NaN, at {index}"
    rows = wording.count(int(data["rows"]), "equal row")
    return f"of {rows}, {at} answers some with NaN and some with a number (at {index}): it depends only on the position"


def explained(stats: Mapping[str, Json]) -> str:
    """``; 40 suspicions were sightings of known defects (3 reduced all the same, none refuted); 8 % not reduced``."""
    said = ""
    if found := int(stats.get("explained", 0)):
        were = "suspicion was a sighting" if found == 1 else "suspicions were sightings"
        audit = f"{int(stats['audited']):,} reduced all the same, {int(stats['refuted']) or 'none'} refuted"
        said = f"; {found:,} {were} of known defects ({audit})"
    share = float(stats.get("unreduced_share", 0.0))
    return f"{said}; {100 * share:.0f} % of the defects not reduced" if share else said


def _filled_otherwise(data: Data) -> str:
    """An initializer or a variable, by its documentation."""
    return f"{data['api']} on {data['target']}: {data['how']}"


def _both_formulas(data: Data) -> str:
    """Either formula would be right; both are not."""
    at = data["target"]
    if data["how"] == "size":
        return f"{at} computes the loss by one formula of few samples and by another of many"
    return f"{at} computes the loss by another formula than {data['how']}"


def _settings(data: Data) -> str:
    """``seen only with threads=1; not with threads=2``: whoever looks at it elsewhere has to know."""
    tried, missing, needed = data["tried"], data["missing"], data["needed"]
    if not missing:
        return f"seen under every setting tried: the default and {wording.names(tried)}"
    only = f"seen only with {wording.names(needed)}" if needed else "seen with the default settings"
    matter = {setting.partition("=")[0] for setting in missing}
    same = [setting for setting in tried if setting not in missing and setting not in needed]
    more = [setting for setting in same if setting.partition("=")[0] in matter]
    also = f", also with {wording.names(more)}" if more else ""
    rest = [setting for setting in same if setting not in more]
    other = f"; no difference with {wording.names(rest)}" if rest else ""
    return f"{only}{also}; not seen with {wording.names(missing)}{other}"


# --- exported files ---------------------------------------------------------------------------------


def _exported_layer(data: Data) -> str:
    runtimes, originals = " and ".join(data["runtimes"]), " and ".join(data["originals"])
    return (
        f"{where(data)}: {runtimes} agree with each other on the exported file, but not with {originals} "
        "on the original"
    )


def _original_doubt(data: Data) -> str:
    """Two runtimes agree because the file is wrong, or because they are right: one original alone cannot tell."""
    originals = " and ".join(data["originals"])
    return (
        f"no reference and no independent target says that the original is right: {originals}, or code of yours that "
        f"{'it runs' if len(data['originals']) == 1 else 'they run'}, may be wrong as well as the exporter"
    )


def _exported_output(data: Data) -> str:
    runtimes, originals = " and ".join(data["runtimes"]), " and ".join(data["originals"])
    return (
        f"output {data['output']}: {runtimes} agree with each other on the exported file to "
        f"{float(data['together']):.1g} of its scale, and differ by {float(data['apart']):.3g} from {originals} "
        "on the original"
    )


def _exporter_doubt(data: Data) -> str:
    return (
        f"{data['target']} runs a file exported by {data['exporter']}, which may be wrong instead: "
        "adding a second runtime would decide it"
    )


def _no_layer_differs(data: Data) -> str:
    return "no layer that could be run alone differs"


# --- whole runs -------------------------------------------------------------------------------------


def _fused_text(data: Data) -> str:
    return (
        f"only when fused: {data['target']} gives a different answer when the model runs as a whole than layer by "
        f"layer ({float(data['relative']):.3g} of the output's scale), though no layer is wrong on its own"
    )


def _stretch(data: Data) -> str:
    names = data["layers"]
    listed = ", ".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]}"
    layers = wording.count(len(names), "layer")
    return f"the shortest stretch that shows it: {listed} ({layers}; {data['checks']} cuts tried)"


# --- reduction --------------------------------------------------------------------------------------


def _reduced_text(data: Data) -> str:
    before = f"{wording.count(data['nodes'], 'node')} and {data['numbers']:,} numbers"
    stopped = f" ({data['stopped']})" if data.get("stopped") else ""
    after = f"{data['nodes_after']} and {data['numbers_after']:,}"
    return f"reduced from {before} to {after} in {data['checks']} checks{stopped}"


def _not_reduced(data: Data) -> str:
    return f"not reduced{', shown by the model file' if data.get('by_file') else ''}: {data['why']}"


def _file_itself(data: Data) -> str:
    return "the layer is not in the catalogue: the case is the model file itself, with its smallest batch"


def another_sighting(identity: str) -> str:
    """Of a finding that is one defect with another one."""
    return f"another sighting of {identity}, which is the same defect"


def _script_doubt(data: Data) -> str:
    return f"reproducer {'not verified' if data['written'] else 'missing'}: {data['why']}"


# --- whole models, refusals, rules, papers, witnesses -------------------------------------------------


def _model_completed(data: Data) -> str:
    return f"{wording.names(data['targets'])} completed the same model on the same inputs"


def _no_runtime_completed(data: Data) -> str:
    return "no runtime that was given the exported file completed it"


def _pair_differs(data: Data) -> str:
    return f"{data['a']} and {data['b']}, output {data['output']!r}: {data['reason']}"


def _rounding_carried(data: Data) -> str:
    share = _share_measured(data)
    every = "every layer agrees" if not share else f"every layer that was run alone agrees ({share})"
    return f"{every}, on identical inputs: the difference is rounding, carried along"


def _share_measured(data: Data) -> str:
    """``8 of 9``; empty for all of them, and where an older version counted nothing."""
    measured, layers = data.get("measured"), data.get("layers")
    return "" if measured is None or measured == layers else f"{measured} of {layers}"


def _layers_unknown(data: Data) -> str:
    share, seen = _share_measured(data), "the layers of the model could not be run alone"
    if data.get("measured"):
        some = f"only {share} layers of the model could be run alone on both, and those agree"
        seen = some if share else "every layer of the model agrees alone"
    return f"{seen}, so it is not known which of the two is wrong"


def _introduction_rate(data: Data) -> str:
    return (
        f"{data['layer']} ({data['type']}) is the first layer whose introduction rate, {data['rate']:.3g}, is above "
        "the third quartile of all layers; the rule compares the two and blames neither"
    )


def _adjacent_layers(data: Data) -> str:
    return f"each layer is right on its own, but {' followed by '.join(data['layers'])} is wrong"


def _right_before_saving(data: Data) -> str:
    return "before the model was saved and loaded, the same layer was right"


def _optimizer_step(data: Data) -> str:
    return (
        f"{data['target']}: the weights after one step of {data['optimizer']} differ from the optimizer's formula, "
        f"evaluated on the target's own gradients, by {data['ratio']:.3g} times what rounding explains"
    )


def _accepts(data: Data) -> str:
    given = wording.parameters(data["parameters"])
    return f"{data['target']} accepts {given}, which the documentation rules out"


def _refuses(data: Data) -> str:
    return f"{data['target']} refuses it"


def _declared_valid(data: Data) -> str:
    return f"{data['by']} says that {data['api']} takes this call"


def _breaks_rule(data: Data) -> str:
    rule = str(data["rule"])
    named, other = f"the rule {rule!r}" if rule else "an equivalence", other_side(rule)
    sides = f"the plain call and the same call {other} must agree, and" if other else "two computations that must agree"
    return f"{data['target']} breaks {named}: {sides} do not: {data['how']}"


def _differs_at(data: Data) -> str:
    of = {0: "the plain call", 1: "the other side"}.get(data["wrong"])
    name = str(data["name"])
    of_input = name.removeprefix("gradient:").removeprefix("input:")
    what = f"result {name}" if name.isdigit() else f"the gradient by {of_input}" if name != of_input else "the call"
    blamed = f"{of} is considered wrong" if of else "nothing says which of the two is wrong"
    allowed = float(data["allowed"])
    explained = f"a difference of {allowed:.3g}" if math.isfinite(allowed) else "no NaN or infinity of one side alone"
    return f"{what}: {blamed}; rounding explains {explained}"


def _paper_parts(data: Data) -> str:
    return (
        f"{data['a']} and {data['b']} differ by {data['distance']:.3g} (Chebyshev distance) in {data['layer']}, "
        "though what flows into it agrees"
    )


def _paper_vote(data: Data) -> str:
    return (
        f"all others agree with each other, but not with {data['odd']}"
        if data["odd"]
        else "there is no majority to say which of them is wrong"
    )


def _paper_fails(data: Data) -> str:
    return f"{data['reason']}, where another target completes the model"


def _paper_nan(data: Data) -> str:
    return f"{data['layer']} gives NaN on {', '.join(data['targets'])}"


def _paper_labels(data: Data) -> str:
    return f"{data['a']} and {data['b']} give different labels for {data['changed']} of {data['inputs']} inputs"


def under_stress(pair: Data) -> str:
    """How far apart two targets came on inputs within the range of the data; never that there is nothing further."""
    both = f"stress: {pair['a']} and {pair['b']}"
    if not pair["evaluations"]:
        return f"{both} were not searched: {pair['trouble'] or 'there was no time'}"
    changed = (
        f"the label changed for {pair['labels_changed']} of them" if pair["labels_changed"] else "no label changed"
    )
    where = f"in {pair['watched']}" if pair["watched"] else "in the output"
    through = f", most of it through {pair['layer']}" if pair["layer"] else ""
    moved = "inputs" if pair["level"] == "input" else "inputs and weights"
    kept = f"; the worst input is kept in {pair['case']}" if pair.get("case") else ""
    return (
        f"{both} differ by up to {pair['distance']:.3g} {where}{through}, on {pair['evaluations']} {moved} within the "
        f"range of the data; {changed}; a lower bound, larger differences may exist{kept}"
    )


def weights_stay(targets: Sequence[str]) -> str:
    """Why ``--weight-tolerance`` moves nothing on some targets."""
    return f"stress: weights are not moved for {wording.names(targets)}, which would need a new model for each change"


def _paper_places(data: Data) -> str:
    places = ", ".join(data["places"])
    if data.get("kind", "inconsistency") != "inconsistency":
        ended = "another value of a parameter ends it" if "(" in places else "no other value of one parameter ends it"
        return f"{ended}: {places}"
    if not places:
        return "no layer's change rate exceeds the paper's t1: precision"
    behind = f"; behind {data['unfixed']} nobody looked, for it cannot be fixed" if data.get("unfixed") else ""
    return f"by the paper's change rates it arises in {places}{behind}"


def _guilty_parameters(data: Data) -> str:
    guilty = [f"{one['parameter']} ({_cleared_by(one['values'])})" for one in data["guilty"]]
    fails = [f"{one['parameter']} {_value(one['value'])}" for one in data.get("fails", ())]
    failing = f"; it fails in another way with {', '.join(fails)}" if fails else ""
    of = f" of {data['layer']}" if data.get("layer") else ""
    if not guilty:
        left = data["tried"] - len(fails)
        remains = f"the failure remains with each of the {left} other values tried"
        return f"no single parameter{of} is guilty: {remains}{failing}"
    return f"guilty parameters{of}: {'; '.join(guilty)}{failing}"


def _cleared_by(values: Json) -> str:
    return f"gone with {' or '.join(map(_value, values))}"


def _sometimes(data: Data) -> str:
    return "it failed in some repeats only"


def _witness_runs(data: Data) -> str:
    return f"{data['target']} runs the same layer without Keras, and completes it"


def _witness(data: Data) -> str:
    answer = "is right about" if data["right"] else "is wrong about"
    ratio = f" ({data['ratio']:.2g} times what rounding explains)" if data.get("ratio") is not None else ""
    return f"{data['target']}, which runs without Keras, {answer} the same layer on the same numbers{ratio}"


#: Whose code it is, by the package of the lowest function that is wrong.
_OWNERS = {"keras": "Keras", "torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}


def _descended(data: Data) -> str:
    owner = _OWNERS.get(data["package"], data["package"])
    right = f"; {', '.join(data['right'])} below it gave the right answers" if data["right"] else ""
    return (
        f"{data['layer']} is wrong because it calls {data['api']} like this: with the right answer of {data['api']} in "
        f"its place, {data['layer']} is right on {data['target']}; the code that is wrong is {owner}'s{right}"
    )


def _passed_on(data: Data) -> str:
    return f"{data['layer']} passes its arguments on to {data['api']}, which gives the same wrong answer"


def _by_onednn(data: Data) -> str:
    return f"the defect is in oneDNN: with oneDNN switched {data['gone']}, {data['api']} gives the right answer"


#: The sentence of every code.
SENTENCES: Mapping[str, Callable[[Data], str]] = {
    "off": _off,
    "not-finite": _not_finite,
    "other-shape": _other_shape,
    "other-dtype": _other_dtype,
    "agree": _agree,
    "all-agree": _all_agree,
    "affected": _affected_text,
    "no-answer": _no_answer,
    "announced": _announced_text,
    "outvoted-dtype": _outvoted_dtype,
    "outside-slopes": _outside_slopes,
    "kink": _kink,
    "between-slopes": _between_slopes,
    "guard": _guard,
    "guard-formula": _guard_formula,
    "ended": _ended_text,
    "completed": _completed_text,
    "accepted": _accepted_text,
    "unsupported": _unsupported_text,
    "freedom": _freedom,
    "defined": _defined,
    "formula": _formula,
    "documentation": _documentation,
    "not-again": _not_again,
    "only-together": _only_together,
    "two-answers": _two_answers,
    "settings": _settings,
    "both-ways": _both_ways,
    "both-formulas": _both_formulas,
    "filled-otherwise": _filled_otherwise,
    "says": _says,
    "exported-layer": _exported_layer,
    "exported-output": _exported_output,
    "original-doubt": _original_doubt,
    "exporter-doubt": _exporter_doubt,
    "no-layer-differs": _no_layer_differs,
    "fused": _fused_text,
    "stretch": _stretch,
    "reduced": _reduced_text,
    "not-reduced": _not_reduced,
    "file-itself": _file_itself,
    "script-doubt": _script_doubt,
    "model-completed": _model_completed,
    "no-runtime-completed": _no_runtime_completed,
    "pair-differs": _pair_differs,
    "rounding-carried": _rounding_carried,
    "layers-unknown": _layers_unknown,
    "introduction-rate": _introduction_rate,
    "adjacent-layers": _adjacent_layers,
    "right-before-saving": _right_before_saving,
    "optimizer-step": _optimizer_step,
    "accepts": _accepts,
    "refuses": _refuses,
    "breaks-rule": _breaks_rule,
    "declared-valid": _declared_valid,
    "differs-at": _differs_at,
    "paper-parts": _paper_parts,
    "paper-vote": _paper_vote,
    "paper-fails": _paper_fails,
    "paper-nan": _paper_nan,
    "paper-labels": _paper_labels,
    "paper-places": _paper_places,
    "guilty-parameters": _guilty_parameters,
    "descended": _descended,
    "passed-on": _passed_on,
    "by-onednn": _by_onednn,
    "sometimes": _sometimes,
    "witness-runs": _witness_runs,
    "witness": _witness,
}
