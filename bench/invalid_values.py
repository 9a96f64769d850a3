"""Every layer of the catalogue with every value that its declaration refuses: how do the targets take it?

A layer alone, one wrong value of one parameter (``generators/mutation``), judged as ``mutate`` judges an invalid
variant. Printed: how each target took them, and every case in which somebody is accused, with what was said.

Usage: python bench/invalid_values.py [--targets T,T] [--cases N] [--seed S] [--layers L,L] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measuring import table

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.graph import LayerGraph
from tensorparity.core.oracle import Setup
from tensorparity.core.procedure import Goal
from tensorparity.engines.audee.tables import REACTIONS
from tensorparity.generators.mutation.variants import Variant, variant_with_value
from tensorparity.generators.mutation.wrong_values import wrong_values
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.oracles.invalid_value import INVALID_VALUE
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.examine import Examined, Examiner

_TARGETS = "keras:tensorflow,keras:torch,keras:jax,keras:numpy"
_ROUND = 24
#: Draws of a network until one has the layer.
_ATTEMPTS = 6


def variants_of(name: str, seed: int) -> Iterator[tuple[Case, Variant]]:
    """The layer alone with each of its wrong values."""
    generator = NetworkGenerator(seed, NetworkSettings(layers=(name,), unit=True, goal=Goal.FORWARD, steered=False))
    for _ in range(_ATTEMPTS):
        case = generator.next().case
        assert isinstance(case.subject, LayerGraph)
        node = next((node for node in case.subject.nodes if node.op == name), None)
        if node is None:
            continue
        for parameter in layer(name).parameters:
            for value in wrong_values(parameter, node.params.get(parameter.name, parameter.default)):
                found = variant_with_value(case.subject, node, parameter.name, value, case.weights, f"{name}-wrong")
                if not parameter.data and found is not None:
                    yield case, found
        return


def drawn(names: list[str], seed: int, count: int) -> list[tuple[Case, Variant]]:
    every = [item for name in names for item in variants_of(name, seed)]
    order = np.random.default_rng([seed, 0x1BAD]).permutation(len(every))
    print(f"{len(every)} wrong values of {len(names)} layers; {min(count, len(every))} of them are run")
    return [every[place] for place in order[:count]]


def ask(case: Case, variant: Variant) -> Ask:
    names = {item.name for item in variant.graph.inputs}
    inputs = {name: array[:1] for name, array in case.inputs.items() if name in names}
    return Ask(Case(variant.graph, inputs=inputs, weights=variant.weights, seed=case.seed), oracles=(INVALID_VALUE,))


def document(variant: Variant, examined: Examined) -> dict[str, Any]:
    assert variant.invalid is not None
    name, parameter, value = variant.invalid
    op = next(node.op for node in variant.graph.nodes if node.layer == name)
    return {
        "layer": op,
        "parameters": {key: repr(own) for key, own in variant.graph.nodes[-1].params.items()},
        "parameter": parameter,
        "value": repr(value),
        "accused": [[s.kind.value, list(s.diagnosis.suspects)] for s in examined.judged.suspicions],
        "verdicts": [verdict.reason for verdict in examined.judged.verdicts],
        "endings": {
            target: f"{o.failure.type}: {o.failure.message[:300]}" if o.failure else o.status.value
            for target, o in examined.own.items()
        },
        "reactions": {name: sorted(examined.judged.measures.get(name, {})) for name in REACTIONS},
    }


def show(found: list[dict[str, Any]], targets: list[str]) -> None:
    counts = Counter((target, name) for one in found for name, own in one["reactions"].items() for target in own)
    rows = [[target, *(str(counts[target, name]) for name in REACTIONS)] for target in targets]
    print(table(["target", *REACTIONS], rows))
    reasons = Counter(reason for one in found for reason in one["verdicts"])
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    for one in found:
        if one["accused"]:
            print(f"\n{one['layer']} {one['parameter']}={one['value']}: {one['accused']}; {one['parameters']}")
            for target, ending in one["endings"].items():
                print(f"    {target}: {ending.splitlines()[0][:160]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default=_TARGETS)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", default="")
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    targets, began = given.targets.split(","), time.monotonic()
    names = given.layers.split(",") if given.layers else list(layer_names())
    chosen, found = drawn(names, given.seed, given.cases), []
    with open_runner(targets, RunnerSettings()) as runner:
        examiner = Examiner(runner, Setup(given.seed, tuple(targets), traits_of(targets)))
        for start in range(0, len(chosen), _ROUND):
            own = chosen[start : start + _ROUND]
            examined = examiner.examine([ask(*item) for item in own])
            found += [document(variant, one) for (_, variant), one in zip(own, examined, strict=True)]
            if given.json:
                given.json.write_text(json.dumps(found, indent=1))
            if time.monotonic() - began > given.seconds:
                print(f"the time was used up after {len(found)} of them")
                break
    show(found, targets)


if __name__ == "__main__":
    main()
