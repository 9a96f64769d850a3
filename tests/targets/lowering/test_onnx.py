"""Layer graphs as ONNX models: what is refused, how it is described, and what ONNX Runtime makes of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import EXTENSION_DTYPES
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.graph import GraphBuilder, InputSpec, LayerGraph, Node, Ref
from tensorparity.core.outcome import Status
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.operators.catalogue import has_layer, layer, layer_names
from tensorparity.operators.layers.nested import serialized_layer
from tensorparity.operators.reference.evaluate import draw_weights, evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import Domain, Evaluation, LayerSpec, Shape, ShapeError
from tensorparity.targets.lowering import lower, onnx_graph
from tensorparity.targets.lowering.onnx import lower_to_onnx
from tensorparity.targets.lowering.onnx_activations import ACTIVATIONS
from tensorparity.targets.lowering.onnx_layers import LAYERS, REFUSED_LAYERS
from tensorparity.targets.lowering.onnx_moving import RESIZED, UP_SAMPLED
from tensorparity.targets.lowering.onnx_recurrent import LOWERED_VALUES
from tensorparity.targets.runner import open_runner

RANDOM_DRAWS = 12
SIZES = (3, 4, 5, 6, 8)

#: ONNX Runtime computes the logistic function as 0.5 + p(x) / q(x), so for negative x it rounds like 0.5 and not
#: like the small result. That is a finding about ONNX Runtime, not about the lowering, which these tests are about.
LOGISTIC_TERM = {"sigmoid": 0.5, "silu": 8.0, "swish": 8.0}
#: ... which the gates of these carry from step to step.
GATED_TERM = {
    **dict.fromkeys(("Bidirectional", "GRU", "LSTM", "RNN"), 2.0),
    **{f"ConvLSTM{dims}D": 2.0 for dims in (1, 2, 3)},
}


# Uses of layers


#: Parameters that fit each other only so.
_EINSUM = [
    ("ab,bc->ac", 4, "c"),
    ("abc,cd->abd", (None, 4), "d"),
    ("abc,cde->abde", (None, 2, 3), "de"),
    ("abc,cde->abde", (None, 2, 3), "e"),
    ("abc,bd->adc", (3, None), "d"),
    ("...x,xy->...y", 4, "y"),
    ("abc,bc->abc", (None, None), "c"),
]
TOGETHER: dict[str, list[dict[str, Any]]] = {
    **{
        f"Conv{dims}DTranspose": [
            {"filters": 2, "kernel_size": 2, "strides": stride, "padding": padding, "output_padding": more}
            for stride, more, padding in ((2, 1, "same"), (2, 1, "valid"), (1, 0, "same"), (3, 1, "same"))
            if dims < 3 or stride < 3
        ]
        for dims in (1, 2, 3)
    },
    "EinsumDense": [dict(zip(("equation", "output_shape", "bias_axes"), one, strict=True)) for one in _EINSUM],
    "Normalization": [{"axis": axis, "mean": -2.0, "variance": 4.0} for axis in (-1, None)]
    + [{"axis": 1, "mean": 0.5, "variance": 0.25, "invert": True}],
}


def _choices(spec: LayerSpec, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Every valid value of every parameter, the others at their default, and then random combinations."""
    # two filters, so that two groups fit
    required = {item.name: 2 if item.name == "filters" else item.valid[0] for item in spec.parameters if item.required}
    for parameter in spec.parameters:
        for value in parameter.valid:
            yield {**required, parameter.name: value}
    yield from TOGETHER.get(spec.name, [])
    for _ in range(0 if spec.random else RANDOM_DRAWS):  # in inference those pass their input on
        yield {item.name: item.valid[rng.integers(len(item.valid))] for item in spec.parameters}


