"""Scripts are executed, so nothing that a stranger has named may become code in them."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.graph import GraphBuilder, LayerGraph, Node, Ref
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.core.verdict import Kind
from tensorparity.operators.functions.api import returns_several
from tensorparity.targets.lowering import protobuf
from tensorparity.triage.reproduce.calls import torch_parts
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.reproduce.keras_scripts import keras_parts
from tensorparity.triage.reproduce.literals import Unprintable
from tensorparity.triage.reproduce.onnx_scripts import onnx_parts
from tensorparity.triage.reproduce.script import ScriptParts, assemble

ONE = np.ones((1, 2), np.float32)
STATEMENT = 'x=0;import os;os.system("touch pwned");y'
ARGUMENT = 'a=1) if __import__("os").system("x") else dict(b'
EXPRESSION = '__import__("os").system("x")'
DOCSTRING = 'Relu"""\nimport os\nos.system("x")\n"""'
ESCAPES = "a\nimport os\nos.system('x')\n\\"
HOSTILE = [STATEMENT, ARGUMENT, EXPRESSION, DOCSTRING, ESCAPES]


def harmless(
    parts: ScriptParts, title: str = "It is wrong.", kind: Kind = Kind.ERROR, claim: Claim | None = None
) -> str:
    text = assemble(title, kind, parts, claim)
    for item in ast.walk(ast.parse(text)):
        assert not (isinstance(item, ast.Name) and item.id == "__import__")
        assert not (isinstance(item, ast.Attribute) and item.attr == "system")
    return text


def call(**changed: Any) -> Case:
    args, kwargs = changed.get("args", (ArrayArg("a"),)), changed.get("kwargs", {})
    subject = ApiCall(changed.get("api", "torch.relu"), args, kwargs)
    return Case(subject, Procedure(goal=Goal.CALL), changed.get("inputs", {"a": ONE}))


def layers(op: str = "Dense", **changed: Any) -> LayerGraph:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (2,)), name="d", units=2))
    node = Node("d", op, (Ref("x"),), changed.get("params", {"units": 2}), call_params=changed.get("call_params", {}))
    return LayerGraph(graph.inputs, (node,), graph.outputs)


def onnx(
    op: str = "Relu", attributes: dict[str, Any] | None = None, tensor: str = "x", further: tuple[str, ...] = ()
) -> ScriptParts:
    node = protobuf.node(op, [tensor, *further], ["y"], attributes or {}, name="n")
    inputs = [protobuf.value_info(tensor, "float32", (1, 2))]
    graph = protobuf.graph("g", [node], [], inputs, [protobuf.untyped_value("y")])
    model = protobuf.model(graph, ir_version=9, opset=20, producer="t")
    arrays: dict[str, Array] = {"inputs:x": ONE, "weights:model": np.frombuffer(model, np.uint8)}
    subject = {"inputs": [{"tensor": tensor, "input": "x"}], "outputs": [{"tensor": "y", "name": "y"}]}
    return onnx_parts("onnxruntime", subject, arrays, "y")


@pytest.mark.parametrize("name", HOSTILE)
class TestNames:
    def test_of_calls(self, name: str) -> None:
        odd = [
            call(inputs={name: ONE}, args=(ArrayArg(name),)),
            call(args=((ArrayArg(name),),)),
            call(kwargs={name: 1}),
            call(api=name),
        ]
        for case in odd:
            for flavour in ("eager", "compile"):
                with pytest.raises(Unprintable):
                    torch_parts(case, flavour, None, watched=False)
            with pytest.raises(Unprintable):
                keras_parts(case, "torch", None, watched=False)

    def test_of_which_result_is_looked_at(self, name: str) -> None:
        claim = Claim("outputs", name, ONE, 1e-6, "the reference", observed=ONE + 1)
        case = call(api="keras.ops.eigh")
        assert returns_several(case.subject.api)  # type: ignore[union-attr]
        harmless(torch_parts(case, "eager", claim, watched=False), kind=Kind.INCONSISTENCY, claim=claim)

    def test_of_layers_parameters(self, name: str) -> None:
        for graph in (layers(params={"units": 2, name: 1}), layers(call_params={name: 1})):
            with pytest.raises(Unprintable):
                keras_parts(Case(graph, inputs={"x": ONE}), "torch", None, watched=False)

    def test_of_layers(self, name: str) -> None:
        with pytest.raises(Unprintable):
            keras_parts(Case(layers(name), inputs={"x": ONE}), "torch", None, watched=False)

    @pytest.mark.parametrize("place", ["name", "parameter"])
    def test_of_recipes(self, name: str, place: str) -> None:
        recipe = Recipe(name) if place == "name" else Recipe("SGD", {name: 1})
        fit = Procedure(goal=Goal.FIT, steps=1, loss=Recipe("MeanSquaredError"), optimizer=recipe)
        weights = {"d/kernel": np.ones((2, 2), np.float32), "d/bias": np.ones(2, np.float32)}
        with pytest.raises(Unprintable):
            keras_parts(
                Case(layers(), fit, {"x": ONE}, labels={"d": ONE}, weights=weights), "torch", None, watched=False
            )

    @pytest.mark.parametrize("mode", [Mode.EAGER, Mode.USER])
    def test_in_place_of_numbers(self, name: str, mode: Mode) -> None:
        odd: Any = name
        weights = {"d/kernel": np.ones((2, 2), np.float32), "d/bias": np.ones(2, np.float32)}
        for procedure in (Procedure(mode=mode, training=odd), Procedure(mode=mode, batch_size=odd)):
            case = Case(layers(), procedure, {"x": ONE}, weights=weights)
            harmless(keras_parts(case, "torch", None, watched=False))

    def test_of_onnx_attributes(self, name: str) -> None:
        with pytest.raises(Unprintable):
            onnx(attributes={name: 1})

    def test_of_onnx_operators_tensors_and_texts(self, name: str) -> None:
        for parts in (onnx(op=name), onnx(tensor=name), onnx(attributes={"mode": name})):
            harmless(parts)

    def test_in_the_title(self, name: str) -> None:
        text = harmless(onnx(), title=f"{name} is wrong.")
        assert len(ast.parse(text).body) == len(ast.parse(harmless(onnx())).body)


def test_tensors_that_are_named_like_ours() -> None:
    """Replacing ``"tensorparity_q', "`` would join two strings and set free what the second one holds."""
    tensor = "tensorparity_q', "
    harmless(onnx(tensor=tensor, further=('z "tensorparity_q', "', __import__('os').system('x'), '")))
    assert '"x0"' in harmless(onnx(tensor="tensorparity_input_0"))
