"""Bad input: exit code 2, one clear line on standard error, nothing on standard output."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.cli.main import main
from tensorparity.targets.selection import installed_targets

pytestmark = pytest.mark.skipif(len(installed_targets()) < 2, reason="fewer than two targets are installed")

MNIST_LIKE = np.zeros((3, 28, 28, 1), np.float32)


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must be refused; return what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*arguments: object) -> str:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        assert (ended.value.code, captured.out) == (2, "")
        complaint, *pointer = captured.err.splitlines()
        assert all(line.startswith("Try '") for line in pointer), captured.err
        assert complaint.startswith("tensorparity: ")
        return complaint.removeprefix("tensorparity: ")

    return run


def _never(*given: Any, **named: Any) -> Any:
    raise AssertionError("this is too late")


def _on_case(command: str) -> list[str]:
    return [command, "7f3a", "--out", "/dev/null/out"]


def test_a_process_of_its_own_says_the_same(tensorparity: Any) -> None:
    ended = tensorparity("compare", "none.keras")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr == "tensorparity: no model at 'none.keras'\n"


@pytest.mark.parametrize("change", [{"steps": "many"}, {"nodes": 3}, {"goal": ["forward"]}])
def test_a_malformed_case_is_refused_in_one_line(refused: Any, case_file: Any, change: dict[str, Any]) -> None:
    def tamper(members: dict[str, bytes]) -> dict[str, bytes]:
        index = json.loads(members["case.json"])
        index["case"]["procedure"].update(change)
        return {**members, "case.json": json.dumps(index).encode()}

    for command in ("replay", "reduce", "localize"):
        assert "malformed" in refused(command, case_file(tamper))


class TestModels:
    def test_missing(self, refused: Any) -> None:
        assert refused("compare", "none.keras") == "no model at 'none.keras'"

    def test_nearly_the_name_of_one(self, refused: Any, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").write_bytes(b"")
        said = refused("compare", tmp_path / "modle.onnx")
        assert said == f"no model at '{tmp_path / 'modle.onnx'}' (did you mean {tmp_path / 'model.onnx'}?)"

    @pytest.mark.parametrize(
        ("holds", "said"), [("saved_model.pb", "a SavedModel"), ("config.json", "MODULE:FUNCTION"), ("x", ".pt2 file")]
    )
    def test_a_folder(self, refused: Any, tmp_path: Path, holds: str, said: str) -> None:
        (tmp_path / holds).write_bytes(b"")
        line = refused("compare", tmp_path)
        assert "is a folder; " in line
        assert said in line

    @pytest.mark.parametrize(("name", "said"), [("m.pth", "torch.export.save"), ("m.csv", "--data"), ("m.pb", ".onnx")])
    def test_what_many_take_for_a_model(self, refused: Any, tmp_path: Path, name: str, said: str) -> None:
        (tmp_path / name).write_bytes(b"")
        assert said in refused("compare", tmp_path / name).partition("; expected")[0]

    def test_not_a_model(self, refused: Any, tmp_path: Path) -> None:
        path = tmp_path / "notes.keras"
        path.write_text("these are notes")
        assert "notes.keras is not a .keras model, or is truncated" in refused("compare", path)

    def test_another_kind_of_file(self, refused: Any, tmp_path: Path) -> None:
        path = tmp_path / "model.bin"
        path.write_bytes(b"something else")
        assert "'model.bin' has no suffix of a model" in refused("compare", path)

    def test_truncated(self, refused: Any, keras_file: Any) -> None:
        path = keras_file()
        path.write_bytes(path.read_bytes()[:-100])
        assert "or is truncated" in refused("compare", path)

    def test_corrupted(self, refused: Any, keras_file: Any) -> None:
        path = keras_file()
        raw = bytearray(path.read_bytes())
        raw[200] ^= 0xFF
        path.write_bytes(raw)
        assert path.name in refused("compare", path)

    def test_foreign_classes(self, refused: Any, keras_file: Any) -> None:
        path = keras_file({"module": "mine", "class_name": "Attention", "config": {}})
        assert "names mine.Attention, which could run code of its own; refused without --trust" in refused(
            "compare", path
        )

    @pytest.mark.parametrize(
        ("layer", "named"),
        [
            ({"module": "keras.layers", "class_name": "Lambda", "config": {}}, "keras.layers.Lambda"),
            ({"module": "subprocess", "class_name": "Popen", "config": {"args": ["reboot"]}}, "subprocess.Popen"),
            ({"module": "keras.layers", "class_name": "TFSMLayer", "config": {"filepath": "x"}}, "TFSMLayer"),
            ({"module": "builtins", "class_name": "function", "config": "exec"}, "builtins"),
        ],
        ids=["Lambda", "a class of another module", "a layer that loads files", "a function of another module"],
    )
    def test_whatever_names_code(self, refused: Any, keras_file: Any, layer: dict[str, Any], named: str) -> None:
        line = refused("compare", keras_file(layer))
        assert named in line
        assert "refused without --trust" in line

    def test_unknown_zoo_model(self, refused: Any) -> None:
        said = refused("compare", "zoo:lenet6")
        assert said.startswith("no model 'lenet6' in the zoo (did you mean lenet5?); there are lenet1, lenet4, lenet5")


class TestData:
    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"x": MNIST_LIKE}, "expected shape (instances, 17, 17, 16), received (3, 28, 28, 1)"),
            ({"x": np.zeros((3, 17, 17, 16), np.int32)}, "expected dtype float32, received int32"),
            ({"picture": MNIST_LIKE}, "holds picture, expected x or image (and y for labels)"),
            ({"x": np.zeros((3, 17, 17, 16), np.float32), "y": np.arange(2)}, "image: 3, y: 2"),
            ({"x": np.array([{}], dtype=object)}, "cannot be read as .npz"),
        ],
        ids=["shape", "dtype", "name", "count", "pickle"],
    )
    def test_misfits(self, refused: Any, tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
        np.savez(tmp_path / "data.npz", **arrays)
        assert message in refused("compare", "zoo:inception-block", "--data", tmp_path / "data.npz")

    def test_missing(self, refused: Any) -> None:
        assert refused("compare", "zoo:inception-block", "--data", "none.npz") == "no data at 'none.npz'"

    @pytest.mark.parametrize(("name", "said"), [("x", "received (3, 17)"), ("z", "holds z"), ("", "no data at")])
    def test_a_model_is_not_trained_for_data_that_does_not_fit(
        self, refused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
    ) -> None:
        monkeypatch.setattr("tensorparity.commands.sources.models.open_zoo", _never)
        if name:
            np.savez(tmp_path / "data.npz", **{name: np.zeros((3, 17), np.float32)})
        assert said in refused("compare", "zoo:lenet5", "--data", tmp_path / "data.npz")

    def test_no_target_is_started_for_data_that_is_none(
        self, refused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tensorparity.commands.compare.open_runner", _never)
        (tmp_path / "data.npz").write_text("no archive")
        assert "data.npz" in refused("compare", "zoo:lenet5", "--data", tmp_path / "data.npz")


class TestTargets:
    def test_unknown(self, refused: Any) -> None:
        line = refused("compare", "zoo:resnet20", "--targets", "keras:theano,keras:jax")
        assert line.startswith("unknown target 'keras:theano'; known are jax:eager")
        assert "onnxruntime" in line

    def test_not_a_name(self, refused: Any) -> None:
        assert "is not a target name; expected framework[:flavour]" in refused("hunt", "--targets", "Keras JAX,b")

    def test_twice(self, refused: Any) -> None:
        assert "given twice" in refused("compare", "zoo:resnet20", "--targets", "onnxruntime,onnxruntime")

    def test_one_alone(self, refused: Any) -> None:
        assert "comparing needs 2 targets" in refused("compare", "zoo:resnet20", "--targets", "onnxruntime")

    def test_unknown_environment(self, refused: Any) -> None:
        line = refused("compare", "zoo:resnet20", "--targets", "keras:jax,keras:jax@legacy")
        assert "unknown environment 'legacy'" in line
        assert "tensorparity.toml" in line


class TestOptions:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["compare"], "Missing argument 'MODEL'"),
            (["compare", "zoo:resnet20", "--oracle", "delphi"], "unknown oracle 'delphi'; known are"),
            (["compare", "zoo:resnet20", "--share", "101"], "--share"),
            (["compare", "zoo:resnet20", "--fault", "keras:jax=gremlin"], "unknown fault 'gremlin'; known are"),
            (["compare", "zoo:resnet20", "--fault", "gremlin"], "is not TARGET=NAME or TARGET=FILE.py"),
            (["compare", "zoo:resnet20", "--fault", "keras:jax=none.py"], "no fault file at 'none.py'"),
            (["compare", "zoo:resnet20", "--fail-on", "crimes"], "unknown class 'crimes'; known are defect"),
            (
                ["compare", "zoo:resnet20", "--fail-on", "defect,undecidd"],
                "unknown class 'undecidd' (did you mean undecided?)",
            ),
            (["compare", "zoo:lenet"], "no model 'lenet' in the zoo (did you mean lenet5?); there are lenet1"),
            (["equiv", "--rule", "compild"], "unknown rule 'compild' (did you mean keras-jit-compile?)"),
            (["fuzz", "--data", "mnits"], "unknown data set 'mnits' (did you mean mnist?)"),
            (["fuzz", "--policies", "mixed_float_16"], "'mixed_float_16' (did you mean mixed_float16?)"),
            (["precision", "--dtype", "flaot16"], "unknown dtype 'flaot16' (did you mean float16?)"),
            (["hunt", "--budget", "soon"], "'soon' is not a duration; expected for example 90s"),
            (["hunt", "--budget", "0"], "'0' is no time at all; expected for example 90s"),
            (["report", "none"], "there is no store at none/store.sqlite"),
            (["hunt", "--memory", "lots"], "'lots' is not a size; expected for example 500M"),
            (
                ["hunt", "--engine", "cradel", "--cases", "0"],
                "unknown engine 'cradel' (did you mean cradle?)",
            ),
            (["hunt", "--seed", "-1"], "--seed"),
            (["conquer"], "No such command 'conquer'; there are hunt"),
            (["comapre"], "No such command 'comapre' (did you mean compare?)"),
            (["hunt", "--targets", "keras:trch"], "unknown target 'keras:trch' (did you mean keras:torch?)"),
            (["compare", "zoo:resnet20", "--optimizer", "Adamm:learning_rate=1"], "unknown optimizer 'Adamm'; did you"),
            (["compare", "zoo:resnet20", "--optimizer", "Adam:rate=1"], "the optimizer Adam takes no 'rate'; it takes"),
            (["compare", "zoo:resnet20", "--loss", "MSE"], "unknown loss 'MSE'"),
            (["hunt", "--out", "/dev/null/out"], "'/dev/null/out' cannot be a folder: '/dev/null' is a file"),
            *(
                (_on_case(command), "'/dev/null/out' cannot be a folder")
                for command in ("replay", "reduce", "localize")
            ),
            (["compare", "model.bin"], "no model at 'model.bin'"),
            (["targets", "--format", "xml"], "unknown report 'xml'; known are"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_refused(self, refused: Any, arguments: list[str], message: str) -> None:
        assert message in refused(*arguments)


HOSTILE = {
    "an absolute member": "/etc/evil",
    "a member above": "../evil",
    "a pickled array": "pickle",
    "a truncated array": "case.tpcase",
    "an unknown member": "evil.py",
    "an oversize index": "case.json",
    "another format": "999",
    "no index": "case.json",
}


class TestCaseFiles:
    @pytest.mark.parametrize(("what", "named"), HOSTILE.items())
    def test_hostile(self, refused: Any, case_file: Any, tampering: dict[str, Any], what: str, named: str) -> None:
        path = case_file(tampering[what])
        before = sorted(path.parent.rglob("*"))
        assert named in refused("replay", path)
        assert sorted(path.parent.rglob("*")) == before

    def test_missing(self, refused: Any) -> None:
        assert "none.tpcase" in refused("replay", "none.tpcase")

    def test_not_a_zip(self, refused: Any, tmp_path: Path) -> None:
        path = tmp_path / "x.tpcase"
        path.write_bytes(b"no zip at all")
        assert "x.tpcase" in refused("replay", path)

    def test_truncated(self, refused: Any, case_file: Any) -> None:
        path = case_file()
        path.write_bytes(path.read_bytes()[:-30])
        assert "case.tpcase" in refused("replay", path)

    def test_a_function_outside_of_the_enumerated_api(self, refused: Any, case_file: Any) -> None:
        assert "os.system" in refused("replay", case_file(api="os.system"))

    def test_no_targets(self, refused: Any, case_file: Any) -> None:
        line = refused("replay", case_file(targets=()))
        assert line == "case.tpcase names no targets; give some with --targets"


@pytest.fixture
def keras_file(tmp_path: Path) -> Callable[..., Path]:
    """A .keras file of one input and the given layers, written by hand."""

    def write(*layers: dict[str, Any]) -> Path:
        source = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 4], "dtype": "float32"}}
        config = {"module": "keras", "class_name": "Functional", "config": {"layers": [source, *layers]}}
        path = tmp_path / "model.keras"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("config.json", json.dumps(config))
            archive.writestr("metadata.json", "{}")
            archive.writestr("model.weights.h5", bytes(range(256)) * 8)
        return path

    return write
