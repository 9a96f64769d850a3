"""The paper's choice of thresholds (section IV), on what can be run here.

CRADLE varies T_C, T_M and p, takes the setting that covers the most inconsistencies without false ones, and confirms by
cross-validation over 80:20 splits of the models that it holds in all five folds. Here:

- a *bug pair* is a clean target beside one with a planted fault from the paper, where the fault changes that target's
  own output by more than rounding;
- a *clean pair* is two targets without a fault; whatever a setting reports there is false.

Labels are those of the model's validation data where it is trained; a classifier with calibrated weights is taken to be
right in what keras:tensorflow answers. Class-based distances are for classifiers, MAD-based ones for regressions and,
as in the paper's comparison, for classifiers too; top-k accuracy is the baseline.

    python bench/threshold_study.py --models lenet5,resnet20 --instances 200
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from measuring import table
from planted import FAULTS, FAULTY, TARGETS, Opened, open_model, running

from tensorparity.core.arrays import Array
from tensorparity.core.outcome import Outcome
from tensorparity.core.procedure import Procedure
from tensorparity.core.runner import Runner
from tensorparity.oracles.measure.distances import (
    CLASS_THRESHOLD,
    MAD_THRESHOLD,
    SHARE,
    accuracy_inconsistent,
    as_classes,
    class_distance,
    class_labels,
    is_inconsistent,
    mad_distance,
)
from tensorparity.oracles.measure.roundoff import SCREEN, output_units

CLASS_THRESHOLDS = (1.0, 2.0, 4.0, 8.0, 12.0, 15.0, 16.0)
MAD_THRESHOLDS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
SHARES = (0.0, 1.0, 5.0, 10.0, 20.0)
FOLDS = 5
MODELS = (
    "lenet1",
    "lenet4",
    "lenet5",
    "lstm",
    "transformer",
    "dave-orig",
    "dave-norminit",
    "simplernn",
    "resnet20",
    "mobilenetv2",
)
_BATCH = 250

#: A threshold and a share p.
Setting = tuple[float, float]


@dataclass(frozen=True)
class Pair:
    """One pair of targets on one model: its distances per instance, and whether a fault is planted in one of them."""

    model: str
    fault: str
    classes: Array | None
    mad: Array
    accuracy: Callable[[int, float], bool] | None = None

    @property
    def bug(self) -> bool:
        return bool(self.fault)


@dataclass
class Study:
    """The pairs of all models."""

    pairs: list[Pair] = field(default_factory=list)

    def add(self, opened: Opened, clean: dict[str, Array], faulty: dict[str, Array]) -> None:
        labels = _labels(opened, clean)
        for a, b in itertools.combinations(clean, 2):
            self.pairs.append(_pair(opened.name, "", clean[a], clean[b], labels))
        for fault, output in faulty.items():
            if output_units(output, clean[FAULTY]) > SCREEN:
                others = [target for target in clean if target != FAULTY]
                self.pairs += [_pair(opened.name, fault, clean[target], output, labels) for target in others]


def _labels(opened: Opened, clean: dict[str, Array]) -> Array:
    if opened.data.labels:
        return next(iter(opened.data.labels.values()))
    confidences = as_classes(clean[TARGETS[0]])
    if confidences is None:
        raise ValueError(f"{opened.name} is neither trained nor a classifier")
    answers: Array = confidences.argmax(axis=1)
    return answers


def _pair(model: str, fault: str, a: Array, b: Array, labels: Array) -> Pair:
    a, b = a.astype(np.float64), b.astype(np.float64)
    classes_a, classes_b = as_classes(a), as_classes(b)
    label = class_labels(labels, classes_a.shape[1]) if classes_a is not None else None
    if label is None or classes_a is None or classes_b is None:
        return Pair(model, fault, None, mad_distance(a, b, labels))
    truth = np.eye(classes_a.shape[1])[label]
    return Pair(
        model,
        fault,
        class_distance(classes_a, classes_b, label),
        mad_distance(classes_a, classes_b, truth),
        lambda k, threshold: accuracy_inconsistent(classes_a, classes_b, label, k, threshold),
    )


# --- running ------------------------------------------------------------------------------------


def gather(models: Sequence[str], faults: Sequence[str], instances: int) -> Study:
    clean: dict[str, dict[str, Array]] = {}
    opened: dict[str, Opened] = {}
    with running(TARGETS) as (local, runner, settings):
        for name in models:
            opened[name] = open_model(name, local, settings, instances)
            clean[name] = outputs(opened[name], runner, TARGETS)
            print(f"{name}: {'; '.join(opened[name].notes)}", flush=True)
    faulty: dict[str, dict[str, Array]] = {name: {} for name in models}
    for fault in faults:
        with running((FAULTY,), fault) as (_, runner, _settings):
            for name in models:
                if opened[name].concerned(fault):
                    faulty[name][fault] = outputs(opened[name], runner, (FAULTY,))[FAULTY]
    study = Study()
    for name in models:
        study.add(opened[name], clean[name], faulty[name])
    return study


def outputs(opened: Opened, runner: Runner, targets: Sequence[str]) -> dict[str, Array]:
    """The first output of each target on all instances."""
    slices = [slice(start, start + _BATCH) for start in range(0, opened.data.count, _BATCH)]
    found: dict[str, list[Array]] = {target: [] for target in targets}
    for piece in slices:
        few = {name: array[piece] for name, array in opened.data.inputs.items()}
        for outcome in runner.run_pairs([(opened.model.case(t, Procedure(), few), t) for t in targets]):
            found[outcome.target].append(_only(outcome))
    return {target: np.concatenate(parts) for target, parts in found.items()}


def _only(outcome: Outcome) -> Array:
    if not outcome.completed:
        raise RuntimeError(f"{outcome.target}: {outcome.failure}")
    return next(iter(outcome.outputs.values()))


# --- judging ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """A distance, the settings that are tried, and the paper's."""

    name: str
    distance: Callable[[Pair], Array | None]
    thresholds: Sequence[float]
    paper: Setting

    def pairs(self, pairs: Sequence[Pair]) -> list[Pair]:
        return [pair for pair in pairs if self.distance(pair) is not None]

    def reported(self, pair: Pair, setting: Setting) -> bool:
        distance = self.distance(pair)
        return distance is not None and is_inconsistent(distance, *setting)