def _shapes(spec: LayerSpec, params: dict[str, Any], rank: int, rng: np.random.Generator) -> list[Shape]:
    """Even sizes on the axes that may be channels, so that groups fit; images that hold the largest window."""
    if spec.name.startswith("ConvLSTM"):
        return [(2, 3, *[5 if rank < 6 else 4] * (rank - 2))]  # a few small images
    if spec.name == "GroupNormalization" and params.get("groups", 32) == 32:
        return [(2, *[32] * (rank - 1))] if rank < 4 else [(1, 32, 3, 32)]
    if spec.name == "CenterCrop":
        return [(2, 8, 9, 8)]
    if spec.name == "Dot":
        return [(2, *[3] * (rank - 1))] * 2
    base = (2, *(int(size) for size in rng.choice(SIZES, rank - 1)))
    if rank == 4 and spec.random:
        base = (2, 3, 6, 3)  # colours, in either format
    elif rank >= 4:
        base = (2, 6, *(max(5, size) for size in base[2:-1]), 6)
    elif any(parameter.name == "kernel_size" for parameter in spec.parameters):
        base = (2, 6, 6)
    least, most = spec.arity
    count = least if most == least else least + int(rng.integers(2))
    if count == 1 or spec.name == "Concatenate" or spec.name.endswith("Attention"):
        return [base] * count
    narrow = (base[0], *(1 if rng.random() < 0.4 else size for size in base[1:]))
    short = (base[0], *base[2:]) if rank > 2 else base
    return [base, [narrow, short, base][int(rng.integers(3))], *[base] * (count - 2)]


def _fits(spec: LayerSpec, params: dict[str, Any], shapes: list[Shape]) -> bool:
    try:
        spec.shape(spec.complete(params), shapes)
    except ShapeError:
        return False
    return True


def _is_lowered(op: str, name: str, value: Any) -> bool:
    """Values that have no counterpart in ONNX are refused, by tables of the lowering's own."""
    lowered = {**LOWERED_VALUES, "Resizing": RESIZED, "UpSampling2D": UP_SAMPLED}
    if name in lowered.get(op, {}):
        return value in lowered[op][name]
    return name != "activation" or value in (None, "linear", *ACTIVATIONS)


def _uses(name: str) -> Iterator[Case]:
    """Cases of the one layer ``layer`` on inputs ``input_0``, ..."""
    spec, rng = layer(name), np.random.default_rng(zlib.crc32(name.encode()))
    for params in _choices(spec, rng):
        if not all(_is_lowered(name, key, value) for key, value in params.items()):
            continue
        for rank in spec.ranks:
            shapes = _shapes(spec, params, rank, rng)
            if _fits(spec, params, shapes) and not spec.unsaid(spec.complete(params)):
                domains = [spec.domain_of(spec.complete(params), index) for index in range(len(shapes))]
                yield _single(name, params, list(map(_values, domains, shapes, [rng] * len(shapes))), rng)


def _values(domain: Domain, shape: Shape, rng: np.random.Generator) -> Any:
    if domain.low is None or domain.high is None:
        return rng.normal(0, 2, shape).astype(np.float32)
    return rng.integers(int(domain.low), int(domain.high), shape).astype(domain.dtype)


def _single(op: str, params: dict[str, Any], arrays: list[Any], rng: np.random.Generator) -> Case:
    names = [f"input_{index}" for index in range(len(arrays))]
    specs = tuple(InputSpec(name, a.shape[1:], a.dtype.name) for name, a in zip(names, arrays, strict=True))
    node = Node("layer", op, tuple(Ref(name) for name in names), params)
    outputs = len(layer(op).shape(layer(op).complete(params), [a.shape for a in arrays])) if has_layer(op) else 1
    graph = LayerGraph(specs, (node,), tuple(Ref("layer", index) for index in range(outputs)))
    return Case(graph, inputs=dict(zip(names, arrays, strict=True)), weights=draw_weights(graph, rng))


def _worst(case: Case, **options: Any) -> float:
    """The largest error of any output of the one layer, run and held against the reference."""
    node, found = case.subject.nodes[0], _run(case)
    evaluations = evaluate_node(node, list(case.inputs.values()), case.weights, **options)
    names = ["layer", *(f"layer.{index}" for index in range(1, len(evaluations)))]
    assert [name for _, name in found] == names
    return max(_error(node, found["outputs", name], one) for name, one in zip(names, evaluations, strict=True))


def _units(node: Node, actual: Any, inputs: list[Any], weights: Any) -> float:
    (evaluation,) = evaluate_node(node, inputs, weights)
    return _error(node, actual, evaluation)


