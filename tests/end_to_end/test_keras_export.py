"""``compare MODEL.keras`` on ONNX runtimes: Keras' export in between, and who is blamed if that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tf2onnx")
pytest.importorskip("openvino")

pytestmark = [pytest.mark.tensorflow, pytest.mark.onnxruntime]

#: The exporter writes another slope than the model has. Imported by every worker, it bites in the one that exports.
WRONG_EXPORTER = """
import os

if os.environ.get("KERAS_BACKEND") == "tensorflow":
    from tf2onnx import tfonnx

    convert = tfonnx.tensorflow_onnx_mapping

    def with_another_slope(graph, *args, **kwargs):
        result = convert(graph, *args, **kwargs)
        for node in graph.get_nodes():
            if node.type == "LeakyRelu":
                node.set_attr("alpha", 0.5)
        return result

    tfonnx.tensorflow_onnx_mapping = with_another_slope
"""
TARGETS = ("--targets", "keras:tensorflow,onnxruntime,openvino", "--format", "json")


@pytest.fixture(scope="module")
def model(save_keras: Any) -> Path:
    return Path(
        save_keras(
            "leaky.keras",
            """
            x = keras.Input((8, 8, 2), name="x")
            y = keras.layers.Conv2D(4, 3, name="conv")(x)
            y = keras.layers.BatchNormalization(name="norm")(y)
            y = keras.layers.LeakyReLU(0.1, name="leaky")(y)
            y = keras.layers.Flatten(name="flat")(y)
            model = keras.Model(x, keras.layers.Dense(3, name="out")(y))
            """,
        )
    )


@pytest.fixture(scope="module")
def planted(tensorparity: Any, model: Path, folder: Path) -> Any:
    (tensorparity.folder / "wrong_exporter.py").write_text(WRONG_EXPORTER)
    return tensorparity("compare", model, *TARGETS, "--import", "wrong_exporter", "--out", folder / "wrong")


def test_a_fault_of_the_exporter_is_the_exporters(planted: Any, valid: Callable[[Any], Any]) -> None:
    assert planted.code == 1, planted.stderr
    document = valid(planted.document)
    (finding,) = document["findings"]
    assert (finding["class"], finding["suspects"]) == ("defect", ["exporter:keras-tf2onnx"])
    assert (finding["node"], finding["api"]) == ("leaky#0", "keras.layers.LeakyReLU")
    verdicts = {(item["a"], item["b"]): item["verdict"] for item in document["comparisons"]}
    assert verdicts["onnxruntime", "openvino"] == "pass"
    assert verdicts["keras:tensorflow", "onnxruntime"] == "fail"
    assert any("exported to ONNX by keras-tf2onnx; all 5 layers" in note for note in document["notes"])


def test_its_script_exports_the_smallest_layer(planted: Any, folder: Path) -> None:
    (finding,) = planted.document["findings"]
    script = (folder / "wrong" / finding["reproducer"]).read_text()
    assert not script.startswith("# Not verified"), script
    assert "keras.layers.LeakyReLU(" in script
    assert 'model.export("model.onnx", format="onnx"' in script
    assert "load_model" not in script  # built, not loaded
    assert len(script.splitlines()) <= 36
    assert list(finding["parameters"]) in ([], ["negative_slope"])
    assert any(line.startswith("reduced from") for line in finding["evidence"])


@pytest.mark.slow
def test_its_case_fails_again_and_not_without_the_fault(tensorparity: Any, planted: Any, folder: Path) -> None:
    case = folder / "wrong" / planted.document["findings"][0]["case"]
    again = tensorparity("replay", case, "--import", "wrong_exporter", "--format", "json")
    assert again.code == 1, again.stderr
    assert again.document["findings"][0]["suspects"] == ["exporter:keras-tf2onnx"]
    assert tensorparity("replay", case).code == 0


LAYER = """
import keras


@keras.saving.register_keras_serializable("mine")
class Leaky(keras.layers.Layer):
    def call(self, x):
        return keras.ops.leaky_relu(x, 0.1)
"""


@pytest.mark.slow
def test_a_layer_that_no_catalogue_knows_is_shown_by_the_file(tensorparity: Any, save_keras: Any, folder: Path) -> None:
    (tensorparity.folder / "wrong_exporter.py").write_text(WRONG_EXPORTER)
    (tensorparity.folder / "my_leaky.py").write_text(LAYER)
    model = save_keras(
        "mine.keras",
        f"""
        import sys
        sys.path.append({str(tensorparity.folder)!r})
        import my_leaky
        x = keras.Input((8,), name="x")
        model = keras.Model(x, my_leaky.Leaky(name="leaky")(keras.layers.Dense(3, name="dense")(x)))
        """,
    )
    modules = ("--import", "my_leaky", "--import", "wrong_exporter")
    ended = tensorparity("compare", model, *TARGETS, *modules, "--trust", "--out", folder / "mine")
    assert ended.code == 1, ended.stderr
    (finding,) = ended.document["findings"]
    # no reference says what the layer gives, so the only target that runs the original may be wrong as well
    assert (finding["suspects"], finding["node"]) == (["keras:tensorflow", "exporter:keras-tf2onnx"], "leaky#0")
    assert any("shown by the model file" in line for line in finding["evidence"])
    path = folder / "mine" / finding["reproducer"]
    assert not path.read_text().startswith("# Not verified"), path.read_text()
    assert list(path.parent.glob("mine-*.keras"))


@pytest.mark.slow
def test_without_a_fault_nothing_is_found(tensorparity: Any, model: Path, folder: Path) -> None:
    ended = tensorparity("compare", model, *TARGETS, "--localize", "always", "--out", folder / "right")
    assert ended.code == 0, ended.stderr
    assert {item["verdict"] for item in ended.document["comparisons"]} == {"pass"}
    assert not ended.document["findings"]


@pytest.mark.slow
def test_what_the_exporter_cannot_write_is_lowered_with_a_note(
    tensorparity: Any, save_keras: Any, folder: Path
) -> None:
    """tf2onnx knows no Erfc, which is how Keras computes gelu on TensorFlow."""
    model = save_keras("gelu.keras", 'model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "gelu")])')
    ended = tensorparity("compare", model, *TARGETS, "--out", folder / "gelu")
    assert ended.code == 0, ended.stderr
    assert any("the exporter has no ONNX for Erfc" in note for note in ended.document["notes"])
    assert {item["verdict"] for item in ended.document["comparisons"]} == {"pass"}
