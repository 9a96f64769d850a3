"""Do findings of one fault fall into one cluster, and those of two faults into two?

Forty faults, several of one layer, are planted in ONNX Runtime: parameter variants of what the museum shows. Each is
shown by ten cases under other seeds, shapes and parameters; what is found is reduced and signed, and the clusters are
the signatures (decision 8). Reported: the adjusted Rand index of clusters against faults, and every pair of faults of
one layer that ended in one cluster.

With ``--roots``, nothing is planted: the findings of these stores are held against the root causes that a reader has
assigned, in lines of ``id,root``. Reported: the adjusted Rand index, the share of pairs in one cluster that have one
root, clusters per root, and the share of clusters that are not reduced.

Usage: python bench/clusters.py [CASES PER FAULT] [FAULTS]
       python bench/clusters.py --roots ROOTS.csv STORE [STORE ...]
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from grouping import adjusted_rand, grouping, read_roots, stored
from measuring import table

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Setup
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner
from tensorparity.triage.reduction.preparation import prepare_one
from tensorparity.triage.reduction.reducer import ReductionBudget

TARGETS = ["onnx:reference", "onnxruntime"]

#: A rule sees every node of a file before ONNX Runtime does; what ``hit`` says of is a fiftieth too large.
_TEMPLATE = """
import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

right = onnxruntime.InferenceSession


def hit(graph, node):
    op = node.op_type
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    arrays = {a.name: a for a in graph.initializer}
    kernel = tuple(arrays[node.input[1]].dims) if len(node.input) > 1 and node.input[1] in arrays else ()
    pads = list(given.get("pads", [0]))
    steps, gaps = given.get("strides", [1]), given.get("dilations", [1])
    return RULE


def enlarge(graph, node):
    hidden = node.output[0] + "_hidden"
    graph.initializer.append(numpy_helper.from_array(numpy.float32(1.02), hidden + "_by"))
    scaled = helper.make_node("Mul", [hidden, hidden + "_by"], [node.output[0]])
    node.output[0] = hidden
    graph.node.insert(list(graph.node).index(node) + 1, scaled)


def wrong(model, *args, **kwargs):
    proto = onnx.load_from_string(bytes(model))
    for node in list(proto.graph.node):
        if hit(proto.graph, node):
            enlarge(proto.graph, node)
    return right(proto.SerializeToString(), *args, **kwargs)


