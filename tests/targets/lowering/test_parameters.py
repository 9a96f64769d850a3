"""Arguments that a lowering need not know, in inference and in training."""

from __future__ import annotations

from tensorparity.core.graph import Node, Ref
from tensorparity.targets.lowering.parameters import undeclared


def test_what_changes_training_alone_is_told_there() -> None:
    node = Node("n", "BatchNormalization", (Ref("x"),), {"trainable": False})
    assert undeclared(node, training=False) is None
    assert undeclared(node, training=True) == "trainable=False"


def test_what_trains_as_it_infers_may_be_frozen() -> None:
    assert undeclared(Node("n", "Dense", (Ref("x"),), {"units": 2, "trainable": False}), training=True) is None