METRICS = (
    Metric("class-based, classifiers", lambda pair: pair.classes, CLASS_THRESHOLDS, (CLASS_THRESHOLD, SHARE)),
    Metric(
        "MAD-based, regressions",
        lambda pair: pair.mad if pair.classes is None else None,
        MAD_THRESHOLDS,
        (MAD_THRESHOLD, SHARE),
    ),
    Metric(
        "MAD-based, classifiers",
        lambda pair: pair.mad if pair.classes is not None else None,
        MAD_THRESHOLDS,
        (MAD_THRESHOLD, SHARE),
    ),
)


@dataclass(frozen=True)
class Score:
    """Of the bug pairs, how many are reported; of the clean ones, how many are, falsely."""

    detected: int
    bugs: int
    false: int
    clean: int

    @classmethod
    def of(cls, pairs: Sequence[Pair], reported: Callable[[Pair], bool]) -> Score:
        bugs = [pair for pair in pairs if pair.bug]
        clean = [pair for pair in pairs if not pair.bug]
        return cls(sum(map(reported, bugs)), len(bugs), sum(map(reported, clean)), len(clean))

    def __str__(self) -> str:
        return f"{self.detected}/{self.bugs}, {self.false}/{self.clean}"


def best(metric: Metric, pairs: Sequence[Pair]) -> Setting:
    """The fewest false, then the most detected, then the strictest: what the paper calls optimal."""
    settings = list(itertools.product(metric.thresholds, SHARES))

    def rank(setting: Setting) -> tuple[float, ...]:
        score = Score.of(pairs, lambda pair: metric.reported(pair, setting))
        return -score.false, score.detected, setting[0], setting[1]

    return max(settings, key=rank)


def cross_validation(metric: Metric, pairs: Sequence[Pair], seed: int) -> list[list[str]]:
    """Per fold: the setting chosen on four fifths of the models, and how it and the paper's do on the rest."""
    models = list(dict.fromkeys(pair.model for pair in pairs))
    order = np.random.default_rng(seed).permutation(len(models))
    rows = []
    for fold, members in enumerate(np.array_split(order, min(FOLDS, len(models))), start=1):
        held = {models[index] for index in members}
        training = [pair for pair in pairs if pair.model not in held]
        testing = [pair for pair in pairs if pair.model in held]
        chosen = best(metric, training) if training else metric.paper
        scores = [Score.of(testing, lambda pair, s=s: metric.reported(pair, s)) for s in (chosen, metric.paper)]
        rows.append([str(fold), ", ".join(sorted(held)), _words(chosen), *map(str, scores)])
    return rows


def _words(setting: Setting) -> str:
    return f"T = {setting[0]:g}, p = {setting[1]:g} %"


def show(metric: Metric, study: Study, seed: int) -> None:
    pairs = metric.pairs(study.pairs)
    if not pairs:
        return
    print(f"\n{metric.name}: detected of bug pairs, false of clean pairs\n")
    rows = [
        [
            f"{threshold:g}",
            *(str(Score.of(pairs, lambda p, s=(threshold, share): metric.reported(p, s))) for share in SHARES),
        ]
        for threshold in metric.thresholds
    ]
    print(table(("threshold", *(f"p = {share:g} %" for share in SHARES)), rows))
    chosen = best(metric, pairs)
    print(f"\nbest here: {_words(chosen)}; the paper's: {_words(metric.paper)}\n")
    print(
        table(
            ("fold", "held out", "chosen on the rest", "chosen", "the paper's"), cross_validation(metric, pairs, seed)
        )
    )


def show_accuracy(study: Study) -> None:
    pairs = [pair for pair in study.pairs if pair.accuracy is not None]
    if not pairs:
        return
    limits = (0.0, 1.0, 5.0, 10.0, 50.0)
    rows = []
    for k in range(1, 6):
        scores = [Score.of(pairs, lambda pair, t=t, k=k: bool(pair.accuracy and pair.accuracy(k, t))) for t in limits]
        rows.append([str(k), *map(str, scores)])
    print("\ntop-k accuracy, the baseline: detected of bug pairs, false of clean pairs\n")
    print(table(("k", *(f"T_AC = {limit:g} %" for limit in limits)), rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    options = parser.parse_args()
    study = gather(options.models.split(","), options.faults.split(","), options.instances)
    for metric in METRICS:
        show(metric, study, options.seed)
    show_accuracy(study)
    effects = sorted({(pair.model, pair.fault) for pair in study.pairs if pair.bug})
    print("\nfaults with an effect: " + "; ".join(f"{fault} in {model}" for model, fault in effects))


if __name__ == "__main__":
    main()