def _error(node: Node, actual: Any, evaluation: Evaluation) -> float:
    extra = LOGISTIC_TERM.get(node.params.get("activation"), 0.0) + GATED_TERM.get(node.op, 0.0)
    assert actual.shape == evaluation.value.shape
    assert actual.dtype == (np.int32 if _gives_integers(node) else np.float32)
    return float(error_units(actual, Evaluation(evaluation.value, evaluation.kappa + extra), "float32").max(initial=0))


def _gives_integers(node: Node) -> bool:
    return node.op == "Discretization" and node.params.get("output_mode", "int") == "int"


def _lowered(case: Case) -> tuple[Any, dict[str, Any]]:
    found = lower_to_onnx(case)
    assert not isinstance(found, str), found
    return found


def _run(case: Case) -> dict[tuple[str, str], Any]:
    """Lower and run in this process, as the adapter does; results by group and name."""
    onnxruntime = pytest.importorskip("onnxruntime")
    subject, arrays = _lowered(case)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        arrays["weights:model"].tobytes(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {item["tensor"]: arrays[f"inputs:{item['input']}"] for item in subject["inputs"]}
    values = session.run([item["tensor"] for item in subject["outputs"]], feeds)
    return {(item["group"], item["name"]): value for item, value in zip(subject["outputs"], values, strict=True)}


# Every layer


@pytest.mark.onnxruntime
@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layer_computes_what_the_catalogue_says(name):
    seen: set[tuple[str, str]] = set()
    for case in _uses(name):
        node = case.subject.nodes[0]
        inputs = list(case.inputs.values())
        units = _worst(case)
        assert units < K, f"{name} {dict(node.params)} {[x.shape for x in inputs]}: e = {units:.3g}"
        seen |= {(key, repr(value)) for key, value in node.params.items()}
    everything = {
        (item.name, repr(value))
        for item in layer(name).parameters
        for value in item.valid
        if _is_lowered(name, item.name, value)
    }
    assert seen >= everything


#: Layers of which some use runs in training: the others draw random numbers or change their weights there.
TRAINED = sorted(name for name in LAYERS if not layer(name).random and name != "SpectralNormalization")


@pytest.mark.onnxruntime
@pytest.mark.parametrize("name", TRAINED)
def test_layer_in_training(name):
    """Most do the same; what draws is refused, and BatchNormalization takes the statistics of the batch."""
    ran = 0
    for case in islice(_uses(name), 4):
        trained = replace(case, procedure=Procedure(training=True))
        node = case.subject.nodes[0]
        if layer(name).draws(layer(name).complete(node.params)):
            assert "random numbers" in str(lower_to_onnx(trained))
            continue
        assert _worst(trained, training=True) < K, dict(node.params)
        ran += 1
    assert ran


@pytest.mark.parametrize("name", sorted(set(LAYERS) - set(TRAINED)))
def test_layer_that_is_refused_in_training(name):
    trained = replace(next(_uses(name)), procedure=Procedure(training=True))
    assert " in training" in str(lower_to_onnx(trained))


def test_noise_inside_of_a_wrapper_is_refused_in_training():
    inner = serialized_layer("LSTM", "lstm", units=2, dropout=0.5)
    x = np.ones((2, 3, 4), np.float32)
    case = _single("Bidirectional", {"layer": inner}, [x], np.random.default_rng(0))
    assert isinstance(lower_to_onnx(case), tuple)
    assert "random numbers" in str(lower_to_onnx(replace(case, procedure=Procedure(training=True))))


def _masked(op: str, **params: Any) -> Case:
    build = GraphBuilder()
    hidden = build.add("Masking", build.input("x", (3, 4)), name="hide")
    graph = build.build(build.add(op, hidden, name="layer", **params))
    inputs = {"x": np.ones((2, 3, 4), np.float32)}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, np.random.default_rng(0)))


def test_a_mask_is_refused_where_it_is_read():
    assert isinstance(lower_to_onnx(_masked("Dense", units=2)), tuple)
    refused = "a mask reaches 'layer' (GRU), which ONNX has no way to say"
    assert lower_to_onnx(_masked("GRU", units=2)) == refused


