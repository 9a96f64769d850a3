"""The oracle ``nonnegative``: a graph that ends in a ReLU never gives a negative number."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tensorparity.plugin import Class, Diagnosis, Judged, Judgement, Kind, LayerGraph, Seen, Setup, Suspicion, Verdict


class NonNegative:
    """Judges by a property alone: no reference, no other target."""

    #: Others are refused with a usage error.
    settings: ClassVar[tuple[str, ...]] = ("slack",)

    def __init__(self, setup: Setup) -> None:
        self._slack = float(setup.settings.get("slack", 0.0))

    def judge(self, seen: Seen) -> Judged:
        """FAIL for whoever gives a negative number; UNDECIDED for what does not end in a ReLU."""
        graph = seen.case.subject
        if not isinstance(graph, LayerGraph) or graph.nodes[-1].op != "ReLU":
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, "the last layer is no ReLU"),))
        wrong = {target: low for target, low in self._lowest(seen).items() if low < -self._slack}
        if not wrong:
            return Judged((Verdict(Judgement.PASS, seen.targets, "nobody gives a negative number"),))
        verdict = Verdict(Judgement.FAIL, tuple(wrong), "a ReLU gives a negative number", kind=Kind.INCONSISTENCY)
        diagnosis = Diagnosis(
            Class.DEFECT,
            tuple(wrong),
            node=graph.nodes[-1].key,
            api="keras.layers.ReLU",
            evidence=tuple(f"{target} gives {low:g}; a ReLU gives no negative number" for target, low in wrong.items()),
        )
        return Judged((verdict,), (Suspicion(Kind.INCONSISTENCY, diagnosis, seen.case, seen.targets),))

    def _lowest(self, seen: Seen) -> dict[str, float]:
        return {
            target: min(float(np.min(output, initial=0.0)) for output in outcome.outputs.values())
            for target, outcome in seen.completed.items()
            if outcome.outputs
        }
