"""``compare`` on real libraries: an honest answer, and one that follows what is planted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Valid = Callable[[Any], Any]


@dataclass(frozen=True)
class Compared:
    """A run of ``compare``: how it ended, and the folder it wrote to."""

    ended: Any
    out: Path


@pytest.mark.tensorflow
@pytest.mark.jax
@pytest.mark.torch
class TestLeNet5:
    """The zoo's LeNet-5, trained the first time it is asked for."""

    TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")

    @pytest.fixture(scope="class")
    @classmethod
    def compared(cls, tensorparity: Any, folder: Path) -> Compared:
        out = folder / "lenet5"
        options = ("--targets", ",".join(cls.TARGETS), "--steps", 3, "--format", "json", "--out", out)
        return Compared(tensorparity("compare", "zoo:lenet5", *options), out)

    @pytest.fixture(scope="class")
    @classmethod
    def document(cls, compared: Compared, valid: Valid) -> Any:
        return valid(compared.ended.document)

    def test_it_is_the_same_everywhere(self, compared: Compared, document: Any) -> None:
        assert compared.ended.code == 0, compared.ended.stderr
        assert document["findings"] == []
        assert [pair["verdict"] for pair in document["comparisons"]] == ["pass"] * 6
        pairs = {(frozenset((pair["a"], pair["b"])), pair["output"]) for pair in document["comparisons"]}
        assert len(pairs) == 6

    def test_it_was_trained_and_judged_on_labels(self, document: Any) -> None:
        for pair in document["comparisons"][:3]:
            assert min(pair["accuracy"]) > 0.9
            assert (pair["top1_agreement"], pair["instances"]) == (1.0, 1000)
            assert {distance["name"] for distance in pair["distances"]} == {"class", "mad"}

    def test_the_trainings_stand_side_by_side(self, document: Any) -> None:
        training = document["training"]
        assert set(training["losses"]) == set(self.TARGETS)
        first, *others = training["losses"].values()
        assert len(first) == len(training["drift"]) == 3
        assert len(set(first)) == 3, "another batch has another loss"
        for losses in others:
            assert losses == pytest.approx(first, rel=1e-3)
        assert [layer["layer"] for layer in training["layers"]] == ["conv1", "conv2", "fc1", "fc2", "logits"]
        assert all(layer["difference"] < 1e-3 for layer in training["layers"])

    def test_every_target_is_near_the_true_value(self, document: Any) -> None:
        run = document["high_precision"]
        assert run["by"] == "our reference of every layer"
        assert len(run["inputs"]) == 8
        deviations = {item["target"]: item for item in run["deviations"]}
        assert set(deviations) == set(self.TARGETS)
        for item in deviations.values():
            assert 0 < item["max_rel"] < 1e-4
            assert item["labels_changed"] == 0

    def test_versions_of_every_target_are_recorded(self, document: Any) -> None:
        assert document["targets"] == list(self.TARGETS)
        for target in self.TARGETS:
            library = target.partition(":")[2]
            assert {"keras", library} <= set(document["versions"][target])

    def test_the_page_says_the_same(self, compared: Compared) -> None:
        page = (compared.out / "report.html").read_text(encoding="utf-8")
        assert "<html" in page
        assert "zoo:lenet5 is the same on" in page

    def test_only_json_on_standard_output(self, compared: Compared) -> None:
        assert compared.ended.stdout.startswith("{")
        assert all(line.startswith("[") for line in compared.ended.stderr.splitlines()), "a line for each phase"