@pytest.mark.parametrize(("op", "params", "opset"), [("Dense", {"units": 2}, 20), ("RMSNormalization", {}, 23)])
def test_only_operators_that_came_later_ask_for_a_later_opset(op, params, opset):
    onnx = pytest.importorskip("onnx")
    case = _single(op, params, [np.ones((1, 3), np.float32)], np.random.default_rng(0))
    model = onnx.load_from_string(_lowered(case)[1]["weights:model"].tobytes())
    assert [item.version for item in model.opset_import] == [opset]


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_model_passes_the_official_checker(name):
    onnx = pytest.importorskip("onnx")
    for case in _uses(name):
        raw = _lowered(case)[1]["weights:model"].tobytes()
        parsed = onnx.load_from_string(raw)
        onnx.checker.check_model(parsed, full_check=True)
        assert parsed.SerializeToString() == raw


@pytest.mark.onnxruntime
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize(
    ("op", "params", "shape"),
    [
        ("Dense", {"units": 5}, (3, 4)),
        ("Dense", {"units": 5}, (3, 2, 4)),
        ("Conv2D", {"filters": 4, "kernel_size": 3, "padding": "same"}, (2, 5, 6, 3)),
        ("DepthwiseConv2D", {"kernel_size": 2, "data_format": "channels_first"}, (2, 3, 5, 6)),
        ("SeparableConv2D", {"filters": 4, "kernel_size": 3, "strides": 2}, (2, 7, 6, 3)),
    ],
)
def test_activation_of_a_layer_with_a_kernel(op, params, shape, activation):
    rng = np.random.default_rng(7)
    case = _single(op, {**params, "activation": activation}, [rng.normal(0, 1, shape).astype(np.float32)], rng)
    units = _units(case.subject.nodes[0], _run(case)["outputs", "layer"], list(case.inputs.values()), case.weights)
    assert units < K


@pytest.mark.onnxruntime
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [3, 4, 7])
@pytest.mark.parametrize("op", ["Conv2D", "MaxPooling2D", "AveragePooling2D"])
def test_same_padding_puts_the_odd_one_at_the_end(op, size, window, stride):
    extent = {"kernel_size": window, "filters": 2} if op == "Conv2D" else {"pool_size": window}
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, (1, size, size + 1, 2)).astype(np.float32)
    case = _single(op, {**extent, "strides": stride, "padding": "same"}, [x], rng)
    assert _units(case.subject.nodes[0], _run(case)["outputs", "layer"], [x], case.weights) < K


@pytest.mark.onnxruntime
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_value": 6.0},
        {"max_value": 6.0, "negative_slope": 0.5},
        {"threshold": 1.0},
        {"threshold": 1.0, "negative_slope": 0.5, "max_value": 6.0},
        {"threshold": 1.0, "max_value": 1.0},
    ],
    ids=str,
)
def test_relu_at_its_limits(params):
    x = np.array([[np.nan, np.inf, -np.inf, 1.0, 0.5, 0.75, 6.0, 0.0, -3.0]], np.float32)
    case = _single("ReLU", params, [x], np.random.default_rng(0))
    assert _units(case.subject.nodes[0], _run(case)["outputs", "layer"], [x], {}) < K


@pytest.mark.onnxruntime
@pytest.mark.parametrize(
    ("op", "params", "shape"),
    [
        ("Flatten", {}, (0, 3, 2)),
        ("Reshape", {"target_shape": [-1, 2]}, (0, 3, 2)),
        ("Softmax", {"axis": [-2, -1]}, (0, 3, 2)),
        ("MaxPooling2D", {}, (0, 4, 4, 2)),
    ],
)
def test_empty_batch(op, params, shape):
    x = np.zeros(shape, np.float32)
    case = _single(op, params, [x], np.random.default_rng(0))
    assert _units(case.subject.nodes[0], _run(case)["outputs", "layer"], [x], {}) == 0


# Graphs


def _residual() -> Case:
    """Branches, a shared layer, two outputs, and names that no language would take for identifiers."""
    build = GraphBuilder("résidu/1")
    image = build.input("the image:0", (6, 5, 3))
    shared = build.add("Conv2D", image, name="conv/a", filters=3, kernel_size=3, padding="same", activation="relu")
    again = build.add("Conv2D", shared, again="conv/a")
    normal = build.add("BatchNormalization", again, name="norm-a")
    twin = build.add("BatchNormalization", image, name="norm_a")
    total = build.add("Add", normal, twin, name="add 1")
    pooled = build.add("GlobalAveragePooling2D", total, name="pool")
    scores = build.add("Dense", pooled, name="scores", units=4, activation="softmax")
    graph = build.build(scores, total)
    rng = np.random.default_rng(5)
    inputs = {"the image:0": rng.normal(0, 1, (2, 6, 5, 3)).astype(np.float32)}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, rng))