onnxruntime.InferenceSession = wrong
"""

Build = Callable[[np.random.Generator], Case]


@dataclass(frozen=True)
class Planted:
    """A fault, the layer it is in, the condition under which it shows, and cases that meet it."""

    name: str
    layer: str
    rule: str
    build: Build


def cases(layer: str, rank: int, **params: object) -> Build:
    """The layer between two that change nothing, on another shape each time; a tuple is a choice of values."""

    def build(rng: np.random.Generator) -> Case:
        shape = (*(int(rng.integers(5, 9)) for _ in range(rank - 1)), 2 * int(rng.integers(1, 3)))
        chosen = {
            name: value[int(rng.integers(len(value)))] if isinstance(value, tuple) else value
            for name, value in params.items()
        }
        builder = GraphBuilder("clustered")
        x = builder.add("Dropout", builder.input("x", shape), rate=0.5)
        x = builder.add(layer, x, name="guilty", **chosen)
        graph = builder.build(builder.add("Dropout", x, rate=0.25))
        inputs = {"x": rng.standard_normal((int(rng.integers(1, 4)), *shape)).astype(np.float32)}
        return Case(graph, inputs=inputs, weights=draw_weights(graph, rng))

    return build


def planted(name: str, layer: str, rule: str, rank: int, **params: object) -> Planted:
    return Planted(name, layer, rule, cases(layer, rank, **params))


_FILTERS = {"filters": (2, 4), "kernel_size": (1, 2, 3)}
_ACTIVATIONS = {
    "sigmoid": "Sigmoid", "tanh": "Tanh", "softplus": "Softplus", "softsign": "Softsign", "selu": "Selu",
    "gelu": "Gelu", "exponential": "Exp", "hard_sigmoid": "HardSigmoid", "elu": "Elu", "leaky_relu": "LeakyRelu",
    "softmax": "Softmax", "log_softmax": "LogSoftmax",
}  # fmt: skip

FAULTS: tuple[Planted, ...] = (
    *(planted(name, "Activation", f'op == "{op}"', 2, activation=name) for name, op in _ACTIVATIONS.items()),
    planted("convolution", "Conv2D", 'op == "Conv"', 3, **_FILTERS),
    planted("convolution, even kernel", "Conv2D", 'op == "Conv" and kernel[-1] == 2', 3, filters=(2, 4), kernel_size=2),
    planted("convolution, odd kernel", "Conv2D", 'op == "Conv" and kernel[-1] == 3', 3, filters=(2, 4), kernel_size=3),
    planted("convolution, strided", "Conv2D", 'op == "Conv" and max(steps) > 1', 3, strides=(2, 3), **_FILTERS),
    planted(
        "convolution, dilated", "Conv2D", 'op == "Conv" and max(gaps) > 1', 3, filters=(2, 4), kernel_size=2,
        dilation_rate=2,
    ),
    planted("convolution, grouped", "Conv2D", 'op == "Conv" and given.get("group", 1) > 1', 3, groups=2, **_FILTERS),
    planted(
        "convolution, padded", "Conv2D", 'op == "Conv" and max(pads) > 0', 3, filters=(2, 4), kernel_size=(2, 3),
        padding="same",
    ),
    planted("depthwise", "DepthwiseConv2D", 'op == "Conv"', 3, kernel_size=(1, 2, 3)),
    planted(
        "depthwise, padded", "DepthwiseConv2D", 'op == "Conv" and max(pads) > 0', 3, kernel_size=(2, 3), padding="same"
    ),
    planted(
        "depthwise, strided", "DepthwiseConv2D", 'op == "Conv" and max(steps) > 1', 3, kernel_size=(1, 2), strides=2
    ),
    planted("average pooling", "AveragePooling2D", 'op == "AveragePool"', 3, pool_size=(2, 3)),
    planted(
        "average pooling, padded", "AveragePooling2D", 'op == "AveragePool" and max(pads) > 0', 3, pool_size=3,
        strides=(1, 2), padding="same",
    ),
    planted(
        "average pooling, overlapping", "AveragePooling2D",
        'op == "AveragePool" and max(given["kernel_shape"]) > max(steps)', 3, pool_size=(2, 3), strides=1,
    ),
    planted("max pooling", "MaxPooling2D", 'op == "MaxPool"', 3, pool_size=(2, 3)),
    planted(
        "max pooling, padded", "MaxPooling2D", 'op == "MaxPool" and max(pads) > 0', 3, pool_size=3, strides=(1, 2),
        padding="same",
    ),
    planted(
        "max pooling, overlapping", "MaxPooling2D",
        'op == "MaxPool" and max(given["kernel_shape"]) > max(steps)', 3, pool_size=(2, 3), strides=1,
    ),
    planted("global average", "GlobalAveragePooling2D", 'op == "GlobalAveragePool"', 3),
    planted("global maximum", "GlobalMaxPooling2D", 'op == "GlobalMaxPool"', 3),
    planted("batch normalization", "BatchNormalization", 'op == "BatchNormalization"', 2),
    planted("layer normalization", "LayerNormalization", 'op == "LayerNormalization"', 2),
    planted("dense", "Dense", 'op in ("Gemm", "MatMul")', 2, units=(1, 2, 3)),
    planted("upsampling", "UpSampling2D", 'op == "Resize"', 3, size=(2, 3)),
    planted("upsampling, bilinear", "UpSampling2D", 'op == "Resize" and given.get("mode") == b"linear"', 3,
            size=(2, 3), interpolation="bilinear"),
    planted("elu layer", "ELU", 'op == "Elu"', 2),
    planted("elu layer, alpha", "ELU", 'op == "Elu" and given.get("alpha", 1.0) != 1.0', 2, alpha=(0.5, 0.25)),
    planted("leaky relu", "LeakyReLU", 'op == "LeakyRelu"', 2, negative_slope=(0.1, 0.3)),
    planted("relu", "ReLU", 'op in ("Relu", "Clip", "LeakyRelu")', 2),
    planted("relu, bounded", "ReLU", 'op == "Clip"', 2, max_value=(0.5, 1.5)),
    planted("softmax layer", "Softmax", 'op == "Softmax"', 2),
    planted("softmax, another axis", "Softmax", 'op == "Softmax" and given.get("axis", -1) == 1', 3, axis=1),
)  # fmt: skip


def signatures(runner: LocalRunner, planted: Planted, count: int, number: int) -> list[str]:
    """One per case that was found; every case is reduced on its own, so that none profits from another."""
    found = []
    for seed in range(count):
        case = planted.build(np.random.default_rng([number, seed]))
        examiner = Examiner(runner, Setup(targets=tuple(TARGETS), traits=traits_of(TARGETS)))
        (examined,) = examiner.examine([Ask(case)])
        for suspicion in examined.judged.suspicions:
            prepared = prepare_one(runner, examiner, suspicion, ReductionBudget(), scripts=False)
            found.append(prepared.suspicion.signature)
    return found


def held_against(roots: Path, stores: Sequence[str]) -> None:
    """Clusters of what was found against what a reader says."""
    print("\n".join(grouping(stored(stores), read_roots(roots)).lines))


def main() -> None:
    if sys.argv[1:2] == ["--roots"]:
        held_against(Path(sys.argv[2]), sys.argv[3:])
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    faults = FAULTS[: int(sys.argv[2])] if len(sys.argv) > 2 else FAULTS
    labels: list[str] = []
    clusters: list[str] = []
    rows = []
    began = time.monotonic()
    for number, fault in enumerate(faults):
        source = _TEMPLATE.replace("RULE", fault.rule)
        settings = RunnerSettings(faults={"onnxruntime": Fault(f"{fault.name}.py", source)})
        with open_runner(TARGETS, settings) as runner:
            found = signatures(runner, fault, count, number)
        labels += [fault.name] * len(found)
        clusters += found
        rows.append([fault.name, fault.layer, str(len(found)), str(len(set(found)))])
        print(f"{fault.name}: {len(found)} findings, {len(set(found))} signatures", file=sys.stderr)
    print(table(["fault", "layer", "findings", "signatures"], rows))
    members = defaultdict(set)
    for label, cluster in zip(labels, clusters, strict=True):
        members[cluster].add(label)
    merged = sorted(" + ".join(sorted(names)) for names in members.values() if len(names) > 1)
    print(f"\n{len(faults)} faults, {len(labels)} findings, {len(members)} clusters", end="; ")
    print(f"adjusted Rand index {adjusted_rand(labels, clusters):.3f}; {time.monotonic() - began:.0f} s")
    print(f"faults in one cluster: {'; '.join(merged) or 'none'}")


if __name__ == "__main__":
    main()
