"""What all steps of one examination share, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...core.comparison import Comparison
from ...core.errors import TensorParityError
from ...core.graph import Node
from ...core.model import Model
from ...core.outcome import Outcome
from ...core.precision import HighPrecision
from ...core.runner import Runner
from ...core.suspicion import Suspicion
from ...core.training import Training
from ...core.verdict import Verdict
from ...oracles.pair import PairOracle, PairSettings, judge_parity
from ...triage.node_errors import NodeErrors
from ..events import Listener, silent


@dataclass
class Examined:
    """What came of an examination."""

    comparisons: list[Comparison] = field(default_factory=list)
    suspicions: list[Suspicion] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    measured: list[NodeErrors] = field(default_factory=list)
    #: Layers on which every target disagrees with the reference, and no code they share can be blamed.
    doubts: list[str] = field(default_factory=list)
    training: Training | None = None
    high_precision: HighPrecision | None = None

    @property
    def verdicts(self) -> list[Verdict]:
        return [comparison.verdict for comparison in self.comparisons]


@dataclass(frozen=True)
class Rules:
    """How an examination judges.

    Args:
        families: which code each target shares with others.
        localize: ``auto`` looks at the layers where outputs differ, ``always`` and ``never`` say so.
    """

    families: Mapping[str, str]
    oracle: PairOracle = judge_parity
    pairs: PairSettings = field(default_factory=PairSettings)
    localize: str = "auto"
    batch_size: int | None = None
    seed: int = 0


@dataclass
class Setting:
    """One model on several targets.

    Args:
        model: gets its graph when somebody needs it.
        import_graph: gives the model with its graph, for files; called only if the layers are needed.
        arbiters: targets that are not compared, but asked about layers that the others dispute.
    """

    runner: Runner
    model: Model
    rules: Rules
    arbiters: Sequence[str] = ()
    import_graph: Callable[[Model], Model] | None = None
    tell: Listener = silent

    def need_graph(self, found: Examined) -> bool:
        """Read the layers, where they can be; otherwise a note says why not."""
        if self.model.graph is None and self.import_graph is not None:
            try:
                self.model = self.import_graph(self.model)
            except TensorParityError as error:
                found.notes.append(f"the layers could not be read: {error}")
        return self.model.graph is not None

    def nodes(self) -> Sequence[Node]:
        return self.model.graph.nodes if self.model.graph else ()
