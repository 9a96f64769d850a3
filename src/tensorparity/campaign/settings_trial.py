"""Is a defect there on every machine? Each is tried once under the settings that matter, all defects of a run together.

The reduced case is put to the same oracle, on targets that run with oneDNN on or off, with a smaller instruction set,
with two threads. A script that needs one of these sets it before it imports the library; where the processor lacks the
instruction set, it says so and exits with 77.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.endings import DEADLY
from ..core.engine import Ask, Engine
from ..core.errors import OutOfTimeError
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
from ..triage.examine import Examined, Examiner
from ..triage.reduction.preparation import Prepared, ReducingSettings
from ..triage.reproduce.pinned import with_settings
from ..triage.reproduce.script import Reproducer
from ..triage.reproduce.scripts import verify
from .budget import SEARCHING, StopReason
from .events import Listener
from .loop import run_engines
from .session import CampaignSession

#: Of a campaign's time, what is kept for trying settings; what the search leaves of it is spent on them as well, up to
#: ``settings_seconds``.
_KEPT = 1 / 10

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


def without_trial(seconds: float | None, reserved: float) -> float | None:
    """What is left of a budget for searching; None where only the cases count, and settings have the time they take."""
    return seconds if seconds is None or reserved == math.inf else seconds - reserved


def run_and_try_settings(
    session: CampaignSession,
    engines: Sequence[Engine],
    tell: Listener,
    reducing: ReducingSettings | None,
    *,
    seconds: float | None,
    cases: int | None,
    began: float,
    searching: float = SEARCHING,
) -> StopReason:
    """Run engines, and try what they found under other settings, all of it in the time there is.

    Args:
        seconds: the whole time on the wall; None where only the cases count.
        began: when it began to count, on the monotonic clock.
        searching: the share of an engine's time that goes into running cases while something waits to be confirmed.
    """
    trying = reducing.settings_seconds if reducing and session.local else 0.0
    kept = _KEPT * seconds if seconds is not None and 0 < trying < math.inf else 0.0
    left = None if seconds is None else seconds - kept
    stop = run_engines(session, engines, seconds=left, cases=cases, began=began, searching=searching)
    if trying and session.local and stop is not StopReason.INTERRUPTED:
        # what was not tried is not lost, so nothing of it may be late
        ends = began + seconds if kept and seconds is not None else math.inf
        if not try_settings(session, session.local, tell, trying, ends):
            return StopReason.INTERRUPTED
    return stop


def try_settings(
    session: CampaignSession, runner: LocalRunner, tell: Listener, seconds: float, ends: float = math.inf
) -> bool:
    """Try what was filed for so many seconds, and keep what comes of it; in 0, nothing is tried.

    Args:
        ends: when all of it is given up, on the monotonic clock.

    Returns:
        False where the user interrupted it.
    """
    if not seconds or time.monotonic() >= ends:
        return True
    defects = [_Defect(finding, item) for finding, item in session.filed() if _can_be_tried(finding, item)]
    shown: dict[str, _Shown] = {defect.finding.id: {} for defect in defects}
    limit = runner.settings.time_limit
    limit.at = min(time.monotonic() + seconds, ends)
    try:
        _try_rounds(session.examiner, runner, tell, defects, shown)
    except OutOfTimeError:
        pass  # what was tried counts
    except KeyboardInterrupt:
        return False
    finally:
        limit.at = math.inf
    for defect in defects:
        if shown[defect.finding.id]:
            tried = Tried(shown[defect.finding.id], available_instruction_set())
            _keep(session, runner, defect, tried, pin=time.monotonic() < ends)
    return True


def _try_rounds(
    examiner: Examiner, runner: LocalRunner, tell: Listener, defects: Sequence[_Defect], shown: Mapping[str, _Shown]
) -> None:
    traits = examiner.setup.traits
    accused = dict.fromkeys(target for defect in defects for target in defect.accused(traits))
    for number, round_ in enumerate(rounds_of(accused, traits)):
        tell(Progress("trying settings", number, None, ", ".join(dict.fromkeys(map(str, round_.values())))))
        _try_round(examiner, runner, round_, defects, shown)


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
            families = examiner.setup.traits.families(defect.suspicion.targets)
            seen = seen_on(_examined(other, defect.suspicion), defect.suspicion, families, concerned)
            shown[defect.finding.id].update({round_[target]: seen[target] for target in concerned if target in seen})


def _examined(examiner: Examiner, suspicion: Suspicion) -> Examined:
    oracle = particular_oracle(suspicion)
    ask = Ask(suspicion.case, suspicion.targets, (oracle,) if oracle else ())
    (examined,) = examiner.examine([ask], claim=suspicion.key)
    return examined


def seen_on(
    examined: Examined, suspicion: Suspicion, families: Mapping[str, str], targets: Sequence[str]
) -> dict[str, bool]:
    """On which of the targets the same is seen; without those that nothing can be said of.

    Each may run under a setting of its own, so that one may be right now and the others still wrong.
    """
    if examined.judged.of_key(suspicion.key, Class.DEFECT) is not None:
        return dict.fromkeys(targets, True)
    accused = {name for other in examined.judged.suspicions if _is_alike(suspicion, other) for name in _suspects(other)}
    seen = {target: bool({target, families[target]} & accused) for target in targets}
    ended = any(not outcome.completed for outcome in examined.own.values())
    unasked = ended and suspicion.kind not in (*DEADLY, Kind.ERROR)
    return {target: found for target, found in seen.items() if found or not unasked}


def _is_alike(suspicion: Suspicion, other: Suspicion) -> bool:
    return other.diagnosis.klass is Class.DEFECT and (other.kind, other.stage) == (suspicion.kind, suspicion.stage)


def _suspects(suspicion: Suspicion) -> tuple[str, ...]:
    return suspicion.diagnosis.suspects


def _keep(session: CampaignSession, runner: LocalRunner, defect: _Defect, tried: Tried, *, pin: bool) -> None:
    """File what was seen.

    Args:
        pin: also make a script that sets what it needs, which takes a run of it; without time for that it stays as it
            is, and the finding says what it needs.
    """
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
    script = _pinned(runner, defect, tried) if pin else None
    session.change(finding, script=script.marked_text if script else None, remark=_remark(said))


def by_onednn(finding: Finding, tried: Tried) -> list[Evidence]:
    """Of a library's own function below a layer, oneDNN is to blame where its switch alone changes the answer."""
    api = finding.diagnosis.api or ""
    below = [item for item in finding.diagnosis.observations if item.code == "descended"]
    gone = next((setting.value for setting in tried.missing if setting.name in ONEDNN_SWITCHES), None)
    kept = any(setting.name in ONEDNN_SWITCHES for setting in tried.needed)
    if not below or api.startswith(_FRONT_END) or gone is None or not kept:
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
