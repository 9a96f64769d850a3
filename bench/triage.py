"""From a failing verdict to a finished reproducer: how long, how small, and in how many checks.

Two parts. *Faults*: each named fault is planted in one Keras backend, in a LeNet-like network; the clock runs
from the failing verdict to the reproducer that has been executed. *Chain*: 40 layers of which one is wrong in
ONNX Runtime, with every process started for it counted; beside it stands what Polygraphy needs for its node alone.

Usage: python bench/triage.py [faults] [chain]
"""

from __future__ import annotations

import sys

import numpy as np
import psutil
from measuring import cpu_of, median, spending, table

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Setup
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import Fault, load_fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner
from tensorparity.triage.reduction.order import elements, node_count
from tensorparity.triage.reduction.preparation import prepare_one, reduce_suspicion
from tensorparity.triage.reduction.reducer import ReductionBudget

#: Checks and CPU seconds of ``polygraphy debug reduce`` on a chain of 40 ONNX nodes, which it cuts to the guilty one.
POLYGRAPHY = ("11", "6.8")

FAULTS = (
    ("avgpool-counts-padding", "keras:torch", "keras:jax"),
    ("same-padding-shifted", "keras:tensorflow", "keras:torch"),
    ("batchnorm-epsilon-outside-sqrt", "keras:jax", "keras:torch"),
)

#: ONNX Runtime with an Elu of another slope below zero.
WRONG_ELU = """
import onnx
import onnxruntime

right = onnxruntime.InferenceSession


def wrong(model, *args, **kwargs):
    proto = onnx.load_from_string(bytes(model))
    for node in proto.graph.node:
        if node.op_type == "Elu":
            del node.attribute[:]
            node.attribute.append(onnx.helper.make_attribute("alpha", 0.5))
    return right(proto.SerializeToString(), *args, **kwargs)


onnxruntime.InferenceSession = wrong
"""


def descendants() -> float:
    """CPU seconds of all processes below this one, those that have ended included."""
    own = psutil.Process()
    times = own.cpu_times()
    living = sum(cpu_of(process) for process in own.children(recursive=True))
    return float(times.children_user + times.children_system) + living


def lenet() -> LayerGraph:
    build = GraphBuilder("lenet-like")
    x = build.input("image", (28, 28, 1))
    x = build.add("Conv2D", x, filters=6, kernel_size=[4, 4], padding="same", activation="relu")
    x = build.add("BatchNormalization", x)
    x = build.add("AveragePooling2D", x, pool_size=[3, 3], strides=[3, 3], padding="same")
    x = build.add("Conv2D", x, filters=16, kernel_size=[5, 5], activation="tanh")
    x = build.add("Dense", build.add("Flatten", x), units=84, activation="relu")
    return build.build(build.add("Softmax", build.add("Dense", x, units=10)))


def chain() -> LayerGraph:
    build = GraphBuilder("chain-of-40")
    x = build.input("x", (16,))
    for index in range(40):
        if index == 28:  # after a Dense, so that it sees both signs
            x = build.add("ELU", x)
        else:
            x = build.add("Dense", x, units=16) if index % 2 else build.add("ReLU", x)
    return build.build(x)


def case_of(graph: LayerGraph, batch: int = 4) -> Case:
    rng = np.random.default_rng(0)
    inputs = {item.name: rng.standard_normal((batch, *item.shape)).astype(np.float32) for item in graph.inputs}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, rng))


def examiner_of(runner: LocalRunner) -> Examiner:
    targets = tuple(runner.targets)
    return Examiner(runner, Setup(targets=targets, traits=traits_of(targets)))


def bench_faults() -> None:
    rows, times = [], []
    for name, suspect, other in FAULTS:
        case = case_of(lenet())
        with open_runner([other, suspect], RunnerSettings(faults={suspect: load_fault(name)})) as runner:
            examiner = examiner_of(runner)
            (examined,) = examiner.examine([Ask(case)])
            suspicion = next(s for s in examined.judged.suspicions if s.diagnosis.suspects == (suspect,))
            with spending(descendants) as cost:
                prepared = prepare_one(runner, examiner, suspicion, ReductionBudget())
        reduction = prepared.reduction
        assert reduction is not None
        times.append(cost.wall)
        verified = "yes" if prepared.reproducer and prepared.reproducer.verified else "no"
        spent = (f"{cost.wall:.1f}", f"{reduction.seconds:.1f}", f"{cost.cpu:.1f}", str(reduction.checks))
        rows.append([name, suspect, *spent, *shrunk(case, reduction.case), verified])
        print(f"{name}: {cost.wall:.1f} s", file=sys.stderr)
    head = ["fault", "in", "seconds", "reducing", "CPU s", "checks", "nodes", "numbers", "verified"]
    print(table(head, rows))
    print(f"\nMedian: {median(times):.1f} s from the failing verdict to the finished reproducer.")


def shrunk(case: Case, small: Case) -> tuple[str, str]:
    nodes = f"{node_count(case)} to {node_count(small)}"
    return nodes, f"{elements(case):,} to {elements(small)}"


def bench_chain() -> None:
    case = case_of(chain())
    targets = ["onnxruntime", "onnx:reference"]
    settings = RunnerSettings(faults={"onnxruntime": Fault("wrong-elu.py", WRONG_ELU)})
    with open_runner(targets, settings) as runner, spending(descendants) as cost:
        examiner = examiner_of(runner)
        (examined,) = examiner.examine([Ask(case)])
        (suspicion,) = examined.judged.suspicions
        reduction = reduce_suspicion(examiner, suspicion, ReductionBudget())
    ours = ["here: node, parameters, shapes, values", str(reduction.checks), f"{cost.cpu:.1f}"]
    theirs = ["Polygraphy: the node", *POLYGRAPHY, "40 to 1", "not reduced"]
    head = ["", "checks", "CPU s", "nodes", "numbers"]
    print(table(head, [[*ours, *shrunk(case, reduction.case)], theirs]))
    print(f"\n{cost.wall:.1f} s on the wall; starting both workers and the first verdict are in both figures.")


if __name__ == "__main__":
    parts = sys.argv[1:] or ["faults", "chain"]
    if "faults" in parts:
        bench_faults()
    if "chain" in parts:
        bench_chain()
