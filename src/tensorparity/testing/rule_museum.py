"""The museum of rules: bugs that EAGLE's paper describes, planted inside one library and found by their rule alone.

No other library runs beside it and no reference is written down: two computations of one library disagree. Bugs of
rule 1 are planted in what is compiled only.
"""

from __future__ import annotations

from dataclasses import dataclass

TENSORFLOW, TORCH, KERAS = "tensorflow:eager", "torch:eager", "keras:torch"


@dataclass(frozen=True)
class RuleExhibit:
    """One bug.

    Args:
        source: figure or section of the paper.
        target: where the fault is planted, and the only one that runs.
        rule: which must find it.
        api: the function whose two sides disagree, which must be blamed; no other is called.
    """

    name: str
    fault: str
    source: str
    target: str
    rule: str
    api: str

    def __str__(self) -> str:
        return self.name


RULE_EXHIBITS: tuple[RuleExhibit, ...] = (
    RuleExhibit(
        "complex division in a graph",
        "graph-complex-division-overflows",
        "Figure 4",
        TENSORFLOW,
        "tf.function",
        "tensorflow.math.xdivy",
    ),
    RuleExhibit(
        "floordiv in a graph",
        "graph-floordiv-by-reciprocal",
        "section 3.1.1",
        TENSORFLOW,
        "tf.function",
        "tensorflow.math.floordiv",
    ),
    RuleExhibit(
        "eigh in a graph",
        "graph-eigh-stops-early",
        "section 3.1.1",
        TENSORFLOW,
        "tf.function",
        "tensorflow.linalg.eigh",
    ),
    RuleExhibit(
        "fmod of int64", "fmod-through-float", "section 5.2, data format", TORCH, "cast-int64-float64", "torch.fmod"
    ),
    RuleExhibit(
        "remainder of int64",
        "remainder-through-float",
        "section 5.2, data format",
        TORCH,
        "cast-int64-float64",
        "torch.remainder",
    ),
    RuleExhibit(
        "bidirectional, time first",
        "time-major-reversed-on-batch",
        "Figure 1",
        TORCH,
        "time-major",
        "torch.nn.RNN",
    ),
)
