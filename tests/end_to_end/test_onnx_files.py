"""``compare MODEL.onnx`` through the command line, on real runtimes; real models from PyPI in the slow part."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

pytestmark = pytest.mark.onnxruntime

#: ONNX Runtime with another slope: the model it is given is changed on the way.
WRONG_SLOPE = """
import onnx
import onnxruntime

_right = onnxruntime.InferenceSession


def session(model, *args, **kwargs):
    changed = onnx.load_from_string(model)
    for node in changed.graph.node:
        if node.op_type == "LeakyRelu":
            node.attribute[0].f *= 1.5
    return _right(changed.SerializeToString(), *args, **kwargs)


onnxruntime.InferenceSession = session
"""


def network() -> Any:
    rng = np.random.default_rng(3)
    kernel = rng.standard_normal((4, 3, 3, 3)).astype(np.float32) / 5
    matrix = rng.standard_normal((4 * 6 * 6, 10)).astype(np.float32) / 12
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("LeakyRelu", ["c"], ["r"], name="leaky", alpha=0.2),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "matrix"], ["m"], name="head"),
        helper.make_node("Softmax", ["m"], ["probabilities"], name="softmax"),
    ]
    weights = [numpy_helper.from_array(kernel, "kernel"), numpy_helper.from_array(matrix, "matrix")]
    image = helper.make_tensor_value_info("image", 1, ("batch", 3, 6, 6))
    output = helper.make_tensor_value_info("probabilities", 1, ("batch", 10))
    graph = helper.make_graph(nodes, "network", [image], [output], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "network.onnx"
    onnx.save(network(), path, save_as_external_data=True, location="network.data", size_threshold=0)
    return path


@pytest.fixture(scope="module")
def fault(model: Path) -> Path:
    path = model.parent / "wrong_slope.py"
    path.write_text(WRONG_SLOPE)
    return path


class TestCompare:
    def test_the_able_targets_are_chosen_and_agree(self, tensorparity: Any, valid: Any, model: Path) -> None:
        ended = tensorparity("compare", model, "--format", "json", "--out", model.parent / "agree")
        assert ended.code == 0, ended.stderr
        document = valid(ended.document)
        assert document["targets"] == ["onnxruntime", "openvino"]
        (comparison,) = document["comparisons"]
        assert (comparison["output"], comparison["verdict"]) == ("probabilities", "pass")
        assert comparison["top1_agreement"] == 1.0
        notes = " ".join(document["notes"])
        assert "external data: network.data" in notes

    def test_two_runtimes_and_an_arbiter_say_who_is_wrong(
        self, tensorparity: Any, valid: Any, model: Path, fault: Path
    ) -> None:
        out = model.parent / "differ"
        planted = ("--fault", f"onnxruntime={fault}", "--format", "json")
        ended = tensorparity("compare", model, "--targets", "onnxruntime,openvino", *planted, "--out", out)
        assert ended.code == 1, ended.stderr
        document = valid(ended.document)
        (finding,) = document["findings"]
        assert (finding["class"], finding["suspects"]) == ("defect", ["onnxruntime"])
        assert (finding["node"], finding["api"]) == ("leaky#0", "onnx.LeakyRelu")
        assert finding["parameters"] == {"alpha": 0.2}
        assert "onnx:reference was asked about 1 layer that the targets dispute" in document["notes"]
        assert any("the case is the model file itself" in line for line in finding["evidence"])
        script = (out / finding["reproducer"]).read_text()
        assert script.startswith('"""onnx.LeakyRelu with alpha=0.2 gives wrong numbers on onnxruntime.'), script
        assert 'helper.make_node("LeakyRelu"' in script
        (comparison,) = document["comparisons"]
        assert comparison["verdict"] == "fail"
        types = {layer["name"]: layer["type"] for layer in comparison["layers"]}
        assert types == {
            "conv": "onnx.Conv",
            "leaky": "onnx.LeakyRelu",
            "Flatten_2": "onnx.Flatten",
            "head": "onnx.MatMul",
            "softmax": "onnx.Softmax",
        }
        again = tensorparity("replay", out / finding["case"], *planted)
        assert again.code == 1, again.stderr
        assert valid(again.document)["findings"][0]["suspects"] == ["onnxruntime"]
        healthy = tensorparity("replay", out / finding["case"], "--format", "json")
        assert (healthy.code, healthy.document["findings"]) == (0, [])

    def test_other_targets_are_refused_in_one_line(self, tensorparity: Any, model: Path) -> None:
        ended = tensorparity("compare", model, "--targets", "onnxruntime,torch:eager")
        assert ended.code == 2
        (line,) = ended.complaints
        assert "torch:eager cannot run network.onnx; ONNX files run on " in line

    def test_a_hostile_file_is_refused_in_one_line(self, tensorparity: Any, tmp_path: Path) -> None:
        hostile = network()
        weight = hostile.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="../../../../etc/passwd")
        path = tmp_path / "hostile.onnx"
        path.write_bytes(hostile.SerializeToString())
        ended = tensorparity("compare", path)
        assert ended.code == 2
        (line,) = ended.complaints
        assert "which is not a path inside of the model's folder" in line