@pytest.mark.torch
@pytest.mark.onnxruntime
class TestCaches:
    """A clean cached run, a fault, and the fault removed again: the verdict follows each time."""

    FAULT = ("--fault", "keras:torch=avgpool-counts-padding")

    @pytest.fixture(scope="class")
    @classmethod
    def runs(cls, tensorparity: Any, folder: Path) -> dict[str, Compared]:
        found = {}
        for name, fault in (("clean", ()), ("again", ()), ("planted", cls.FAULT), ("removed", ())):
            options = ("--targets", "keras:torch,onnxruntime", "--instances", 4, "--format", "json", "--no-reduce")
            out = folder / f"cache-{name}"
            found[name] = Compared(tensorparity("compare", "zoo:inception-block", *options, "--out", out, *fault), out)
        return found

    @pytest.mark.parametrize(("name", "code"), [("clean", 0), ("again", 0), ("planted", 1), ("removed", 0)])
    def test_the_verdict_follows(self, runs: dict[str, Compared], valid: Valid, name: str, code: int) -> None:
        assert runs[name].ended.code == code, runs[name].ended.stderr
        document = valid(runs[name].ended.document)
        assert [pair["verdict"] for pair in document["comparisons"]] == ["fail" if code else "pass"]

    def test_the_second_run_came_from_the_cache(self, runs: dict[str, Compared]) -> None:
        first, second = (runs[name].ended.document["stats"]["phases"]["extract"] for name in ("clean", "again"))
        assert second < first / 3

    def test_cached_figures_are_the_same_figures(self, runs: dict[str, Compared]) -> None:
        figures = [runs[name].ended.document["comparisons"][0]["max_abs"] for name in ("clean", "again", "removed")]
        assert len(set(figures)) == 1

    def test_the_finding_names_suspect_and_layer(self, runs: dict[str, Compared]) -> None:
        document = runs["planted"].ended.document
        finding = document["findings"][0]
        assert (finding["class"], finding["suspects"], finding["node"]) == ("defect", ["keras:torch"], "pool#0")
        assert finding["api"] == "keras.layers.AveragePooling2D"
        assert finding["parameters"]["padding"] == "same"
        assert "fault avgpool-counts-padding is planted in keras:torch" in document["notes"]

    def test_its_case_file_fails_with_the_fault_and_passes_without(
        self, runs: dict[str, Compared], tensorparity: Any, valid: Valid
    ) -> None:
        out = runs["planted"].out
        case = out / runs["planted"].ended.document["findings"][0]["case"]
        assert case.is_file()
        again = tensorparity("replay", case, *self.FAULT, "--format", "json")
        assert again.code == 1, again.stderr
        finding = valid(again.document)["findings"][0]
        assert (finding["suspects"], finding["api"]) == (["keras:torch"], "keras.layers.AveragePooling2D")
        healed = tensorparity("replay", case, "--format", "json")
        assert (healed.code, valid(healed.document)["findings"]) == (0, [])

    def test_labels_that_do_not_fit_the_outputs(self, tensorparity: Any, folder: Path) -> None:
        data = folder / "labels.npz"
        np.savez(data, x=np.zeros((2, 17, 17, 16), np.float32), y=np.array([3, 12]))
        ended = tensorparity("compare", "zoo:inception-block", "--targets", "keras:torch,onnxruntime", "--data", data)
        assert (ended.code, ended.stdout) == (2, "")
        assert ended.complaints == [
            "tensorparity: labels hold classes 3 to 12, but output 'predictions' has 10 classes"
        ]


@pytest.mark.torch
@pytest.mark.onnxruntime
class TestModelFile:
    """A .keras file of the user's: run as it is where Keras reads it, exported elsewhere."""

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, save_keras: Any) -> Path:
        return save_keras(
            "small.keras",
            """
            x = keras.Input((8, 8, 3), name="picture")
            y = keras.layers.Conv2D(4, 3, strides=2, padding="same", activation="relu", name="conv")(x)
            y = keras.layers.BatchNormalization(name="norm")(y)
            y = keras.layers.Flatten(name="flat")(y)
            model = keras.Model(x, keras.layers.Dense(5, name="head")(y))
            """,
        )

    @pytest.mark.parametrize(("fault", "code"), [((), 0), (("--fault", "keras:torch=same-padding-shifted"), 1)])
    def test_clean_and_with_a_fault(
        self, model: Path, tensorparity: Any, valid: Valid, folder: Path, fault: tuple[str, ...], code: int
    ) -> None:
        options = ("--targets", "keras:torch,onnxruntime", "--format", "json", "--out", folder / "file", "--no-reduce")
        ended = tensorparity("compare", model, *options, *fault)
        assert ended.code == code, ended.stderr
        document = valid(ended.document)
        assert document["subject"] == str(model)
        if fault:
            finding = document["findings"][0]
            assert (finding["suspects"], finding["node"]) == (["keras:torch"], "conv#0")
