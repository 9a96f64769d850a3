"""Is a defect there on every machine? Each is tried once under the settings that matter, all defects of a run together.

The reduced case is put to the same oracle, on targets that run with oneDNN on or off, with a smaller instruction set,
with two threads. A script that needs one of these sets it before it imports the library; where the processor lacks the
instruction set, it says so and exits with 77.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.endings import DEADLY
from ..core.engine import Ask
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Finding
from ..core.machine_settings import ONEDNN_SWITCHES, Setting, Tried
from ..core.progress import Progress
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Kind
from ..oracles.kinds import particular_oracle
from ..reporting.words import sentence, with_words
from ..targets.environments import available_instruction_set
from ..targets.runner import LocalRunner
from ..targets.varied import Round, VariedRunner, rounds_of
from ..triage.examine import Examiner
from ..triage.reduction.preparation import Prepared
from ..triage.reproduce.pinned import with_settings
from ..triage.reproduce.script import Reproducer
from ..triage.reproduce.scripts import verify
from .events import Listener
from .session import CampaignSession

_Shown = dict[Setting, bool]
#: How functions begin that are no library's own.
_FRONT_END = "keras."


@dataclass(frozen=True)
class _Defect:
    """A defect that was filed, as it was reduced."""

    finding: Finding
    prepared: Prepared

    @property
    def suspicion(self) -> Suspicion:
        return self.prepared.suspicion

    def accused(self, traits: Traits) -> list[str]:
        """The targets that are suspects, or run the code that is."""
        suspects, families = self.suspicion.diagnosis.suspects, traits.families(self.suspicion.targets)
        return [t for t in self.suspicion.targets if t in suspects or families[t] in suspects]


def try_settings(session: CampaignSession, runner: LocalRunner, tell: Listener, seconds: float) -> None:
    """Try what was filed, and keep what comes of it; no round is begun after so many seconds, and none in 0."""
    if not seconds:
        return
    defects = [_Defect(finding, item) for finding, item in session.filed() if _can_be_tried(finding, item)]
    traits = session.examiner.setup.traits
    shown: dict[str, _Shown] = {defect.finding.id: {} for defect in defects}
    accused = dict.fromkeys(target for defect in defects for target in defect.accused(traits))
    began = time.monotonic()
    for number, round_ in enumerate(rounds_of(accused, traits)):
        if time.monotonic() - began > seconds:
            break
        tell(Progress("trying settings", number, None, ", ".join(dict.fromkeys(map(str, round_.values())))))
        _try_round(session.examiner, runner, round_, defects, shown)
    for defect in defects:
        if shown[defect.finding.id]:
            _keep(session, runner, defect, Tried(shown[defect.finding.id], available_instruction_set()))


def _can_be_tried(finding: Finding, item: Prepared) -> bool:
    """What hangs takes ten times its deadline under every setting; what wavers says nothing of them."""
    diagnosis = finding.diagnosis
    return diagnosis.klass is Class.DEFECT and not diagnosis.wavering and finding.kind is not Kind.HANG


def _try_round(
    examiner: Examiner, runner: LocalRunner, round_: Round, defects: Sequence[_Defect], shown: Mapping[str, _Shown]
) -> None:
    with VariedRunner(runner, round_) as varied:
        other = examiner.on(varied)
        for defect in defects:
            concerned = [target for target in defect.accused(examiner.setup.traits) if target in round_]
            if not concerned:
                continue
            seen = _is_seen(other, defect.suspicion)
            if seen is not None:
                shown[defect.finding.id].update({round_[target]: seen for target in concerned})


def _is_seen(examiner: Examiner, suspicion: Suspicion) -> bool | None:
    """Whether the same is said of the case; None where a target could not be asked."""
    oracle = particular_oracle(suspicion)
    ask = Ask(suspicion.case, suspicion.targets, (oracle,) if oracle else ())
    (examined,) = examiner.examine([ask], claim=suspicion.key)
    if examined.judged.of_key(suspicion.key, Class.DEFECT) is not None:
        return True
    ended = {outcome.status for outcome in examined.own.values() if not outcome.completed}
    return None if ended and suspicion.kind not in (*DEADLY, Kind.ERROR) else False


def _keep(session: CampaignSession, runner: LocalRunner, defect: _Defect, tried: Tried) -> None:
    said = observed(
        "settings",
        tried=[str(item) for item in tried.shown],
        missing=[str(item) for item in tried.missing],
        needed=[str(item) for item in tried.needed],
    )
    diagnosis = defect.finding.diagnosis
    told = replace(diagnosis, evidence=(*diagnosis.evidence, said, *by_onednn(defect.finding, tried)))
    settings = {**defect.finding.settings, **tried.to_json()}
    finding = with_words(replace(defect.finding, diagnosis=told, settings=settings))
    script = _pinned(runner, defect, tried)
    session.change(finding, script=script.marked_text if script else None, remark=_remark(said))


def by_onednn(finding: Finding, tried: Tried) -> list[Evidence]:
    """Of a library's own function below a layer, oneDNN is to blame where its switch alone changes the answer."""
    api = finding.diagnosis.api or ""
    below = [item for item in finding.diagnosis.observations if item.code == "descended"]
    states = {setting.value: seen for setting, seen in tried.shown.items() if setting.name in ONEDNN_SWITCHES}
    gone = next((value for value, seen in states.items() if not seen), None)
    if not below or api.startswith(_FRONT_END) or gone is None or not any(states.values()):
        return []
    return [observed("by-onednn", api=api, gone="off" if gone == "0" else "on")]


def _pinned(runner: LocalRunner, defect: _Defect, tried: Tried) -> Reproducer | None:
    """The script with the settings that it needs, if it needs any and can be seen to show the defect with them."""
    script = defect.prepared.reproducer
    if script is None or not script.verified or not tried.needed:
        return None
    suspects = [target for target in defect.suspicion.diagnosis.suspects if target in runner.targets]
    target = next(iter([*suspects, *defect.suspicion.targets]))
    return verify(with_settings(script.text, tried.needed), runner.desk(target), script.beside)


def _remark(said: Evidence) -> str:
    return f"## Settings\n\n{sentence(said)}\n"
