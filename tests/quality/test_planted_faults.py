"""Does it find this? The named faults, each in another backend: suspect and layer come first.

And without a fault: no defect.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tensorparity.core.graph import LayerGraph
from tensorparity.store.casefile import read_case
from tensorparity.targets.faults import parse_faults
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.reduction.order import elements, odd_parameters
from tensorparity.triage.reproduce.scripts import execute

pytestmark = [pytest.mark.tensorflow, pytest.mark.jax, pytest.mark.torch]


@dataclass(frozen=True)
class Planted:
    """A fault, where it is planted, and the first layer that shows it."""

    fault: str
    suspect: str
    other: str
    model: str
    node: str
    api: str

    def __str__(self) -> str:
        return f"{self.fault} in {self.suspect}"


FAULTS = [
    # The first strided convolution of ResNet-20 on even sizes; symmetric padding cannot be shifted.
    Planted("same-padding-shifted", "keras:tensorflow", "keras:torch", "zoo:resnet20", "s2b1_1_conv#0", "Conv2D"),
    Planted(
        "batchnorm-epsilon-outside-sqrt", "keras:jax", "keras:torch", "zoo:resnet20", "stem_bn#0", "BatchNormalization"
    ),
    Planted("conv-kernels-flipped", "keras:jax", "keras:torch", "zoo:inception-block", "t2b_conv#0", "Conv2D"),
    Planted("avgpool-counts-padding", "keras:torch", "keras:jax", "zoo:inception-block", "pool#0", "AveragePooling2D"),
]


def check(code: int, document: Any, suspect: str, api: str) -> Any:
    """The first finding, which must name the suspect and the type of the layer."""
    assert code == 1
    first = document["findings"][0]
    assert (first["class"], first["suspects"]) == ("defect", [suspect])
    assert first["api"] == f"keras.layers.{api}"
    assert first["measure"]["value"] > first["threshold"]
    blamed = {target for finding in document["findings"] for target in finding["suspects"]}
    assert blamed == {suspect}
    return first


#: A convolution's kernel is one of the museum's, of which some are planted in every run.
NAMED = [pytest.param(f, id=str(f), marks=pytest.mark.slow if "flipped" in f.fault else ()) for f in FAULTS]


@pytest.mark.parametrize("planted", NAMED)
def test_suspect_and_layer_are_named_first(planted: Planted, compare: Any) -> None:
    targets = f"{planted.other},{planted.suspect}"
    code, document = compare(planted.model, targets, f"{planted.suspect}={planted.fault}")
    first = check(code, document, planted.suspect, planted.api)
    assert first["node"] == planted.node
    (pair,) = document["comparisons"]
    assert pair["verdict"] == "fail"
    layer = next(layer for layer in pair["layers"] if f"{layer['name']}#{layer['call']}" == planted.node)
    assert layer["isolated_error"] > document["isolated_threshold"]


#: One in every run, the others by ``make slow``: each starts a dozen processes.
REDUCED = [pytest.param(f, id=str(f), marks=() if f.api == "BatchNormalization" else pytest.mark.slow) for f in FAULTS]


@pytest.mark.parametrize("planted", REDUCED)
def test_reduced_to_one_layer_and_a_script(planted: Planted, compare: Any, tmp_path: Path) -> None:
    """One layer, the smallest shape, one or two parameters; the script fails with the fault and passes without."""
    fault = f"{planted.suspect}={planted.fault}"
    _, document = compare(planted.model, f"{planted.other},{planted.suspect}", fault, out=tmp_path)
    first = document["findings"][0]
    case = read_case(tmp_path / first["case"]).case
    assert isinstance(case.subject, LayerGraph)
    (node,) = case.subject.nodes
    assert f"keras.layers.{node.op}" == f"keras.layers.{planted.api}" == first["api"]
    assert len(odd_parameters(node)) <= 2
    assert elements(case) <= 12
    script = tmp_path / first["reproducer"]
    text = script.read_text()
    assert not text.startswith("# Not verified"), text
    assert len(text.splitlines()) <= 30
    desk = open_runner([planted.suspect], RunnerSettings(faults=parse_faults([fault]))).desk(planted.suspect)
    assert [execute(text, desk, planted=with_fault)[0] for with_fault in (True, False)] == [1, 0]


@pytest.mark.parametrize("model", ["zoo:resnet20", "zoo:inception-block"])
def test_no_fault_no_defect(model: str, compare: Any) -> None:
    code, document = compare(model, "keras:tensorflow,keras:jax,keras:torch")
    assert (code, document["findings"]) == (0, [])
    assert [pair["verdict"] for pair in document["comparisons"]] == ["pass"] * 3


@pytest.mark.slow
class TestInceptionV3:
    """The real thing from ``keras.applications``, with weights that were never trained."""

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, save_keras: Any) -> Path:
        return save_keras("inception_v3.keras", "model = keras.applications.InceptionV3(weights=None)")

    @pytest.mark.parametrize(
        ("fault", "api"),
        [
            ("avgpool-counts-padding", "AveragePooling2D"),
            ("batchnorm-epsilon-outside-sqrt", "BatchNormalization"),
            ("same-padding-shifted", ""),
        ],
    )
    def test_faults(self, model: Path, compare: Any, fault: str, api: str) -> None:
        code, document = compare(model, "keras:tensorflow,keras:torch", f"keras:torch={fault}", instances=2)
        if api:
            check(code, document, "keras:torch", api)
        else:  # every convolution with "same" padding has an odd kernel and stride 1: there is nothing to shift
            assert (code, document["findings"]) == (0, [])

    def test_clean(self, model: Path, compare: Any) -> None:
        code, document = compare(model, "keras:tensorflow,keras:torch", instances=2)
        assert (code, document["findings"]) == (0, [])
