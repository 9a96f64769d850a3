"""Replays and cuts for whoever has a runner and no examiner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorparity.core.arrays import Array, Arrays
from tensorparity.core.case import Case
from tensorparity.core.graph import Node
from tensorparity.core.model import Model
from tensorparity.core.procedure import Procedure
from tensorparity.core.runner import Runner
from tensorparity.core.traits import Traits
from tensorparity.oracles.base import run_steps
from tensorparity.oracles.measure.fusion import Stretch, shortest_stretch
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.oracles.measure.replay import replay_nodes

_PLAIN = Procedure()


def replay_on(
    runner: Runner,
    model: Model,
    nodes: Sequence[Node],
    inputs: Arrays,
    activations: Mapping[str, Array],
    targets: Sequence[str],
    traits: Traits,
    *,
    fresh: bool = False,
    deadline_factor: float = 1.0,
    like: Procedure = _PLAIN,
) -> list[NodeErrors]:
    """Replay the nodes on the targets of a runner."""
    steps = replay_nodes(model, nodes, inputs, activations, targets, traits, deadline=deadline_factor, like=like)
    return run_steps(runner, steps, fresh=fresh)


def stretch_on(runner: Runner, case: Case, target: str, *, fresh: bool = False) -> Stretch | None:
    """The shortest stretch of a graph that a target gets wrong as a whole."""
    return run_steps(runner, shortest_stretch(case, target), fresh=fresh)
