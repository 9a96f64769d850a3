"""Settings of engines and oracles, for the guide: ``python -m tensorparity.cli.settings_page PAGE``.

What a setting means is written here; which there are, and their defaults, is the code's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.registry import Registry
from ..engines.base import ENGINES
from ..oracles.kinds import ORACLES

BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"

#: What a setting means, by kind, name and setting; a default that says nothing by itself is in words, behind a bar.
_MODELS = {
    "localize": "run each layer alone: auto (where outputs differ), always, never",
    "arbiters": "targets that are asked about layers that the others dispute|none",
    "batch": "the only batch size that the model takes|any",
    "thresholds": "a table of CRADLE's thresholds: class, mad, accuracy|8, 0.2 and 0",
    "share": "CRADLE's p: the share of inputs, in percent, that must exceed the threshold",
    "k": "CRADLE's k",
    "metric": "what CRADLE's rule measures: auto, class, mad, accuracy",
    "study": "also count what other thresholds would report",
}
MEANINGS: Mapping[str, str] = {
    "engine.audee.variants": "variants of each seed model",
    "engine.audee.invalid": "share of variants with one value that the API should refuse",
    "engine.audee.levels": "what is searched: input, weight, input+weight",
    "engine.audee.goals": "what is searched for: inconsistency, nan",
    "engine.audee.searched": "variants that are searched, for each pair of targets",
    "engine.audee.generations": "generations of a search",
    "engine.audee.search_seconds": "seconds of a search|no limit",
    "engine.audee.inputs": "most inputs taken from the data set",
    "engine.audee.repeats": "searches of one network with different seeds, for NaN",
    "engine.audee.first_failure": "whether a search ends with its first failure",
    "engine.audee.watch": "the layer whose distance or range is the fitness|the logits",
    "engine.audee.size": "individuals in a search",
    "engine.audee.parents": "survivors of a generation",
    "engine.audee.crossover": "share of genes from the first parent",
    "engine.audee.mutation": "share of children that are mutated",
    "engine.audee.scale": "scale of the Cauchy noise, in standard deviations",
    "engine.audee.within": "data (in the data's range, near the weights) or anything (unrestricted, as in the paper)",
    "engine.audee.kept": "failing individuals of a search that are judged; the others are counted",
    "engine.audee.strategy": "genetic, or random: noise of the same scale without selection",
    "engine.cradle.instances": "inputs for each model",
    "engine.eagle.models": "models of the zoo, or patterns, that the rules about models are tried on",
    "engine.eagle.rules": "names of rules, patterns of them, or the paper's numbers|all",
    "engine.eagle.apis": "patterns of public names, such as torch.fft.*|all",
    "engine.eagle.inputs": "inputs for each rule and function",
    "engine.eagle.derivatives": "up to which order gradients are compared",
    "engine.eagle.few": "configurations for rules that need a C++ compiler",
    "engine.eagle.dearest": "rules of a higher cost (3: seconds of a compiler) are left out unless they are named",
    "engine.muffin.stages": "stages of a training step that are judged|all",
    "engine.muffin.single_cases": "kinds of cases run beside the networks|all",
    "engine.muffin.only_alone": "targets that run the single cases only, and no networks|none",
    "engine.muffin.only_trainable": "run networks only on targets that can train, if there are two or more",
    "engine.muffin.protocol": "paper: Muffin as published|none",
    "engine.muffin.layers": "layers to choose from|all",
    "engine.muffin.data": "data sets whose input shapes the networks use|all",
    "engine.muffin.policies": "dtype policies of the networks|all",
    "engine.muffin.max_cells": "most cells of a network",
    "engine.muffin.max_vertices": "most vertices of a network",
    "engine.muffin.unit": "one layer per network",
    "engine.muffin.steered": "prefer what has not been covered yet",
    "engine.muffin.varied": "go beyond the paper: several inputs and outputs, shared layers, masks, unusual values",
    "engine.muffin.training": "the training flag of all networks|half of them have it",
    "engine.predoo.operators": "operators to search|all, in turn",
    "engine.predoo.dtypes": "dtypes to search|all",
    "engine.predoo.strategies": "how inputs are chosen|guided",
    "engine.predoo.inputs": "inputs for each operator, dtype and run",
    "engine.predoo.measure": "operator (the true error) or paper (the difference between precisions)|operator",
    "engine.predoo.modes": "of measure paper: input_mode, op_mode, default|the first two",
    "engine.predoo.times": "of measure paper: apply the operator this many times|1",
    "engine.predoo.shape": "of measure paper: shape of an input|the operator's",
    "engine.predoo.params": "of measure paper: a table of fixed parameters|none",
    "engine.predoo.size": "of measure paper: seeds in a corpus|the size of a group",
    "oracle.audee.t1": "threshold t1 of Algorithm 2",
    "oracle.audee.t2": "threshold t2 of Algorithm 2",
    "oracle.audee.values": "values tried for each parameter by Algorithm 2, beside the default",
    "oracle.audee.localize": "whether Algorithm 2 looks for the layer|true",
    "oracle.causal.values": "values tried for each parameter, beside the default",
    **{f"oracle.cradle.{setting}": meaning for setting, meaning in _MODELS.items()},
    **{f"oracle.high_precision.{setting}": meaning for setting, meaning in _MODELS.items()},
    "oracle.muffin.t": "distance from which two targets are inconsistent",
    "oracle.muffin.epsilon": "distance up to which a layer's inputs agree",
    "oracle.muffin.stages": "stages that are judged|all",
    **{f"oracle.parity.{setting}": meaning for setting, meaning in _MODELS.items()},
    "oracle.predoo_default.dtypes": "dtypes that are compared|float16, float32, float64",
    "oracle.predoo_input_mode.dtypes": "dtypes that are compared|float16, float32, float64",
    "oracle.predoo_op_mode.dtypes": "dtypes that are compared|float16, float32, float64",
    "oracle.training_step.stages": "stages that are judged|all",
    "oracle.with_itself.batch_sizes": "batch sizes to run with as well|none",
    "oracle.with_itself.repeat": "how many times the model runs in all|1",
}


def declared() -> Iterator[tuple[str, object]]:
    """Every setting that the code has, as ``engine.NAME.KEY`` or ``oracle.NAME.KEY``, and its default or None."""
    registries: dict[str, Registry[Any]] = {"engine": ENGINES, "oracle": ORACLES}
    for kind, registry in registries.items():
        for name in registry.names():
            factory = registry.get(name)
            for setting in getattr(factory, "settings", None) or ():
                yield f"{kind}.{name}.{setting}", getattr(factory, "defaults", {}).get(setting)


def table() -> str:
    """All settings, a line each."""
    return "\n".join(["| setting | default | meaning |", "| --- | --- | --- |", *_lines()])


def _lines() -> Iterator[str]:
    for setting, default in declared():
        meaning, _, words = MEANINGS.get(setting, "").partition("|")
        yield f"| `{setting}` | {words or _shown(default)} | {meaning} |"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def written(text: str) -> str:
    """The page with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