@pytest.fixture(scope="module")
def silero(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ONNX files that silero-vad's wheel carries."""
    folder = tmp_path_factory.mktemp("silero")
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(folder), "silero-vad==6.2.3"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False, timeout=300)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        pytest.skip("silero-vad cannot be downloaded")
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(folder)
    return folder / "silero_vad" / "data"


@pytest.fixture(scope="module")
def speech(silero: Path) -> Callable[[bool], Path]:
    """Inputs that the model takes: a window of audio with its context, the state, the sampling rate."""
    rng = np.random.default_rng(0)

    def data(rate: bool) -> Path:
        arrays = {
            "input": rng.normal(0, 0.1, (8, 1, 576)).astype(np.float32),
            "state": rng.normal(0, 0.1, (8, 2, 1, 128)).astype(np.float32),
        }
        if rate:
            arrays["sr"] = np.full(8, 16000)
        path = silero / f"speech-{rate}.npz"
        np.savez(path, **arrays)
        return path

    return data


@pytest.mark.slow
class TestSilero:
    TARGETS = "onnxruntime,openvino,onnx:reference"

    @pytest.mark.parametrize("name", ["silero_vad_openvino_16k", "silero_vad_16k_sequence"])
    def test_seeded_inputs(self, tensorparity: Any, silero: Path, name: str) -> None:
        ended = tensorparity(
            "compare", silero / f"{name}.onnx", "--targets", self.TARGETS, "--localize", "always", "--format", "json"
        )
        assert (ended.code, ended.document["findings"]) == (0, [])
        assert {comparison["verdict"] for comparison in ended.document["comparisons"]} == {"pass"}

    def test_branches_with_ranks_of_their_own(self, tensorparity: Any, silero: Path, speech: Any) -> None:
        """OpenVINO wants to know every rank beforehand; the other two agree."""
        ended = tensorparity(
            "compare", silero / "silero_vad.onnx", "--data", speech(True), "--targets", self.TARGETS, "--format", "json"
        )
        verdicts = {(c["a"], c["b"]): c["verdict"] for c in ended.document["comparisons"]}
        assert verdicts["onnxruntime", "onnx:reference"] == "pass"
        for finding in ended.document["findings"]:
            assert (finding["kind"], finding["suspects"]) == ("error", ["openvino"])
            assert "rank has to be known" in finding["evidence"][0]

    def test_captured_weights(self, tensorparity: Any, silero: Path, speech: Any) -> None:
        path = silero / "silero_vad_op18_ifless.onnx"
        ended = tensorparity(
            "compare",
            path,
            "--data",
            speech(True),
            "--targets",
            self.TARGETS,
            "--localize",
            "always",
            "--format",
            "json",
        )
        assert (ended.code, ended.document["findings"]) == (0, [])
