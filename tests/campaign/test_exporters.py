"""An examination of a model that some targets run from an exported file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.whole_models import ExaminedModel as Examined
from tensorparity.core.arrays import Array
from tensorparity.core.case import ModelFile
from tensorparity.core.finding import Class
from tensorparity.core.model import Model
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.reporting.words import sentences

Examine = Callable[..., Examined]
A, B, C = "fake:a", "fake:b", "fake:c"
FILE = ModelFile("m.fake", "0" * 64, "fake")
EXPORTED = ModelFile("m.onnx", "1" * 64, "onnx-export", exporter="some.exporter")


def exported(model: Model) -> Model:
    """The model as a file, which two of the targets run from what was exported of it."""
    return Model("m.fake", file=FILE, files={A: FILE, B: EXPORTED, C: EXPORTED})


def files(model: Model) -> dict[str, Any]:
    """What is in both files."""
    return dict.fromkeys([FILE.sha256, EXPORTED.sha256], (model.graph, model.weights))


def bump(array: Array) -> Array:
    return array + np.float32(0.05)


def verdicts(examined: Examined) -> dict[tuple[str, str], Judgement]:
    return {(c.a, c.b): c.verdict.judgement for c in examined.comparisons}


def test_a_layer_that_is_wrong_in_the_file_blames_the_exporter(
    examine: Examine, fake_runner: Any, classifier: Model
) -> None:
    runner = fake_runner(files=files(classifier), planted={B: {"conv2": bump}, C: {"conv2": bump}})
    examined = examine(runner, exported(classifier))
    (suspicion,) = examined.suspicions
    assert suspicion.diagnosis.klass is Class.DEFECT
    assert suspicion.diagnosis.suspects == ("exporter:some.exporter",)
    assert suspicion.diagnosis.node == "conv2#0"
    assert any(ran.fresh for ran in runner.ran)
    assert verdicts(examined) == {(A, B): Judgement.FAIL, (A, C): Judgement.FAIL, (B, C): Judgement.PASS}


def test_outputs_that_only_the_file_gives_blame_the_exporter_or_the_only_original(
    examine: Examine, fake_runner: Any, classifier: Model
) -> None:
    runner = fake_runner(files=files(classifier), whole={B: bump, C: bump})
    examined = examine(runner, exported(classifier))
    (suspicion,) = examined.suspicions
    assert suspicion.diagnosis.suspects == (A, "exporter:some.exporter")
    assert suspicion.diagnosis.node is None
    assert verdicts(examined)[(A, B)] is Judgement.FAIL


def test_what_does_not_show_again_is_flaky(examine: Examine, fake_runner: Any, classifier: Model) -> None:
    runner = fake_runner(files=files(classifier), planted={B: {"conv2": bump}, C: {"conv2": bump}}, only_once=True)
    examined = examine(runner, exported(classifier))
    assert [s.diagnosis.klass for s in examined.suspicions] == [Class.FLAKY]


def test_a_runtime_that_is_wrong_alone_is_blamed_itself(examine: Examine, fake_runner: Any, classifier: Model) -> None:
    examined = examine(fake_runner(files=files(classifier), planted={B: {"conv2": bump}}), exported(classifier))
    assert [s.diagnosis.suspects for s in examined.suspicions] == [(B,)]


def test_a_fixed_batch_is_kept_to_in_every_run(
    examine: Examine, fake_runner: Any, classifier: Model, images: dict[str, Array]
) -> None:
    runner = fake_runner(files=files(classifier), planted={B: {"conv2": bump}})
    examined = examine(runner, replace(classifier, batch=4))
    sizes = {len(array) for ran in runner.ran for array in ran.case.inputs.values()}
    assert sizes == {4}
    assert examined.comparisons[0].instances == len(images["x"])
    assert [s.diagnosis.node for s in examined.suspicions] == ["conv2#0"]


def test_the_exporters_case_stays_in_the_file(examine: Examine, fake_runner: Any, classifier: Model) -> None:
    """Alone and lowered by ourselves, the layer would be right."""
    runner = fake_runner(files=files(classifier), planted={B: {"conv2": bump}, C: {"conv2": bump}})
    (suspicion,) = examine(runner, exported(classifier)).suspicions
    assert suspicion.case.subject is FILE
    assert suspicion.case.procedure.nodes == ("conv2#0",)
    assert list(suspicion.case.inputs) == ["conv2#0/0"]


@pytest.mark.parametrize(
    ("failing", "suspects"), [((B, C), ("exporter:some.exporter",)), ((B,), (B,)), ((A,), (A,))], ids=str
)
def test_who_is_blamed_for_a_file_that_does_not_run(
    examine: Examine, fake_runner: Any, classifier: Model, failing: tuple[str, ...], suspects: tuple[str, ...]
) -> None:
    runner = fake_runner(files=files(classifier), raising={target: ["conv2"] for target in failing})
    examined = examine(runner, exported(classifier))
    (suspicion,) = examined.suspicions
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.ERROR, suspects)
    doubtful = any("a second runtime would decide it" in line for line in sentences(suspicion.diagnosis))
    assert doubtful == (failing == (B,))
