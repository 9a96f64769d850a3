"""Precision and recall of (layer, parameter) pairs over networks with planted faults, for every localizing rule.

    python bench/audee_localization.py [--networks 100] [--model lenet5] [--seed 0] [--seconds 420 --state FILE]

Networks are valid variants; in each, a layer drawn by seed is wrong on one target, in a third of them two layers. A
fault is there while one parameter of its layer has the value that it has in the network, or whatever its parameters
are: then the answer is (layer, none). What is guilty follows from that; nothing is written by hand. The same table has
the layers that CRADLE's rule (introduction rate above the third quartile) and the isolated replay accuse.

A network in which somebody is accused before a fault is planted is left out and counted: there the library itself is
wrong, which has no part in what is guilty. With ``--state`` a run is gone on with where its time ended.

One fault serves all networks: it reads from a layer's name when that layer is to be wrong.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from searching import calibrated

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.graph import LayerGraph, Node, Ref
from tensorparity.core.oracle import Setup
from tensorparity.core.procedure import Mode, Procedure
from tensorparity.core.runner import run_case
from tensorparity.generators.mutation.variants import valid_variant
from tensorparity.operators.catalogue import layer
from tensorparity.oracles.causal import other_values
from tensorparity.oracles.measure.rates import localization_map
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner

CLEAN, FAULTY = "keras:tensorflow", "keras:torch"
TARGETS = (CLEAN, FAULTY)
ALWAYS = "always"
LAYERS = ("Conv2D", "Dense", "MaxPooling2D", "DepthwiseConv2D", "LSTM", "GRU")
#: Activations that have another name in a layer's configuration than the one that was asked for.
KERAS_CALLS_IT = {"swish": "silu", "hard_swish": "hard_silu"}
#: Parameters that may switch a fault on.
TRIGGERS = (
    "padding",
    "strides",
    "activation",
    "use_bias",
    "dilation_rate",
    "units",
    "filters",
    "kernel_size",
    "pool_size",
)

FAULT = """
import json
import keras

_call = keras.layers.Layer.__call__


def wrong(layer):
    name = layer.name
    if "_guilty_" not in name:
        return False
    parameter, value = name.split("_guilty_")[1].split("_is_")
    if parameter == "always":
        return True
    config = layer.get_config().get(parameter)
    return json.dumps(config, default=str).encode().hex() == value


def call(self, *args, **kwargs):
    output = _call(self, *args, **kwargs)
    if wrong(self) and not isinstance(output, (list, tuple)):
        return output * 1.25 + 0.125
    return output


keras.layers.Layer.__call__ = call
"""


@dataclass
class Score:
    """Counts of one rule over all networks."""

    right: int = 0
    accused: int = 0
    guilty: int = 0
    innocent: int = 0
    wrongly: int = 0
    networks: list[int] = field(default_factory=list)

    def add(self, accused: set[tuple[str, ...]], guilty: set[tuple[str, ...]], layers: int) -> None:
        self.right += len(accused & guilty)
        self.accused += len(accused)
        self.guilty += len(guilty)
        self.innocent += layers - len(guilty)
        self.wrongly += len(accused - guilty)
        self.networks.append(len(accused))

    def __str__(self) -> str:
        precision = self.right / self.accused if self.accused else 1.0
        recall = self.right / self.guilty if self.guilty else 1.0
        share = 100.0 * self.wrongly / self.innocent if self.innocent else 0.0
        mean = float(np.mean(self.networks)) if self.networks else 0.0
        return f"precision {precision:.3f}, recall {recall:.3f}, {mean:.2f} per network, accuses {share:.1f} % wrongly"


def in_config(parameter: str, value: object, params: Mapping[str, object]) -> object:
    """As Keras writes it into a layer's configuration: pooling without strides has those of its window."""
    if parameter == "strides" and value is None:
        parameter, value = "pool_size", params["pool_size"]
    if parameter == "activation" and value in KERAS_CALLS_IT:
        return KERAS_CALLS_IT[str(value)]
    if parameter in ("kernel_size", "pool_size", "strides", "dilation_rate") and isinstance(value, int):
        return [value, value]
    return list(value) if isinstance(value, tuple) else value


def planted(
    graph: LayerGraph, weights: dict[str, Array], rng: np.random.Generator
) -> tuple[Case, set[tuple[str, str]]]:
    """The network with guilty layers, and the pairs that are guilty."""
    able = [node for node in graph.nodes if node.op in LAYERS]
    count = 2 if rng.random() < 1 / 3 else 1
    chosen = [able[place] for place in rng.permutation(len(able))[:count]]
    names: dict[str, str] = {}
    guilty: set[tuple[str, str]] = set()
    for node in chosen:
        parameter, value = trigger(node, rng)
        own = f"{node.name}_guilty_{parameter}_is_{value}"
        names[node.name] = own
        guilty |= {(f"{own}#0", name) for name in switching_off(node, parameter)}
    return renamed(graph, weights, names), guilty


def switching_off(node: Node, parameter: str) -> list[str]:
    """The parameters whose other values end the fault: pooling without strides has those of its window."""
    if parameter == ALWAYS:
        return [""]
    follows = parameter == "strides" and layer(node.op).complete(node.params)["strides"] is None
    return ["strides", "pool_size"] if follows else [parameter]


