"""One defect, one signature: what changes it and what must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.signature import key, signature, value_class
from tensorparity.core.verdict import Kind, Measure, Stage

DIAGNOSIS = Diagnosis(
    Class.DEFECT,
    ("keras:jax",),
    node="conv1#0",
    api="keras.layers.Conv2D",
    parameters={"filters": 16, "kernel_size": [3, 3], "padding": "same"},
    evidence=("keras:jax is off by 0.1",),
    measure=Measure("error-in-roundoffs", 123.0),
    threshold=16.0,
)


def signed(kind: Kind = Kind.INCONSISTENCY, stage: Stage = Stage.FORWARD, exception: str = "", **changes: Any) -> str:
    return signature(kind, stage, replace(DIAGNOSIS, **changes), exception)


def test_it_is_readable_and_pinned() -> None:
    assert signed().startswith("inconsistency/forward/Conv2D/")
    assert signed() == signed()
    assert key(Kind.NAN, Stage.FORWARD, DIAGNOSIS) == ("nan", "forward", "keras:jax", "keras.layers.Conv2D", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"suspects": ("keras:jax{JAX_ENABLE_X64=0}",)},
        {"suspects": ("keras:jax@nightly",)},
        {"node": "another_name#3"},
        {"evidence": ("line 17 of /some/where.py, version 3.15",)},
        {"measure": Measure("error-in-roundoffs", 4e9), "threshold": 17.0},
        {"parameters": {"filters": 64, "kernel_size": [5, 5], "padding": "same"}},
        {"parameters": {"padding": "same", "kernel_size": (3, 3), "filters": 16}},
        {"parameters": {"filters": 16, "kernel_size": 3, "padding": "same"}},
    ],
    ids=["settings", "environment", "node", "evidence", "figures", "sizes", "order", "spelling"],
)
def test_what_must_not_matter(changes: dict[str, Any]) -> None:
    assert signed(**changes) == signed()


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": Kind.NAN},
        {"stage": Stage.BACKWARD},
        {"exception": "ValueError"},
        {"suspects": ("keras:torch",)},
        {"suspects": ("keras:jax", "keras:torch")},
        {"api": "keras.layers.DepthwiseConv2D"},
        {"parameters": {"filters": 16, "kernel_size": [3, 3], "padding": "valid"}},
        {"parameters": {"filters": 16, "kernel_size": [2, 2], "padding": "same"}},
        {"parameters": {}},
    ],
)
def test_what_matters(changes: dict[str, Any]) -> None:
    assert signed(**changes) != signed()


def test_suspects_in_any_order() -> None:
    assert signed(suspects=("b:x", "a:y")) == signed(suspects=("a:y", "b:x"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "zero"),
        (0.0, "zero"),
        (-3, "negative"),
        (-0.5, "negative"),
        (1, "one"),
        (2, "even"),
        (7, "odd"),
        (0.25, "fraction"),
        (float("nan"), "nan"),
        (True, True),
        (None, None),
        ("same", "same"),
        ([3, 3], "odd"),
        ([1, 2], ["one", "even"]),
        ([], []),
        ({"class_name": "L2"}, "structure"),
    ],
)
def test_value_classes(value: Any, expected: Any) -> None:
    assert value_class(value) == expected
