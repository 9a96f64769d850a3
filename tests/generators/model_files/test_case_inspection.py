"""Nothing that a stranger's case asks for reaches a worker unseen; the refusal is one sentence."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import EXPORTED_ONNX, ApiCall, ArrayArg, Case, Counterpart, ModelFile, Subject
from tensorparity.core.errors import CaseFileError, ModelRefusedError, UsageError
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.procedure import Procedure, Recipe
from tensorparity.generators.model_files.case_inspection import HARMLESS_SETTINGS, inspect_case
from tensorparity.operators.known_classes import UNSAFE_LAYERS
from tensorparity.operators.layers.nested import serialized_layer

WriteModel = Callable[..., Path]
Layer = Callable[..., dict[str, Any]]

LAMBDA = {"module": "keras.layers", "class_name": "Lambda", "config": {"name": "evil"}}
CALL = Case(ApiCall("keras.ops.relu"))


def refused(case: Case, targets: tuple[str, ...] = (), *, imports: tuple[str, ...] = (), trust: bool = False) -> str:
    with pytest.raises((CaseFileError, ModelRefusedError)) as caught:
        inspect_case(case, targets, trust=trust, imports=imports)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def as_counterpart(case: Case) -> Case:
    """The same on the other side of an equivalence whose first side is harmless."""
    return Case(CALL.subject, counterpart=Counterpart(case.subject, case.procedure))


def graph(op: str = "Dense", **params: Any) -> LayerGraph:
    builder = GraphBuilder()
    return builder.build(builder.add(op, builder.input("x", (4,)), name="odd", **params))


def file_case(path: Path, form: str = "keras", **changed: Any) -> Case:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Case(replace(ModelFile(str(path), sha256, form), **changed))


class TestTargets:
    @pytest.mark.parametrize(
        "target",
        [
            "keras:jax",
            "onnxruntime",
            "keras:jax@nightly",
            "keras:torch{threads=2}",
            "onnxruntime{optimization=none}",
            "keras:tensorflow@tf2.18{TF_ENABLE_ONEDNN_OPTS=0,threads=4}",
            "keras:jax{JAX_DEFAULT_MATMUL_PRECISION=highest}",
        ],
    )
    def test_harmless(self, target: str) -> None:
        assert inspect_case(CALL, ["keras:jax", target], trust=False) == ("keras:jax", target)

    @pytest.mark.parametrize(
        "setting",
        [
            "LD_PRELOAD=/tmp/evil.so",
            "LD_PRELOAD=evil.so",
            "PYTHONPATH=evil",
            "PYTHONSTARTUP=evil",
            "PATH=evil",
            "CXX=evil",
            "XLA_FLAGS=--xla_dump_to",
            "TORCHINDUCTOR_CACHE_DIR=evil",
            "KERAS_HOME=evil",
            "threads=1,LD_PRELOAD=evil.so",
            " LD_PRELOAD=evil.so",
            "invented=1",
            "TF_ENABLE_ONEDNN_OPTS=/tmp/evil",
            "threads=",
            "threads",
        ],
    )
    def test_a_setting_that_nobody_knows(self, setting: str) -> None:
        target = f"keras:torch{{{setting}}}"
        message = refused(CALL, ("keras:jax", target))
        assert message.startswith("the case's target ")
        assert message.endswith("which could make the worker run other code; needs --trust")
        assert inspect_case(CALL, [target], trust=True) == (target,)

    @pytest.mark.parametrize(
        "target",
        [
            "keras:jax,keras:torch{LD_PRELOAD=evil.so}",
            "keras:torch{threads=1}{LD_PRELOAD=evil.so}",
            "keras:torch{LD_PRELOAD=evil.so}@nightly",
            "keras:torch@a@b",
            "keras:torch\n{LD_PRELOAD=evil.so}",
            "../evil.py",
            "",
            "x" * 10_000 + "{",
        ],
    )
    def test_what_could_be_read_in_another_way(self, target: str) -> None:
        assert refused(CALL, (target,)).endswith("is not a plain target name; needs --trust")

    def test_no_harmless_setting_says_where_code_or_files_are(self) -> None:
        parts = {part for name in HARMLESS_SETTINGS for part in name.upper().split("_")}
        assert not parts & {"PATH", "PRELOAD", "DIR", "FILE", "FLAGS", "LIBRARY", "HOME", "CXX", "PLUGIN", "STARTUP"}


SIDES = [lambda case: case, as_counterpart]


@pytest.mark.parametrize("side", SIDES, ids=["case", "counterpart"])
class TestGraphs:
    def test_layers_of_the_catalogue(self, side: Callable[[Case], Case]) -> None:
        nested = graph("TimeDistributed", layer=serialized_layer("Dense", "inner", units=3))
        for subject in (graph(units=2, activation="relu"), nested):
            assert inspect_case(side(Case(subject)), ["keras:jax"], trust=False) == ("keras:jax",)

    @pytest.mark.parametrize("op", [*sorted(UNSAFE_LAYERS), "Invented", "deserialize", "__class__", "a\nb" * 500])
    def test_no_layer_of_the_catalogue(self, op: str, side: Callable[[Case], Case]) -> None:
        case = side(Case(graph(op)))
        message = refused(case, imports=("mine",))
        assert message.startswith("the case's layer 'odd' is a '")
        assert message.endswith("which the catalogue does not have; needs --trust")
        assert inspect_case(case, [], trust=True) == ()

    @pytest.mark.parametrize(
        "foreign",
        [
            LAMBDA,
            {"module": "os", "class_name": "system", "config": {}},
            {"class_name": "__lambda__", "config": {"value": "4wAAAA=="}},
        ],
        ids=["Lambda", "another package", "marshalled code"],
    )
    def test_foreign_classes(self, foreign: dict[str, Any], side: Callable[[Case], Case]) -> None:
        for params in (
            {"layer": foreign},
            {"layer": serialized_layer("Dense", "inner", activation=[{"deep": foreign}])},
        ):
            case = side(Case(graph("TimeDistributed", **params)))
            message = refused(case, imports=("mine",))
            assert message.startswith("the case's layer 'odd' names ")
            assert "refused without --trust" in message
            assert inspect_case(case, [], trust=True) == ()

    def test_foreign_classes_in_the_call(self, side: Callable[[Case], Case]) -> None:
        plain = graph(units=2)
        called = replace(plain, nodes=(replace(plain.nodes[0], call_params={"mask": LAMBDA}),))
        assert "names keras.layers.Lambda" in refused(side(Case(called)))

    def test_classes_of_the_users_modules(self, side: Callable[[Case], Case]) -> None:
        case = side(Case(graph(units=2, activation={"module": "mine", "class_name": "Odd", "config": {}})))
        assert "names mine.Odd" in refused(case, imports=("other",))
        assert inspect_case(case, [], trust=False, imports=["mine"]) == ()

    def test_nested_too_deeply(self, side: Callable[[Case], Case]) -> None:
        deep: Any = 0
        for _ in range(5000):
            deep = [deep]
        builder = GraphBuilder()
        ref = builder.add("Dense", builder.input("x", (4,)), units=2)
        subject = builder.build(ref)
        object.__setattr__(subject.nodes[0], "params", {"units": deep})
        assert refused(side(Case(subject))).endswith("has parameters that are nested too deeply")

    def test_procedures(self, side: Callable[[Case], Case]) -> None:
        good = Procedure(loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD", {"learning_rate": 0.1}))
        assert inspect_case(side(Case(graph(units=2), good)), [], trust=False) == ()
        bad = [
            replace(good, loss=Recipe("Invented")),
            replace(good, optimizer=Recipe("Lambda")),
            replace(good, loss=Recipe("MeanSquaredError", {"reduction": LAMBDA})),
            replace(good, optimizer=Recipe("SGD", {"learning_rate": LAMBDA})),
        ]
        for procedure in bad:
            case = side(Case(graph(units=2), procedure))
            assert "--trust" in refused(case)
            assert inspect_case(case, [], trust=True) == ()


@pytest.mark.parametrize("side", SIDES, ids=["case", "counterpart"])
class TestModelFiles:
    def test_keras(self, write_model: WriteModel, config: Layer, side: Callable[[Case], Case], layer: Layer) -> None:
        assert inspect_case(side(file_case(write_model())), ["keras:jax"], trust=False) == ("keras:jax",)
        case = side(file_case(write_model(config(LAMBDA), name="evil.keras")))
        assert refused(case).startswith("evil.keras names keras.layers.Lambda, which could run code of its own")
        assert inspect_case(case, [], trust=True) == ()
        own = {"module": "mine", "class_name": "Odd", "config": {}}
        case = side(file_case(write_model(config(own), name="own.keras")))
        assert "names mine.Odd" in refused(case)
        assert inspect_case(case, [], trust=False, imports=["mine"]) == ()

    def test_h5(self, write_h5: WriteModel, config: Layer, side: Callable[[Case], Case]) -> None:
        assert inspect_case(side(file_case(write_h5(config()), "h5")), [], trust=False) == ()
        assert refused(side(file_case(write_h5(config(LAMBDA)), "h5"))).startswith("tiny.h5 names keras.layers.Lambda")

    def test_onnx(self, tmp_path: Path, side: Callable[[Case], Case]) -> None:
        path = tmp_path / "broken.onnx"
        path.write_bytes(b"\xff" * 40)
        for form in ("onnx", EXPORTED_ONNX):
            assert refused(side(file_case(path, form))).startswith("broken.onnx is not an ONNX model")

    def test_torch(self, tmp_path: Path, side: Callable[[Case], Case]) -> None:
        path = tmp_path / "broken.pt2"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/b", json.dumps({}))
        assert "broken.pt2" in refused(side(file_case(path, "torch")))

    def test_another_file_by_now(self, write_model: WriteModel, side: Callable[[Case], Case]) -> None:
        for trust in (False, True):
            case = side(file_case(write_model(), sha256="0" * 64))
            assert "has changed: its sha256 is " in refused(case, trust=trust)

    def test_missing_or_no_file(self, tmp_path: Path, side: Callable[[Case], Case]) -> None:
        (tmp_path / "folder.keras").mkdir()
        for name in ("none.keras", "folder.keras", "a\0b.keras", "a\nb.keras"):
            subject = ModelFile(str(tmp_path / name), "1" * 64)
            assert f"put the file with sha256 '{'1' * 64}' there" in refused(side(Case(subject)))

    @pytest.mark.parametrize("form", ["onnx", "torch", "h5", EXPORTED_ONNX])
    def test_the_suffix_is_the_formats(self, write_model: WriteModel, form: str, side: Callable[[Case], Case]) -> None:
        """Keras chooses its reader by the suffix, whatever the case says of the format."""
        message = refused(side(file_case(write_model(), form)))
        assert "has not the suffix of its format" in message

    def test_endless_files_are_not_read(self, side: Callable[[Case], Case]) -> None:
        assert "suffix" in refused(side(Case(ModelFile("/dev/zero", "1" * 64))))

    def test_a_format_that_is_code(self, side: Callable[[Case], Case]) -> None:
        case = side(Case(ModelFile("evil.py", "1" * 64, "factory")))
        assert refused(case) == "the case's model is of format 'factory', which can run code; needs --trust"
        assert inspect_case(case, [], trust=True) == ()


def test_a_refusal_is_a_usage_error() -> None:
    subject: Subject = graph("Lambda")
    with pytest.raises(UsageError):
        inspect_case(Case(subject), [], trust=False)


class TestCalls:
    HOSTILE = 'x=0;import os;os.system("touch pwned");y'

    @pytest.mark.parametrize("name", [HOSTILE, "a b", "lambda", "", "x" * 1000 + "\n"])
    def test_names_that_are_none(self, name: str) -> None:
        one = np.ones(1, np.float32)
        for case in (
            Case(ApiCall("keras.ops.relu", (), {name: 1})),
            Case(ApiCall("keras.ops.relu", (ArrayArg(name),))),
            Case(ApiCall("keras.ops.relu", (), {"x": (1, (ArrayArg(name),))})),
            Case(ApiCall("keras.ops.relu", (ArrayArg("x"),)), inputs={"x": one, name: one}),
        ):
            assert "is no name in Python" in refused(case)
            inspect_case(case, (), trust=True)
        assert "is no name in Python" in refused(as_counterpart(Case(ApiCall("keras.ops.relu", (), {name: 1}))))

    def test_inputs_of_graphs_are_called_anything(self) -> None:
        builder = GraphBuilder()
        odd = builder.build(builder.add("ReLU", builder.input(self.HOSTILE, (4,))))
        case = Case(odd, inputs={self.HOSTILE: np.ones((1, 4), np.float32)})
        assert inspect_case(case, ("keras:torch",), trust=False) == ("keras:torch",)

    @pytest.mark.parametrize("given", ["/etc/passwd", "gs://somewhere/words"])
    def test_tables_in_files(self, given: str) -> None:
        case = Case(ApiCall("keras.layers.StringLookup", (ArrayArg("x"),), {"vocabulary": given}))
        assert "vocabulary is no list" in refused(case)
        inspect_case(case, (), trust=True)

    def test_plain_names(self) -> None:
        case = Case(ApiCall("keras.ops.sum", (ArrayArg("x"),), {"axis": 0}), inputs={"x": np.ones(1, np.float32)})
        assert inspect_case(case, ("keras:torch",), trust=False) == ("keras:torch",)
