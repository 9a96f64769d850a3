"""An exporter under suspicion: reduced to its smallest layer where the catalogue knows it, else shown by the file.

Either way a script is written that exports, runs and compares, and it is executed before anybody is shown it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ...core.case import Case, ModelFile
from ...core.engine import Ask
from ...core.errors import TensorParityError
from ...core.finding import Class
from ...core.graph import LayerGraph
from ...core.model import Model
from ...core.oracle import OUTCOMES, Judged
from ...core.outcome import Outcome
from ...core.procedure import Goal, Procedure
from ...core.runner import Runner, run_case
from ...core.suspicion import Suspicion
from ...core.traits import TargetTraits, Traits
from ...oracles.kinds import oracle_of
from ...oracles.measure.exporters import PREFIX
from ...oracles.whole.cases import one_layer_case
from ...reporting import words
from ...targets.exporting_runner import ExportingRunner
from ...targets.model_layers import read_model
from ...targets.runner import LocalRunner, open_runner
from ..examine import Examiner
from ..reproduce.attachments import AttachmentFolder
from ..reproduce.claim import Claim
from ..reproduce.draft import draft
from ..reproduce.expectations import claim_of
from ..reproduce.exporter_scripts import EXPORTERS, exporter_script
from ..reproduce.file_scripts import KERAS_FORMATS, FileScript
from ..reproduce.literals import Unprintable
from ..reproduce.script import Reproducer
from ..reproduce.scripts import Reproduced, title_of, verify
from .passes import PASSES
from .reducer import Reduction, ReductionBudget, reduce_case


def exporter_of(suspicion: Suspicion) -> str | None:
    """The exporter that is suspected, by its name."""
    names = [suspect.removeprefix(PREFIX) for suspect in suspicion.diagnosis.suspects if suspect.startswith(PREFIX)]
    return names[0] if names else None


def reduce_exporter(
    local: LocalRunner, examiner: Examiner, suspicion: Suspicion, exporter: str, budget: ReductionBudget
) -> Reduction:
    """The smallest layer that the exporter gets wrong, as a LayerGraph.

    Where it is not in the catalogue, or alone is right, the reduction has no suspicion and says why.
    """
    began = time.monotonic()
    maker = EXPORTERS.get(exporter, "")
    if examiner.setup.traits[maker].lowering is not None or exporter not in EXPORTERS:
        return _stopped_reduction(suspicion.case, f"{exporter} takes no layers of ours", began)
    traits = examiner.setup.traits
    case = layer_case(local, suspicion, traits)
    if isinstance(case, str):
        return _stopped_reduction(suspicion.case, case, began)
    with _exporting_runner(local, examiner.runner, exporter) as exporting:
        judge = examiner.on(exporting)
        # a layer that was taken out of its file is another kind of case than the one that was convicted
        oracle = suspicion.oracle if suspicion.oracle and case is suspicion.case else oracle_of(case)

        def check(cases: Sequence[Case]) -> list[Judged]:
            asks = [Ask(case, suspicion.targets, (oracle,)) for case in cases]
            return [_by_exporter(item.judged, exporter, traits) for item in judge.examine(asks)]

        (first,) = check([case])
        found = next((s for s in first.suspicions if _alike(s, suspicion)), None)
        if found is None:
            why = first.undecided or "the layer alone is exported rightly"
            return _stopped_reduction(suspicion.case, why, began)
        reduction = reduce_case(case, found.key, check, PASSES, budget)
        return replace(reduction, original=suspicion.case)


def _stopped_reduction(case: Case, why: str, began: float) -> Reduction:
    return Reduction(case, case, None, 0, time.monotonic() - began, stopped=why)


def _alike(found: Suspicion, wanted: Suspicion) -> bool:
    suspects = set(found.diagnosis.suspects)  # alone, the layer may have a reference that clears the original
    same = suspects <= set(wanted.diagnosis.suspects) and exporter_of(found) and found.diagnosis.klass is Class.DEFECT
    return bool(same) and (wanted.diagnosis.api is None or found.diagnosis.api == wanted.diagnosis.api)


def layer_case(local: LocalRunner, suspicion: Suspicion, traits: Traits) -> Case | str:
    """The guilty layer of a Keras file as a graph of one layer with the captured inputs, or why there is none."""
    case = suspicion.case
    if isinstance(case.subject, LayerGraph):
        return case
    file = case.subject
    if not isinstance(file, ModelFile) or file.format not in KERAS_FORMATS:
        return "the layer is part of a file that is not Keras'"
    if case.procedure.goal is not Goal.REPLAY:
        return "no layer alone is to blame"
    readers = [target for target in local.targets if file.format in traits[target].reads and target not in local.broken]
    model = Model(file.path, file=file, files=dict.fromkeys(readers, file), traits=traits)
    try:
        model = read_model(local, model, readers)
    except TensorParityError as error:
        return str(error)
    key = case.procedure.nodes[0]
    assert model.graph is not None
    node = next((node for node in model.graph.nodes if node.key == key), None)
    if node is None:
        return f"{key} is not among the file's layers"
    alone = one_layer_case(model, node, list(case.inputs.values()), case.seed)
    if isinstance(alone.subject, ModelFile):
        return "the layer is not in the catalogue"
    return alone


@contextmanager
def _exporting_runner(local: LocalRunner, runner: Runner, exporter: str) -> Iterator[ExportingRunner]:
    """A planted fault must not get into the file, so a target that has one is not asked to export."""
    target, settings = EXPORTERS[exporter], local.settings
    with tempfile.TemporaryDirectory(prefix="tensorparity-export-") as folder:
        if target in local.targets and target not in settings.faults:
            yield ExportingRunner(runner, local, target, Path(folder))
            return
        with open_runner([target], replace(settings, faults={})) as home:
            yield ExportingRunner(runner, home, target, Path(folder))


def _by_exporter(checked: Judged, exporter: str, traits: Traits) -> Judged:
    """What two runtimes of the exported file are blamed for is the exporter's."""
    suspicions = []
    for suspicion in checked.suspicions:
        suspects = suspicion.diagnosis.suspects
        runtimes = [name for name in suspects if traits[name].lowering == "onnx"]
        if len(runtimes) == len(suspects) and len(traits.implementations(runtimes)) > 1:
            diagnosis = replace(suspicion.diagnosis, suspects=(PREFIX + exporter,))
            suspicion = replace(suspicion, diagnosis=diagnosis)
        suspicions.append(suspicion)
    return replace(checked, suspicions=tuple(suspicions))