def _check_nodes(case: Case, nodes: Any, arguments: dict[str, list[Any]]) -> None:
    """Each node against the reference on the very inputs it got, so that no error is inherited."""
    assert set(nodes) == {node.key for node in case.subject.nodes}
    for node in case.subject.nodes:
        assert _units(node, nodes[node.key], arguments[node.key], case.weights) < K, node.key


def _arguments(case: Case, nodes: Any) -> dict[str, list[Any]]:
    """The inputs of every node, by its key, as a trace shows them."""
    values = {**case.inputs, **{node.name: nodes[node.key] for node in case.subject.nodes}}
    return {node.key: [values[ref.node] for ref in node.inputs] for node in case.subject.nodes}


def _replay_of(case: Case, arguments: dict[str, list[Any]]) -> Case:
    """All nodes alone, on the inputs a trace has shown."""
    inputs = {f"{key}/{index}": array for key, arrays in arguments.items() for index, array in enumerate(arrays)}
    return replace(case, procedure=Procedure(Goal.REPLAY, nodes=tuple(arguments)), inputs=inputs)


def test_subject_describes_inputs_and_outputs():
    case = _residual()
    subject, arrays = _lowered(case)
    assert subject["kind"] == "onnx"
    assert [item["input"] for item in subject["inputs"]] == ["the image:0"]
    assert [(item["group"], item["name"]) for item in subject["outputs"]] == [
        ("outputs", "scores"),
        ("outputs", "add 1"),
    ]
    assert set(arrays) == {"inputs:the image:0", "weights:model"}
    assert arrays["weights:model"].dtype == np.uint8
    tensors = [item["tensor"] for item in subject["inputs"] + subject["outputs"]]
    assert all(name.isidentifier() and name.isascii() for name in tensors)


def test_trace_reports_every_node_and_the_plain_run_none():
    case = _residual()
    traced, _ = _lowered(replace(case, procedure=Procedure(trace=True)))
    assert [item["name"] for item in traced["outputs"] if item["group"] == "nodes"] == [
        node.key for node in case.subject.nodes
    ]
    assert traced["outputs"][:2] == _lowered(case)[0]["outputs"]


