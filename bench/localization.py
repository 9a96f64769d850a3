"""Who accuses how many layers: the isolated replay beside the paper's quartile rule, on planted faults.

One target runs with a fault, another without. The quartile rule highlights, on the most inconsistent input, the layers
whose introduction rate is above the third quartile of the map (equations 5 and 6). The isolated replay accuses the
layers whose error alone, on identical inputs, is above K. Guilty are the layers that the fault changes.

    python bench/localization.py --models lenet5,resnet20 --faults same-padding-shifted
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from measuring import table
from planted import FAULTS, FAULTY, Opened, open_model, running

from tensorparity.commands.whole_models import ExaminedModel, ModelExaminer
from tensorparity.core.comparison import LayerDeviation
from tensorparity.core.runner import Runner
from tensorparity.operators.reference.rounding import K
from tensorparity.targets.catalogue import traits_of

CLEAN = "keras:jax"
NAMED = ("batchnorm-epsilon-outside-sqrt", "avgpool-counts-padding", "same-padding-shifted")
MODELS = ("inception-block", "resnet20", "vgg16", "mobilenetv2")
HEAD = (
    "model", "fault", "layers", "guilty", "red", "red and guilty", "first red is guilty",
    "accused", "accused and guilty", "first accused is guilty", "found", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One fault in one model."""

    model: str
    fault: str
    layers: tuple[LayerDeviation, ...]
    guilty: frozenset[str]
    found: str
    seconds: float

    def cells(self) -> list[str]:
        red = [layer.key for layer in self.layers if layer.highlighted]
        accused = [layer.key for layer in self.layers if not (layer.isolated_error or 0.0) <= K]
        return [
            self.model, self.fault, str(len(self.layers)), str(len(self.guilty)), *self._judged(red),
            *self._judged(accused), self.found, f"{self.seconds:.1f}",
        ]  # fmt: skip

    def _judged(self, keys: list[str]) -> list[str]:
        right = [key for key in keys if key in self.guilty]
        first = "-" if not keys else "yes" if keys[0] in self.guilty else "no"
        return [str(len(keys)), str(len(right)), first]


def examine(opened: Opened, runner: Runner) -> ExaminedModel:
    targets = (CLEAN, FAULTY)
    always = {"localize": "always"}
    examiner = ModelExaminer(runner, opened.model, targets, traits_of(targets), settings=always)
    return examiner.examine(opened.data.inputs, opened.data.labels)


def measure(opened: Opened, fault: str, runner: Runner) -> Row:
    began = time.perf_counter()
    examined = examine(opened, runner)
    seconds = time.perf_counter() - began
    defects = [suspicion.diagnosis for suspicion in examined.suspicions]
    first = defects[0] if defects else None
    found = f"{first.node} on {', '.join(first.suspects)}" if first else "nothing"
    guilty = frozenset(node.key for node in opened.concerned(fault))
    return Row(opened.name, fault, examined.comparisons[0].layers, guilty, found, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS), help="of the zoo, or app:NAME")
    parser.add_argument("--faults", default=",".join(NAMED), help=f"of {', '.join(FAULTS)}")
    parser.add_argument("--instances", type=int, default=32)
    options = parser.parse_args()
    rows: list[Row] = []
    for fault in options.faults.split(","):
        with running((CLEAN, FAULTY), fault) as (local, runner, settings):
            for name in options.models.split(","):
                opened = open_model(name, local, settings, options.instances)
                if opened.concerned(fault):
                    rows.append(measure(opened, fault, runner))
                    print(" ".join(rows[-1].cells()), flush=True)
    print(table(HEAD, [row.cells() for row in rows]))


if __name__ == "__main__":
    main()