# --- the script


def reproduce_exporter(local: LocalRunner, examiner: Examiner, suspicion: Suspicion, exporter: str) -> Reproduced:
    """A script that exports the reduced layer, or the file, and compares; verified if it could be."""
    outcomes = _outcomes(local, examiner, suspicion, exporter)
    traits = examiner.setup.traits
    script = Reproducer("", remark=f"no script: there is none for the exporter {exporter}")
    for case in _smallest_first(suspicion.case):
        script = _script(local, replace(suspicion, case=case), exporter, outcomes, traits)
        if script.verified:
            suspicion = replace(suspicion, case=case)
            break
    records = {target: outcome.record for target, outcome in outcomes.items()}
    name = PREFIX + exporter
    claim, said = _claim(suspicion, outcomes, traits), words.sentences(suspicion.diagnosis)
    title = title_of(suspicion, name)
    report = draft(title, name, suspicion, claim, script, records, said, TargetTraits(name))
    return Reproduced(script, report, suspicion.case)


def _outcomes(local: LocalRunner, examiner: Examiner, suspicion: Suspicion, exporter: str) -> Mapping[str, Outcome]:
    """Of a graph on all targets; of a file on those that read it, which say what its outputs are called."""
    if isinstance(suspicion.case.subject, LayerGraph) and exporter in EXPORTERS:
        with _exporting_runner(local, examiner.runner, exporter) as exporting:
            (shown,) = examiner.on(exporting).examine([Ask(suspicion.case, suspicion.targets, (OUTCOMES,))])
            return shown.own
    traits = examiner.setup.traits
    readers = [target for target in suspicion.targets if traits[target].lowering is None]
    return run_case(examiner.runner, suspicion.case, readers)


def _output_names(outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    completed = next((outcome for outcome in outcomes.values() if outcome.completed), None)
    return tuple(completed.outputs or completed.trace.nodes) if completed else ()


def _disputed_output(suspicion: Suspicion, names: Sequence[str]) -> str:
    """The output that the evidence speaks of; the first where it is about a layer."""
    told = [item.data["output"] for item in suspicion.diagnosis.observations if item.code == "exported-output"]
    return next((name for name in names if name in told), "")


def _smallest_first(case: Case) -> list[Case]:
    """A file with one instance, then with all that were seen."""
    if not isinstance(case.subject, ModelFile) or not case.inputs:
        return [case]
    one = replace(case, inputs={name: array[:1] for name, array in case.inputs.items()})
    return [one, case] if one.digest != case.digest else [case]


def _script(
    local: LocalRunner, suspicion: Suspicion, exporter: str, outcomes: Mapping[str, Outcome], traits: Traits
) -> Reproducer:
    if exporter not in EXPORTERS:
        return Reproducer("", remark=f"no script: there is none for the exporter {exporter}")
    settings, desktop = local.settings, AttachmentFolder()
    names = _output_names(outcomes)
    wanted, paths = _disputed_output(suspicion, names), settings.import_paths
    how = FileScript(names, wanted, settings.imports, settings.trust, import_paths=paths)
    title = title_of(suspicion, PREFIX + exporter) + "."
    case = suspicion.case
    if case.procedure.goal is Goal.FORWARD and isinstance(case.subject, ModelFile):
        case = replace(case, procedure=Procedure())
    claim = _claim(suspicion, outcomes, traits)
    tolerance = claim.tolerance if claim else None
    try:
        text = exporter_script(title, case, exporter, suspicion.kind, how, desktop, tolerance)
    except Unprintable as reason:
        return Reproducer("", remark=f"no short script: {reason}")
    target = EXPORTERS[exporter]
    with open_runner([target], replace(settings, faults={})) as home:
        return verify(text, home.desk(target), tuple(desktop.files.values()))


def _claim(suspicion: Suspicion, outcomes: Mapping[str, Outcome], traits: Traits) -> Claim | None:
    """What a runtime should have given by the reference of the layer, or by the vote; None where neither is known."""
    runtimes = [t for t, o in outcomes.items() if o.completed and traits[t].lowering == "onnx"]
    return claim_of(suspicion, outcomes, runtimes[0]) if runtimes else None