def test_equal_cases_are_equal_bytes():
    first, second = (_lowered(_residual())[1]["weights:model"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_shared_layer_has_its_weights_once():
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(_lowered(_residual())[1]["weights:model"].tobytes())
    kernels = [item.name for item in model.graph.initializer if "kernel" in item.name]
    assert sorted(kernels) == ["conv_a_kernel", "scores_kernel"]


def test_lower_finds_it_by_form():
    assert isinstance(lower("onnx", _residual()), tuple)


@pytest.mark.onnxruntime
def test_graph_that_returns_its_input():
    build = GraphBuilder()
    x = build.input("x", (2,))
    graph = build.build(x, build.add("Activation", x, name="act", activation="relu"))
    case = Case(graph, inputs={"x": np.array([[-1.0, 2.0]], np.float32)})
    found = _run(case)
    np.testing.assert_array_equal(found["outputs", "x"], [[-1.0, 2.0]])
    np.testing.assert_array_equal(found["outputs", "act"], [[0.0, 2.0]])


@pytest.mark.onnxruntime
@pytest.mark.parametrize("declared", ["float16", "bfloat16", "float32", "float64"])
def test_inputs_are_rounded_to_their_declared_dtype_and_computed_in_float32(declared):
    build = GraphBuilder()
    graph = build.build(build.add("Identity", build.input("x", (2,), declared), name="same"))
    value = np.array([[0.1, 1e300]])
    found = _run(Case(graph, inputs={"x": value}))["outputs", "same"]
    with np.errstate(over="ignore"):
        expected = value.astype(EXTENSION_DTYPES.get(declared, declared)).astype(np.float32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.onnxruntime
def test_batch_sizes_may_differ_between_replayed_nodes():
    build = GraphBuilder()
    x = build.input("x", (2,))
    graph = build.build(build.add("ELU", build.add("ReLU", x, name="a"), name="b"))
    inputs = {"a#0/0": np.ones((1, 2), np.float32), "b#0/0": np.ones((3, 2), np.float32)}
    found = _run(Case(graph, Procedure(Goal.REPLAY, nodes=("a#0", "b#0")), inputs=inputs))
    assert {name: value.shape for (_, name), value in found.items()} == {"a#0": (1, 2), "b#0": (3, 2)}


def test_whole_configuration_of_an_imported_layer_is_accepted():
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}}
    config = {"name": "layer", "trainable": True, "dtype": policy, "units": 2, "activation": "linear"}
    config |= {"kernel_initializer": {"class_name": "GlorotUniform"}, "quantization_config": None}
    x = np.ones((1, 3), np.float32)
    assert isinstance(lower_to_onnx(_single("Dense", config, [x], np.random.default_rng(0))), tuple)


# Refusals


def _dense(**changes: Any) -> Case:
    case = _single("Dense", {"units": 2}, [np.ones((4, 3), np.float32)], np.random.default_rng(0))
    return replace(case, **changes)


def _layer(op: str, shape: tuple[int, ...] = (1, 3), **params: Any) -> Case:
    node = Node("layer", op, (Ref("input_0"),), params)
    graph = LayerGraph((InputSpec("input_0", shape[1:]),), (node,), (Ref("layer"),))
    return Case(graph, inputs={"input_0": np.ones(shape, np.float32)})


def _with_graph(**changes: Any) -> Case:
    case = _dense()
    return replace(case, subject=replace(case.subject, **changes))


_NODE = Node("layer", "Dense", (Ref("input_0"),), {"units": 2})
_REPLAY_INPUT = {"layer#0/0": np.ones((4, 3), np.float32)}

REFUSED = {
    "no layer graph": (Case(ApiCall("keras.ops.add")), "only layer graphs"),
    "gradients": (_dense(procedure=Procedure(Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))), "forward only"),
    "update": (_dense(procedure=Procedure(Goal.UPDATE)), "forward only"),
    "noise in training": (replace(_layer("Dropout", rate=0.5), procedure=Procedure(training=True)), "random numbers"),
    "eager": (_dense(procedure=Procedure(mode=Mode.EAGER)), "one mode"),
    "dtype": (_dense(procedure=Procedure(dtype="float16")), "float16"),
    "reload": (_dense(procedure=Procedure(reload=True)), "'reload'"),
    "data format": (_dense(procedure=Procedure(data_format="channels_first")), "'data_format'"),
    "slices": (_dense(procedure=Procedure(batch_size=3)), "slices of 3"),
    "unknown layer": (_layer("Quaternion"), "Quaternion of node 'layer' has no ONNX counterpart"),
    "invalid parameter": (_layer("Softmax", axis=7), "rules it out: .*axis=7"),
    "unknown activation": (_layer("Activation", activation="nonsense"), "rules it out: .*nonsense"),
    "other policy": (_layer("ReLU", dtype="mixed_float16"), "mixed_float16"),
    "undeclared parameter": (_layer("LayerNormalization", rms_scaling=True), "rms_scaling=True"),
    "call arguments": (_with_graph(nodes=(replace(_NODE, call_params={"mask": 1}),)), "mask"),
    "second output": (_with_graph(outputs=(Ref("layer", 1),)), "output 1 does not exist"),
    "arity": (_layer("Add"), "expected 2 or more inputs"),
    "integer input": (_with_graph(inputs=(InputSpec("input_0", (3,), "int32"),)), "dtype int32"),
    "string input": (_dense(inputs={"input_0": np.array([["a", "b", "c"]])}), "dtype string"),
    "no batch axis": (_dense(inputs={"input_0": np.float32(1).reshape(())}), "no batch axis"),
    "missing input": (_dense(inputs={}), "input 'input_0' is missing"),
    "other shape": (_dense(inputs={"input_0": np.ones((4, 5), np.float32)}), "does not fit"),
    "missing weight": (_dense(weights={}), "weight 'layer/kernel' is missing"),
    "weight of another shape": (
        _dense(weights={"layer/kernel": np.ones((2, 2)), "layer/bias": np.ones(2)}),
        r"shape \(2, 2\) where \(3, 2\)",
    ),
    "replay of nothing": (_dense(procedure=Procedure(Goal.REPLAY)), "names no nodes"),
    "replay of an unknown node": (_dense(procedure=Procedure(Goal.REPLAY, nodes=("x#0",))), "'x#0'"),
    "replay without inputs": (_dense(procedure=Procedure(Goal.REPLAY, nodes=("layer#0",))), "'layer#0/0'"),
    "replay on integers": (
        _dense(procedure=Procedure(Goal.REPLAY, nodes=("layer#0",)), inputs={"layer#0/0": np.ones((4, 3), np.int32)}),
        "dtype int32",
    ),
    "backward replay": (
        _dense(
            procedure=Procedure(Goal.REPLAY, nodes=("layer#0",)),
            inputs=_REPLAY_INPUT,
            cotangents={"layer#0": np.ones((4, 2), np.float32)},
        ),
        "gradients",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_names_its_reason(name):
    case, reason = REFUSED[name]
    found = lower_to_onnx(case)
    assert isinstance(found, str)
    with pytest.raises(onnx_graph.Refusal, match=reason):
        raise onnx_graph.Refusal(found)


def test_inputs_of_different_batch_sizes_are_refused():
    build = GraphBuilder()
    graph = build.build(build.add("Add", build.input("a", (2,)), build.input("b", (2,)), name="sum"))
    found = lower_to_onnx(Case(graph, inputs={"a": np.ones((1, 2)), "b": np.ones((3, 2))}))
    assert found == "the inputs of node 'sum' differ in their batch sizes: [1, 3]"


def test_weights_beyond_the_size_of_a_message_are_refused(monkeypatch):
    monkeypatch.setattr(onnx_graph, "MOST_WEIGHT_BYTES", 20)
    found = lower_to_onnx(_dense())
    assert isinstance(found, str)
    assert "2 GiB" in found


@pytest.mark.parametrize("batch_size", [4, 32])
def test_one_slice_is_the_whole_batch(batch_size):
    assert isinstance(lower_to_onnx(_dense(procedure=Procedure(batch_size=batch_size))), tuple)


# Through a real worker


@pytest.fixture(scope="module")
def ask():
    pytest.importorskip("onnxruntime")
    with open_runner(["onnxruntime"]) as runner:
        yield lambda case: runner.run_pairs([(case, "onnxruntime")])[0]


@pytest.mark.onnxruntime
def test_worker_runs_forward_trace_and_replay(ask):
    case = _residual()
    plain = ask(case)
    assert plain.status is Status.COMPLETED, plain.failure
    assert not plain.trace.nodes

    traced = ask(replace(case, procedure=Procedure(trace=True)))
    assert traced.status is Status.COMPLETED, traced.failure
    arguments = _arguments(case, traced.trace.nodes)
    _check_nodes(case, traced.trace.nodes, arguments)
    assert set(plain.outputs) == set(traced.outputs) == {"scores", "add 1"}
    for name, value in plain.outputs.items():  # fusing may round differently, so not equal
        np.testing.assert_allclose(value, traced.outputs[name], rtol=1e-4, atol=1e-5)

    replayed = ask(_replay_of(case, arguments))
    assert replayed.status is Status.COMPLETED, replayed.failure
    assert not replayed.outputs
    _check_nodes(case, replayed.trace.nodes, arguments)


@pytest.mark.onnxruntime
def test_refusal_becomes_an_unsupported_outcome(ask):
    outcome = ask(_dense(procedure=Procedure(Goal.UPDATE)))
    assert outcome.status is Status.UNSUPPORTED
    assert "forward only" in outcome.failure.message


def test_an_activation_without_counterpart_is_refused():
    rng = np.random.default_rng(0)
    case = _single("Activation", {"activation": "sparsemax"}, [rng.normal(0, 1, (2, 3)).astype(np.float32)], rng)
    reason = lower_to_onnx(case)
    assert isinstance(reason, str)
    assert "sparsemax" in reason


@pytest.mark.parametrize("name", sorted(set(layer_names()) - set(LAYERS)))
def test_a_layer_without_counterpart_is_refused(name):
    found = lower_to_onnx(_layer(name))
    assert found == f"layer {name} of node 'layer' has no ONNX counterpart here: {REFUSED_LAYERS[name]}"
