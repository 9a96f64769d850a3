"""NaN by search on inputs and weights, for variants that give none by themselves, in two columns.

    python bench/nan_search.py [--models resnet20,vgg16,mobilenetv2] [--targets ...] [--variants 20] [--seconds 60]

(i) The paper's definition: unrestricted noise; how many variants gave NaN, the median time to the first, and what
caused it, variances that became negative apart. (ii) Inputs within the range of the data, weights within three standard
deviations of their layer and in their domain (variances positive): NaN on one target while another is finite.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace

import numpy as np
from searching import calibrated, run_search, search_of

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.graph import LayerGraph
from tensorparity.core.procedure import Mode, Procedure
from tensorparity.core.runner import run_case
from tensorparity.generators.mutation.variants import valid_variant
from tensorparity.generators.search.bounds import realistic_bounds
from tensorparity.generators.search.genetic import BOTH, SearchSettings
from tensorparity.oracles.audee_looking import first_nan
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner

SETTINGS = SearchSettings(size=32, parents=4, scale=0.3)
#: Of numbers that are drawn as these inputs are, what is hardly ever left.
DATA = (-3.0, 3.0)


def cause(runner: LocalRunner, culprit: Case, target: str) -> str:
    """The layer that gives the first NaN, and whether a variance of it is negative."""
    traced = replace(culprit, procedure=Procedure(trace=True, mode=Mode.EAGER))
    nodes = run_case(runner, traced, [target])[target].trace.nodes
    graph = culprit.subject
    assert isinstance(graph, LayerGraph)
    key = first_nan(graph, nodes)
    node = next((node for node in graph.nodes if node.key == key), None)
    if node is None:
        return "nowhere when traced"
    variance = culprit.weights.get(f"{node.layer}/moving_variance")
    if variance is not None and bool((variance < 0).any()):
        return "negative variance"
    return f"{node.op}"


def finite_elsewhere(runner: LocalRunner, culprit: Case, target: str, targets: list[str]) -> bool:
    """Whether another target gives numbers where this one gives NaN."""
    outcomes = run_case(runner, culprit, targets)
    nan = {name: _has_nan(outcome.outputs) for name, outcome in outcomes.items() if outcome.completed}
    return nan.get(target, False) and not all(nan.values())


def _has_nan(outputs: dict[str, Array]) -> bool:
    return any(bool(np.isnan(array).any()) for array in outputs.values())


def row(runner: LocalRunner, model: str, target: str, options: argparse.Namespace) -> str:
    graph, weights, inputs = calibrated(model)
    times, causes, findings, made, tried = [], Counter[str](), 0, 0, 0
    while made < options.variants and tried < 5 * options.variants:
        variant = valid_variant(graph, weights, np.random.default_rng([options.seed, tried]), f"{model}-{tried}")
        tried += 1
        own = dict(variant.weights)
        plain = run_case(runner, Case(variant.graph, inputs=inputs, weights=own), [target])[target]
        if not plain.completed or _has_nan(dict(plain.outputs)):
            continue
        made += 1
        search = search_of(variant.graph, own, inputs, BOTH, SETTINGS, made)
        found = run_search(runner, search, [target], "nan", 10_000, seconds=options.seconds, until_failure=True)
        if found.culprit is not None:
            times.append(found.seconds)
            causes[cause(runner, found.culprit, target)] += 1
        bounds = realistic_bounds(variant.graph, own, {item.name: DATA for item in variant.graph.inputs})
        bounded = search_of(variant.graph, own, inputs, BOTH, SETTINGS, made, bounds)
        found = run_search(runner, bounded, [target], "nan", 10_000, seconds=options.seconds / 4, until_failure=True)
        findings += found.culprit is not None and finite_elsewhere(runner, found.culprit, target, options.target_names)
    share = 100.0 * len(times) / made if made else 0.0
    median = f"{np.median(times):.1f} s" if times else "-"
    return (
        f"{model:12} {target:17} (i) {len(times)} of {made} variants ({share:.0f} %), median {median}, "
        f"causes {dict(causes.most_common())}; (ii) {findings} findings"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="resnet20,vgg16,mobilenetv2")
    parser.add_argument("--targets", default="keras:tensorflow,keras:jax,keras:torch")
    parser.add_argument("--variants", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.target_names = options.targets.split(",")
    with open_runner(options.target_names, RunnerSettings(cache=None)) as runner:
        for model in options.models.split(","):
            for target in options.target_names:
                print(row(runner, model, target, options), flush=True)


if __name__ == "__main__":
    main()