def trigger(node: Node, rng: np.random.Generator) -> tuple[str, str]:
    """A parameter that some other value of the catalogue switches off, or always."""
    spec = layer(node.op)
    complete = spec.complete(node.params)
    names = [p.name for p in spec.parameters if p.name in TRIGGERS and other_values(p, complete[p.name])]
    if not names or rng.random() < 0.2:
        return ALWAYS, "0"
    name = names[int(rng.integers(len(names)))]
    value = complete[name]
    if name == "activation" and value is None:
        value = "linear"
    return name, json.dumps(in_config(name, value, complete)).encode().hex()


def renamed(graph: LayerGraph, weights: dict[str, Array], names: dict[str, str]) -> Case:
    def ref(item: Ref) -> Ref:
        return Ref(names.get(item.node, item.node), item.index)

    nodes = tuple(
        replace(
            node,
            name=names.get(node.name, node.name),
            layer=names.get(node.layer, node.layer),
            inputs=tuple(map(ref, node.inputs)),
        )
        for node in graph.nodes
    )
    other = replace(graph, nodes=nodes, outputs=tuple(map(ref, graph.outputs)))
    moved = {
        f"{names.get(key.split('/')[0], key.split('/')[0])}/{key.split('/', 1)[1]}": w for key, w in weights.items()
    }
    return Case(other, weights=moved)


def one(
    runner: LocalRunner, examiner: Examiner, case: Case, guilty: set[tuple[str, str]], scores: dict[str, Score]
) -> str:
    (examined,) = examiner.examine([Ask(case, TARGETS, ("causal",))])
    places = {(place.node, place.parameter) for place in examined.judged.facts.get("places", ())}
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    layers = len(graph.nodes)
    scores["audee: pairs"].add(places, guilty, layers)  # type: ignore[arg-type]
    own = {(node,) for node, _ in guilty}
    scores["isolated replay: layers"].add({(node,) for node, _ in places}, own, layers)  # type: ignore[arg-type]
    traced = run_case(runner, replace(case, procedure=Procedure(trace=True, mode=Mode.EAGER)), TARGETS)
    rates = localization_map(graph, *(traced[target].trace.nodes for target in TARGETS), {})
    red = {(item.key,) for item in rates if item.highlighted}
    scores["CRADLE's rule: layers"].add(red, own, layers)  # type: ignore[arg-type]
    return "" if places == guilty else f"{sorted(places)} instead of {sorted(guilty)}"


@dataclass
class State:
    """How far a run has come: the next network's index, how many are done, and how many were left out."""

    index: int = 0
    done: int = 0
    left_out: int = 0
    seconds: float = 0.0
    scores: dict[str, Score] = field(
        default_factory=lambda: {
            name: Score() for name in ("audee: pairs", "isolated replay: layers", "CRADLE's rule: layers")
        }
    )

    @classmethod
    def read(cls, path: Path | None) -> State:
        if path is None or not path.exists():
            return cls()
        data = json.loads(path.read_text())
        return cls(**{**data, "scores": {name: Score(**own) for name, own in data["scores"].items()}})

    def write(self, path: Path | None) -> None:
        if path is not None:
            path.write_text(json.dumps(asdict(self)))


def is_wrong_itself(examiner: Examiner, case: Case) -> bool:
    """Whether somebody is accused in a network in which nothing is planted."""
    (examined,) = examiner.examine([Ask(case, TARGETS)])
    return bool(examined.judged.suspicions)


def next_network(
    runner: LocalRunner, examiner: Examiner, state: State, model: tuple[LayerGraph, dict[str, Array], dict[str, Array]]
) -> str | None:
    """Draw a network and localize in it; None where there is nothing to compare, or the library itself is wrong."""
    graph, weights, inputs = model
    rng = np.random.default_rng([examiner.setup.seed, state.index])
    state.index += 1
    variant = valid_variant(graph, weights, rng, f"{graph.name}-{state.index}")
    clean = Case(variant.graph, inputs=inputs, weights=variant.weights)
    if not all(outcome.completed for outcome in run_case(runner, clean, TARGETS).values()):
        return None  # TensorFlow has some kernels for one data format only
    if is_wrong_itself(examiner, clean):
        state.left_out += 1
        return None
    case, guilty = planted(variant.graph, dict(variant.weights), rng)
    state.done += 1
    return one(runner, examiner, replace(case, inputs=inputs), guilty, state.scores) or "right"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--model", default="lenet5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--state", type=Path)
    options = parser.parse_args()
    model, state = calibrated(options.model), State.read(options.state)
    settings = RunnerSettings(cache=None, faults={FAULTY: Fault("wrong-by-name", FAULT)})
    began, before = time.monotonic(), state.seconds
    with open_runner(TARGETS, settings) as runner:
        examiner = Examiner(runner, Setup(options.seed, TARGETS, traits_of(TARGETS)))
        while state.done < options.networks and time.monotonic() - began < options.seconds:
            missed = next_network(runner, examiner, state, model)
            state.seconds = before + time.monotonic() - began
            state.write(options.state)
            if missed is not None:
                print(f"network {state.index - 1}: {missed}; pairs so far: {state.scores['audee: pairs']}", flush=True)
    print(
        f"{state.done} of {options.networks} networks, variants of {options.model}, {state.seconds:.0f} s; "
        f"{state.left_out} more were left out, in which somebody is accused without a fault"
    )
    for name, score in state.scores.items():
        print(f"{name:26} {score}")


if __name__ == "__main__":
    main()
