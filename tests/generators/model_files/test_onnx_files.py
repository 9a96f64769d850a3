"""ONNX files looked into without the ``onnx`` package, which here only writes them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.errors import ModelRefusedError
from tensorparity.core.graph import Ref
from tensorparity.core.onnx.files import MOST_BYTES, read_onnx, read_verified
from tensorparity.core.onnx.layers import Feeding, OnnxLayers
from tensorparity.core.onnx.model import MOST_DEPTH, parse_model
from tensorparity.core.onnx.wire import WireError, delimited_field, integer, read_fields, text
from tensorparity.generators.model_files.onnx_files import inspect_onnx_file

onnx = pytest.importorskip("onnx")
helper, numpy_helper, TensorProto = onnx.helper, onnx.numpy_helper, onnx.TensorProto

W = np.arange(12, dtype=np.float32).reshape(3, 4)


def value(name: str, shape: Any = ("N", 3), dtype: int = 1) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def make(nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Any = (), **settings: Any) -> Any:
    initializers = [numpy_helper.from_array(array, name) for name, array in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    opsets = settings.pop("opsets", {"": 20})
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, **settings)


def dense() -> Any:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="matmul"), helper.make_node("Relu", ["h"], ["y"])]
    return make(nodes, [value("x")], [value("y", ("N", 4))], {"w": W})


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def to(model: Any, name: str = "model.onnx") -> Path:
        path = tmp_path / name
        path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        return path

    return to


def refusal(path: Path) -> str:
    with pytest.raises(ModelRefusedError) as caught:
        inspect_onnx_file(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


class TestWhatIsRead:
    def test_signature_layers_and_identity(self, write: Any) -> None:
        path = write(dense())
        found = inspect_onnx_file(path)
        assert [(spec.name, spec.shape, spec.dtype) for spec in found.inputs] == [("x", (3,), "float32")]
        assert [(node.key, node.op) for node in found.graph.nodes] == [
            ("matmul#0", "onnx.MatMul"),
            ("Relu_1#0", "onnx.Relu"),
        ]
        assert found.graph.nodes[0].inputs == (Ref("x"),)
        assert found.graph.outputs == (Ref("Relu_1"),)
        assert found.file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (found.file.format, found.file.parts, found.notes) == ("onnx", (), ())

    def test_initializers_are_no_inputs_even_where_they_are_listed(self, write: Any) -> None:
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        model = make(nodes, [value("x"), value("w", (3, 4))], [value("y", ("N", 4))], {"w": W})
        assert [spec.name for spec in inspect_onnx_file(write(model)).inputs] == ["x"]

    def test_names_are_unique_and_never_empty(self, write: Any) -> None:
        nodes = [
            helper.make_node("Relu", ["x"], ["a"], name="same"),
            helper.make_node("Relu", ["a"], ["b"], name="same"),
            helper.make_node("Relu", ["b"], ["c"], name="x"),
            helper.make_node("Relu", ["c"], ["d"], name="odd#1"),
            helper.make_node("Relu", ["d"], ["y"]),
        ]
        graph = inspect_onnx_file(write(make(nodes, [value("x")], [value("y")]))).graph
        assert [node.key for node in graph.nodes] == ["same#0", "same_2#0", "x_2#0", "odd_1#0", "Relu_4#0"]

    def test_constants_are_no_layers(self, write: Any) -> None:
        constant = helper.make_node("Constant", [], ["two"], value_float=2.0)
        nodes = [constant, helper.make_node("Mul", ["x", "two"], ["y"], name="twice")]
        graph = inspect_onnx_file(write(make(nodes, [value("x")], [value("y")]))).graph
        assert [(node.name, node.inputs) for node in graph.nodes] == [("twice", (Ref("x"),))]

    def test_several_outputs_and_one_left_out(self, write: Any) -> None:
        nodes = [
            helper.make_node("Split", ["x"], ["a", "b"], name="split", axis=1, num_outputs=2),
            helper.make_node("Sub", ["b", "a"], ["y"], name="sub"),
            helper.make_node("MaxPool", ["z"], ["", "index"], name="pool", kernel_shape=[2]),
        ]
        inputs = [value("x", ("N", 4)), value("z", ("N", 1, 4))]
        model = make(nodes, inputs, [value("y", ("N", 2)), value("index", ("N", 1, 3), 7)])
        graph = inspect_onnx_file(write(model)).graph
        assert graph.nodes[1].inputs == (Ref("split", 1), Ref("split"))
        assert graph.outputs == (Ref("sub"), Ref("pool"))

    def test_attributes_for_a_reader(self, write: Any) -> None:
        attributes = {"alpha": 0.1, "axis": -1, "mode": "linear", "pads": [0, 1], "scales": [1.5], "names": ["a"]}
        many = {"long": list(range(1000)), "tensor": numpy_helper.from_array(W), "none": onnx.AttributeProto(type=7)}
        node = helper.make_node("Any", ["x"], ["y"], domain="mine", **attributes)
        for name, attribute in many.items():
            made = attribute if name == "none" else helper.make_attribute(name, attribute)
            made.name = name
            node.attribute.append(made)
        model = make([node], [value("x")], [value("y")], opsets={"": 20, "mine": 1})
        found = inspect_onnx_file(write(model))
        assert dict(found.graph.nodes[0].params) == {
            **attributes,
            "long": "1000 values",
            "tensor": "float32 tensor of shape (3, 4)",
            "none": [],
        }
        assert found.graph.nodes[0].op == "onnx.mine.Any"
        assert found.notes == ("operators of mine: not every target has them",)

    def test_what_subgraphs_capture_flows_in(self, write: Any) -> None:
        then = helper.make_graph([helper.make_node("Mul", ["h", "w"], ["t"])], "then", [], [value("t", None)])
        other = helper.make_graph([helper.make_node("Neg", ["h"], ["e"])], "else", [], [value("e", None)])
        nodes = [
            helper.make_node("Relu", ["x"], ["h"], name="relu"),
            helper.make_node("ReduceMax", ["x"], ["m"], name="max", keepdims=0),
            helper.make_node("Cast", ["m"], ["c"], name="cast", to=9),
            helper.make_node("If", ["c"], ["y"], name="if", then_branch=then, else_branch=other),
        ]
        graph = inspect_onnx_file(write(make(nodes, [value("x")], [value("y", None)], {"w": W[:, 0]}))).graph
        assert graph.node("if").inputs == (Ref("cast"), Ref("relu"))
        assert graph.node("if").params == {"then_branch": "graph of 1 nodes", "else_branch": "graph of 1 nodes"}

    def test_functions_are_noted(self, write: Any) -> None:
        body = [helper.make_node("Relu", ["a"], ["b"])]
        function = helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 20)])
        nodes = [helper.make_node("Twice", ["x"], ["y"], domain="mine")]
        model = make(nodes, [value("x")], [value("y")], opsets={"": 20, "mine": 1}, functions=[function])
        assert "functions of the file's own: mine.Twice" in inspect_onnx_file(write(model)).notes

    def test_outputs_that_are_no_tensors_of_numbers_are_left_out(self, write: Any) -> None:
        sequence = helper.make_tensor_sequence_value_info("s", 1, None)
        nodes = [helper.make_node("SequenceConstruct", ["x"], ["s"]), helper.make_node("Relu", ["x"], ["y"])]
        model = make(nodes, [value("x")], [sequence, value("y")])
        assert "not compared, for they are no tensors of numbers: s (sequence)" in inspect_onnx_file(write(model)).notes

    @pytest.mark.parametrize(
        ("inputs", "outputs", "feeding"),
        [
            ([("N", 3)], [("N", 4)], Feeding.BATCH),
            ([("N", 3), ("N",)], [("unk__7",)], Feeding.BATCH),
            ([(None, 3)], [None], Feeding.BATCH),
            ([(1, 3)], [(1, 4)], Feeding.ROWS),
            ([(1, 3)], [("length", 1, 4)], Feeding.ITEMS),
            ([("N", 3), (2, "N", 8)], [("N", 1)], Feeding.ITEMS),
            ([("N", 3), ()], [("N", 1)], Feeding.ITEMS),
            ([("N", "length")], [("length", 3)], Feeding.ITEMS),
            ([("N", 3), ("M", 3)], [("N", 1)], Feeding.ITEMS),
            ([("N", 3)], [()], Feeding.ITEMS),
            ([(4, 3)], [(4, 3)], Feeding.ITEMS),
        ],
    )
    def test_how_it_is_fed(self, inputs: Any, outputs: Any, feeding: Feeding) -> None:
        names = [f"x{index}" for index in range(len(inputs))]
        model = make(
            [],
            [value(name, shape) for name, shape in zip(names, inputs, strict=True)],
            [value(f"y{index}", shape) for index, shape in enumerate(outputs)],
        )
        layers = OnnxLayers(parse_model(model.SerializeToString()).graph)
        assert layers.feeding is feeding
        cut = 0 if feeding is Feeding.ITEMS else 1
        known = [tuple(size if isinstance(size, int) else None for size in shape)[cut:] for shape in inputs]
        assert [spec.shape for spec in layers.specs()] == known


def external(
    path: Path, *, location: str = "w.bin", offset: Any = None, length: Any = None, nested: bool = False
) -> Path:
    """A model whose weight lies elsewhere, as its writer claims."""
    model = dense()
    weight = TensorProto(name="w", dims=W.shape, data_type=1, data_location=TensorProto.EXTERNAL)
    entries = {"location": location, "offset": offset, "length": length}
    for key, text_value in entries.items():
        if text_value is not None:
            weight.external_data.add(key=key, value=str(text_value))
    del model.graph.initializer[:]
    if nested:
        branch = helper.make_graph([], "b", [], [value("w", (3, 4))])
        branch.initializer.append(weight)
        del model.graph.node[:]
        nodes = [
            helper.make_node("If", ["c"], ["w2"], name="if", then_branch=branch, else_branch=branch),
            helper.make_node("MatMul", ["x", "w2"], ["y"]),
        ]
        model.graph.node.extend(nodes)
        model.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
    else:
        model.graph.initializer.append(weight)
    path.write_bytes(model.SerializeToString())
    return path


class TestExternalData:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "secret.bin").write_bytes(W.tobytes())
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "w.bin").write_bytes(b"\0" * 8 + W.tobytes())
        return folder

    @pytest.mark.parametrize("nested", [False, True])
    def test_it_is_put_inside(self, folder: Path, nested: bool) -> None:
        path = external(folder / "m.onnx", offset=8, length=48, nested=nested)
        content = read_onnx(path)
        loaded = onnx.load_from_string(content.data)
        tensors = loaded.graph.node[0].attribute[0].g.initializer if nested else loaded.graph.initializer
        np.testing.assert_array_equal(numpy_helper.to_array(tensors[0]), W)
        onnx.checker.check_model(loaded)
        found = inspect_onnx_file(path)
        assert found.file.parts == (("w.bin", hashlib.sha256((folder / "w.bin").read_bytes()).hexdigest()),)
        assert "external data: w.bin" in found.notes

    def test_without_a_length_the_shape_tells(self, folder: Path) -> None:
        loaded = onnx.load_from_string(read_onnx(external(folder / "m.onnx", offset=8)).data)
        np.testing.assert_array_equal(numpy_helper.to_array(loaded.graph.initializer[0]), W)

    def test_the_official_writer_is_understood(self, folder: Path) -> None:
        onnx.save(dense(), folder / "m.onnx", save_as_external_data=True, location="sub.data", size_threshold=0)
        loaded = onnx.load_from_string(read_onnx(folder / "m.onnx").data)
        np.testing.assert_array_equal(numpy_helper.to_array(loaded.graph.initializer[0]), W)

    def test_changed_data_is_another_model(self, folder: Path) -> None:
        file = inspect_onnx_file(external(folder / "m.onnx", offset=8)).file
        assert read_verified(file).parts == file.parts
        (folder / "w.bin").write_bytes(b"\1" * 56)
        with pytest.raises(ModelRefusedError, match="has changed since it was inspected"):
            read_verified(file)

    @pytest.mark.parametrize(
        ("settings", "complaint"),
        [
            ({"location": "../secret.bin"}, "not a path inside of the model's folder"),
            ({"location": "sub/../../secret.bin"}, "not a path inside of the model's folder"),
            ({"location": "..\\secret.bin"}, "not a path inside of the model's folder"),
            ({"location": "/etc/passwd"}, "not a path inside of the model's folder"),
            ({"location": "C:\\secret.bin"}, "not a path inside of the model's folder"),
            ({"location": ""}, "not a path inside of the model's folder"),
            ({"location": "*/_ORT_MEM_ADDR_/*"}, "which is not there"),
            ({"location": "missing.bin"}, "which is not there"),
            ({"location": "."}, "not a regular file"),
            ({"offset": 9}, "bytes 9 to 57 of 'w.bin' for tensor 'w'; it has 56"),
            ({"offset": 8, "length": 47}, "47 bytes of 'w.bin' for tensor 'w', whose shape needs 48"),
            ({"offset": -8}, "offset '-8', expected a number of bytes"),
            ({"offset": "8 "}, "expected a number of bytes"),
            ({"offset": "9" * 40}, "expected a number of bytes"),
        ],
        ids=str,
    )
    def test_what_is_refused(self, folder: Path, settings: dict[str, Any], complaint: str) -> None:
        message = refusal(external(folder / "m.onnx", **settings))
        assert message.startswith("m.onnx keeps data outside of itself: it asks for ")
        assert complaint in message

    def test_links_out_of_the_folder_are_not_followed(self, folder: Path) -> None:
        (folder / "link.bin").symlink_to("../secret.bin")
        assert "a link out of the model's folder" in refusal(external(folder / "m.onnx", location="link.bin"))
        (folder / "sub").symlink_to("..")
        assert "a link out of the model's folder" in refusal(external(folder / "m.onnx", location="sub/secret.bin"))

    def test_links_inside_of_it_are(self, folder: Path) -> None:
        (folder / "data").mkdir()
        (folder / "data" / "link.bin").symlink_to("../w.bin")
        assert inspect_onnx_file(external(folder / "m.onnx", location="data/link.bin", offset=8))

    def test_a_pipe_is_not_waited_for(self, folder: Path) -> None:
        os.mkfifo(folder / "pipe")
        assert "not a regular file" in refusal(external(folder / "m.onnx", location="pipe"))
        os.mkfifo(folder / "m2.onnx")
        assert refusal(folder / "m2.onnx") == "m2.onnx is not a regular file"

    def test_more_than_a_message_can_hold(self, folder: Path) -> None:
        path = external(folder / "m.onnx", location="huge.bin")
        model = onnx.load(path, load_external_data=False)
        model.graph.initializer[0].dims[:] = [MOST_BYTES // 4]
        path.write_bytes(model.SerializeToString())
        with (folder / "huge.bin").open("wb") as file:
            file.truncate(MOST_BYTES)
        assert "more than 2147483647 bytes in all" in refusal(path)

    def test_a_tensor_in_pieces_is_refused(self, folder: Path) -> None:
        """Half a tensor says that it is external, the other half where: readers that merge them would look there."""
        says = TensorProto(name="w", dims=W.shape, data_type=1, data_location=TensorProto.EXTERNAL)
        where = TensorProto()
        where.external_data.add(key="location", value="/etc/passwd")
        pieces = [delimited_field(5, tensor.SerializeToString()) for tensor in (says, where)]
        node = b"".join((text(2, "w"), text(4, "Constant"), delimited_field(5, text(1, "value") + b"".join(pieces))))
        model = dense()
        del model.graph.initializer[:]
        graph = delimited_field(1, node) + model.graph.SerializeToString()
        model.ClearField("graph")
        path = folder / "m.onnx"
        path.write_bytes(model.SerializeToString() + delimited_field(7, graph))
        assert "one attribute holds the same part twice" in refusal(path)


class TestWhatIsNoModel:
    @pytest.mark.parametrize(
        "data", [b"", b"hello", b"\x00" * 64, b"PK\x03\x04", b"\xff" * 64, os.urandom(999)], ids=["empty", *"abcde"]
    )
    def test_other_files(self, write: Any, data: bytes) -> None:
        assert "model.onnx is not an ONNX model, or is truncated: " in refusal(write(data))

    def test_every_truncation_is_noticed(self, write: Any) -> None:
        """Or it is cut between two fields, and the rest is a model, too."""
        whole = dense().SerializeToString()
        kept = [length for length in range(len(whole)) if self.is_model(write(whole[:length]))]
        assert len(kept) < 3

    @staticmethod
    def is_model(path: Path) -> bool:
        try:
            return bool(inspect_onnx_file(path).graph.nodes)
        except ModelRefusedError:
            return False

    def test_missing_and_folder(self, tmp_path: Path) -> None:
        assert refusal(tmp_path / "no.onnx").startswith("no model at ")
        assert "is a folder; expected a .keras, .h5, .onnx or .pt2 file" in refusal(tmp_path)

    @pytest.mark.parametrize(
        ("model", "complaint"),
        [
            (make([], [], [value("y")]), "has no inputs"),
            (make([], [value("x")], []), "expected outputs that are tensors; received none"),
            (
                make([], [helper.make_tensor_sequence_value_info("s", 1, None)], [value("y")]),
                "expected inputs that are tensors; 's' is a sequence",
            ),
            (make([], [value("x", dtype=TensorProto.INT4)], [value("y")]), "input 'x' is of data type 22"),
            (make([], [value("x", None)], [value("y")]), "input 'x' does not say its rank"),
            (make([], [value("x", (2**40, 3))], [value("y")]), "which is too large"),
            (
                make([helper.make_node("Relu", ["z"], ["y"], name="r")], [value("x")], [value("y")]),
                "not a valid ONNX graph: node 'r' uses 'z' before it exists",
            ),
            (
                make([helper.make_node("Relu", ["x"], ["y"])] * 2, [value("x")], [value("y")]),
                "not a valid ONNX graph: two nodes give 'y'",
            ),
        ],
    )
    def test_graphs_that_cannot_be_run(self, write: Any, model: Any, complaint: str) -> None:
        assert complaint in refusal(write(model))

    def test_nested_without_end(self, write: Any) -> None:
        node = helper.make_node("Relu", ["x"], ["y"])
        for _ in range(MOST_DEPTH + 5):
            graph = helper.make_graph([node], "g", [], [value("y")])
            node = helper.make_node("If", ["x"], ["y"], then_branch=graph, else_branch=graph)
            node.attribute.pop()  # one branch is enough, and two would double it each time
        assert "nested more than" in refusal(write(make([node], [value("x")], [value("y")])))

    def test_two_graphs(self, write: Any) -> None:
        model = dense()
        twice = model.SerializeToString() + delimited_field(7, model.graph.SerializeToString())
        assert "one model holds the same part twice" in refusal(write(twice))


class TestTheWire:
    def test_negative_and_packed_numbers(self) -> None:
        (field,) = read_fields(integer(3, -5))
        assert (field.integer, field.integers) == (-5, [-5])
        (field,) = read_fields(delimited_field(3, b"\x01\xac\x02"))
        assert field.integers == [1, 300]

    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            (b"\x80", "ends within a number"),
            (b"\x08" + b"\xff" * 10, "more than 64 bits"),
            (b"\x0a\x05abc", "field 1 needs 5 bytes where 3 are left"),
            (b"\x0b", "wire type 3"),
            (b"\x00\x01", "there is no field 0"),
        ],
    )
    def test_what_is_no_message(self, data: bytes, complaint: str) -> None:
        with pytest.raises(WireError, match=complaint):
            list(read_fields(data))

    def test_another_type_than_expected(self) -> None:
        (number,) = read_fields(integer(1, 5))
        (words,) = read_fields(delimited_field(1, b"\xff"))
        for ask in (lambda: number.bytes, lambda: number.text, lambda: words.integer, lambda: words.text):
            with pytest.raises(WireError):
                ask()


class TestIndices:
    """Integer inputs get the range that what is behind them allows."""

    @pytest.mark.parametrize(
        ("nodes", "weights", "high", "source"),
        [
            ([("Gather", ["w", "ids"], {})], {"w": W}, 2, "Gather"),
            ([("Gather", ["w", "ids"], {"axis": 1})], {"w": W}, 3, "Gather"),
            ([("Cast", ["ids"], {"to": 6}), ("Gather", ["w", "t0"], {})], {"w": W}, 2, "Gather"),
            ([("OneHot", ["ids", "d", "v"], {})], {"d": np.array(7), "v": np.array([0.0, 1.0])}, 6, "OneHot"),
            ([("Gather", ["w", "ids"], {}), ("Gather", ["w", "ids"], {"axis": 1})], {"w": W}, 2, "Gather"),
        ],
    )
    def test_of_tables_and_classes(self, write: Any, nodes: Any, weights: Any, high: int, source: str) -> None:
        made = [
            helper.make_node(op, inputs, [f"t{place}"], **attributes)
            for place, (op, inputs, attributes) in enumerate(nodes)
        ]
        outputs = [value(f"t{len(made) - 1}", None)]
        path = write(make(made, [value("ids", ("N", 5), TensorProto.INT64)], outputs, weights))
        draw = inspect_onnx_file(path).draws["ids"]
        assert (draw.low, draw.high, draw.source) == (0, high, f"what {source} behind it takes")

    def test_nothing_is_said_of_a_table_that_is_computed_or_of_floats(self, write: Any) -> None:
        nodes = [helper.make_node("Gather", ["x", "ids"], ["y"], axis=1)]
        inputs = [value("x"), value("ids", ("N", 5), TensorProto.INT64)]
        assert inspect_onnx_file(write(make(nodes, inputs, [value("y", None)]))).draws == {}
