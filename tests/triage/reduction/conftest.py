"""Cases to reduce, and checks that need no library: a predicate says whether a case still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Judged
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.triage.reduction.passes import PASSES
from tensorparity.triage.reduction.reducer import Reduction, ReductionBudget, reduce_case

TARGETS = ("keras:torch", "keras:jax")


def make_case(graph: LayerGraph, batch: int = 3, seed: int = 0, **further: Any) -> Case:
    rng = np.random.default_rng(seed)
    inputs = {item.name: rng.standard_normal((batch, *item.shape)).astype(np.float32) for item in graph.inputs}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, rng), **further)


def suspicion_of(case: Case, api: str = "keras.layers.Conv2D", node: str | None = None) -> Suspicion:
    return Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.DEFECT, ("keras:torch",), node, api), case, TARGETS)


def check_by(fails: Callable[[Case], bool], seen: list[Case] | None = None) -> Callable[..., list[Judged]]:
    def check(cases: Sequence[Case]) -> list[Judged]:
        if seen is not None:
            seen.extend(cases)
        return [Judged((), (suspicion_of(case),)) if fails(case) else Judged() for case in cases]

    return check


@pytest.fixture(scope="session")
def lenet() -> LayerGraph:
    build = GraphBuilder("lenet")
    x = build.input("image", (12, 12, 2))
    conv = {"filters": 6, "kernel_size": [5, 5], "strides": [2, 2], "padding": "same", "activation": "relu"}
    x = build.add("Conv2D", x, name="conv", **conv)
    x = build.add("BatchNormalization", x, name="norm", epsilon=0.01)
    x = build.add("ReLU", x, name="relu")
    x = build.add("Dense", build.add("Flatten", x, name="flat"), name="logits", units=4)
    return build.build(build.add("Softmax", x, name="classes"))


@pytest.fixture(scope="session")
def reduced() -> Callable[..., tuple[Reduction, list[Case]]]:
    """Reduce a case as long as a predicate holds; also every case that was checked."""

    def run(
        case: Case, fails: Callable[[Case], bool], budget: ReductionBudget | None = None, passes: Any = PASSES
    ) -> Any:
        seen: list[Case] = []
        result = reduce_case(
            case, suspicion_of(case).key, check_by(fails, seen), passes, budget or ReductionBudget(500)
        )
        return result, seen

    return run
