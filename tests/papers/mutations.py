"""What is changed, claim by claim: each must make the test fail that docs/papers.md names for the claim.

A claim is known by the beginning of its row. Rows that say nothing a symbol could break are in ``MEASURED``, with the
reason: figures, and what only shows on real libraries.
"""

from __future__ import annotations

from dataclasses import dataclass

_DISTANCES = "oracles.measure.distances"
_RATES = "oracles.measure.rates"
_STRUCTURE = "generators.networks.structure"
_MUFFIN = "oracles.muffin"
_ALGORITHM = "engines.predoo.algorithm"
_OF_DISTANCES = "tests/oracles/measure/test_distances.py"
_OF_RATES = "tests/oracles/measure/test_rates.py"
_OF_EXAMINATION = "tests/campaign/test_examination.py"
_OF_NETWORKS = "tests/generators/networks/test_networks.py"
_OF_MUFFIN = "tests/oracles/test_muffin.py"
_OF_ENGINE = "tests/engines/muffin/test_engine.py"
_OF_ALGORITHM = "tests/engines/predoo/test_algorithm.py"
_OF_ERRORS = "tests/oracles/measure/test_operator_errors.py"
_OF_INSTANCES = "tests/oracles/test_precision_instances.py"


@dataclass(frozen=True)
class Mutation:
    """One change.

    Args:
        claim: how the row of docs/papers.md begins.
        module: below ``tensorparity``.
        old: what stands once in the definition of the symbol, ``new`` what takes its place.
        test: the file that must fail, ``only`` an expression that picks tests of it.
    """

    claim: str
    module: str
    symbol: str
    old: str
    new: str
    test: str
    only: str = ""


CRADLE = (
    Mutation(
        "Output extractor (III-B)",
        "oracles.whole.sight",
        "Sight.own_case",
        "inputs=inputs",
        "inputs=self.inputs",
        _OF_EXAMINATION,
        "TestDecisions or TestAgreement or Interact or Nothing",
    ),
    Mutation(
        "a backend that crashes",
        "oracles.whole.failures",
        "suspect_endings",
        "if ended_badly(outcome)",
        "if not ended_badly(outcome)",
        _OF_EXAMINATION,
        "Status or crash or raise or ends or Fail or End",
    ),
    Mutation(
        "Output comparator: pairwise",
        "oracles.whole.sight",
        "Sight.compare",
        "for a, b in itertools.combinations(self.outcomes.values(), 2)",
        "for a, b in list(itertools.combinations(self.outcomes.values(), 2))[:1]",
        _OF_EXAMINATION,
        "TestAgreement",
    ),
    Mutation("Equation 1, score 2", _DISTANCES, "scores", "2.0 **", "3.0 **", _OF_DISTANCES),
    Mutation(
        "Equation 2, class",
        _DISTANCES,
        "class_distance",
        "scores(a, label, k) - scores(b, label, k)",
        "scores(a, label, k)",
        _OF_DISTANCES,
    ),
    Mutation("Equation 2, class", _DISTANCES, "TOP_K", "5", "4", _OF_DISTANCES),
    Mutation(
        "Equation 2, class", _DISTANCES, "class_threshold", "2.0 ** (k - TOP_K)", "1.0", _OF_DISTANCES, "scaled_with_k"
    ),
    Mutation("Equations 3 and 4", _DISTANCES, "mad_distance", ".mean(axis=1)", ".max(axis=1)", _OF_DISTANCES),
    Mutation(
        "Equations 3 and 4",
        _DISTANCES,
        "mad_distance",
        "delta_a + delta_b",
        "np.maximum(delta_a, delta_b)",
        _OF_DISTANCES,
    ),
    Mutation(
        "labels one-hot",
        _DISTANCES,
        "distances_of",
        "np.eye(a.shape[1])[label]",
        "1 - np.eye(a.shape[1])[label]",
        _OF_DISTANCES,
    ),
    Mutation(
        "an instance triggers",
        _DISTANCES,
        "is_inconsistent",
        "distances >= threshold",
        "distances > threshold",
        _OF_DISTANCES,
    ),
    Mutation("an instance triggers", _DISTANCES, "is_inconsistent", "triggered > 0 and", "", _OF_DISTANCES),
    Mutation("an instance triggers", _DISTANCES, "is_inconsistent", ">= share", "> share", _OF_DISTANCES),
    Mutation("T_C = 8", _DISTANCES, "CLASS_THRESHOLD", "8.0", "7.0", _OF_DISTANCES),
    Mutation("T_C = 8", _DISTANCES, "MAD_THRESHOLD", "0.2", "0.21", _OF_DISTANCES),
    Mutation("T_C = 8", _DISTANCES, "SHARE", "0.0", "1.0", _OF_DISTANCES),
    Mutation(
        "what other thresholds",
        "oracles.measure.threshold_grid",
        "_reaching",
        "distances >= threshold",
        "distances > threshold",
        "tests/oracles/measure/test_threshold_grid.py",
    ),
    Mutation(
        "what other thresholds",
        "oracles.measure.threshold_grid",
        "class_thresholds",
        "class_threshold(k)",
        "CLASS_THRESHOLD",
        "tests/oracles/measure/test_threshold_grid.py",
        "scaled_with_k",
    ),
    Mutation(
        "class distance for classifiers",
        "oracles.pair",
        "judge_cradle",
        "facts.distances[0]",
        "facts.distances[-1]",
        "tests/oracles/test_pair.py",
    ),
    Mutation("pattern bins", _DISTANCES, "class_pattern", "range(2, k + 1)", "range(2, k)", _OF_DISTANCES),
    Mutation("pattern bins", _DISTANCES, "_MAD_BINS", "5", "4", _OF_DISTANCES),
    Mutation(
        "unique inconsistencies",
        "oracles.measure.patterns",
        "UniqueInconsistencies.add",
        "(pair_of(item), item",
        '("", item',
        "tests/engines/test_cradle.py",
    ),
    Mutation(
        "unique inconsistencies",
        "oracles.measure.patterns",
        "UniqueInconsistencies.add",
        'tuple(item["pattern"])',
        "()",
        "tests/engines/test_cradle.py",
    ),
    Mutation("top-k accuracy as the baseline", _DISTANCES, "top_k_accuracy", "<= k", "< k", _OF_DISTANCES),
    Mutation(
        "top-k accuracy as the baseline",
        _DISTANCES,
        "accuracy_inconsistent",
        "> threshold",
        ">= threshold",
        _OF_DISTANCES,
    ),
    Mutation("top-k accuracy as the baseline", _DISTANCES, "ACCURACY_THRESHOLD", "0.0", "60.0", _OF_DISTANCES),
    Mutation(
        "MAD-based metric on classification",
        _DISTANCES,
        "distances_of",
        "distance.name != metric",
        "False",
        _OF_DISTANCES,
    ),
    Mutation("most inconsistent input", _DISTANCES, "most_inconsistent", "[-1]", "[0]", _OF_DISTANCES),
    Mutation(
        "most inconsistent input",
        "oracles.measure.choice",
        "choose_inputs",
        "(*first, *each, *further)",
        "(*further, *each)",
        "tests/oracles/measure/test_choice.py",
    ),
    Mutation(
        "most inconsistent input",
        "oracles.whole.layers",
        "map_other_patterns",
        "if index in seen:",
        "if True:",
        _OF_EXAMINATION,
        "mapped_on",
    ),
    Mutation(
        "Hidden states extractor",
        "oracles.whole.layers",
        "traces_of",
        "trace=True",
        "trace=False",
        _OF_EXAMINATION,
        "TestDecisions",
    ),
    Mutation("deviation of a layer", _RATES, "deviation", "apart.mean()", "apart.max()", _OF_RATES),
    Mutation("Equation 5", _RATES, "introduction_rate", "max((value", "min((value", _OF_RATES),
    Mutation("Equation 6", _RATES, "EPSILON", "1e-7", "1e-6", _OF_RATES),
    Mutation("Equation 6", _RATES, "introduction_rate", "own - largest)", "own)", _OF_RATES),
    Mutation("red if R_L", _RATES, "QUARTILE", "0.75", "0.5", _OF_RATES),
    Mutation("red if R_L", _RATES, "localization_map", "> quartile", ">= quartile", _OF_RATES),
    Mutation(
        "a layer without a trace", _RATES, "_traced_before", "waiting += graph.predecessors(other)", "pass", _OF_RATES
    ),
    Mutation("a layer without a trace", _RATES, "introduction_rate", 'else float("inf")', "else 0.0", _OF_RATES),
    Mutation(
        "the rule alone",
        "oracles.output_pair",
        "Cradle.localize",
        "map_inconsistent_pairs(at)",
        "OutputPair.localize(self, at)",
        _OF_EXAMINATION,
        "papers_rule",
    ),
    Mutation(
        "the rule alone",
        "oracles.whole.by_rates",
        "labels_of_answers",
        "at.labels[name] = answers_of(confidences)",
        "pass",
        _OF_EXAMINATION,
        "papers_rule",
    ),
    Mutation(
        "a layer behind a mask",
        "oracles.measure.replay",
        "_masked_nodes",
        "not makes_masks(model.graph)",
        "True",
        _OF_EXAMINATION,
        "Travels",
    ),
    Mutation(
        "adjacent pairs",
        "oracles.whole.adjacent",
        "blame_adjacent_layers",
        "if not any(_is_open",
        "if any(_is_open",
        _OF_EXAMINATION,
        "Travels",
    ),
    Mutation(
        "at its ends the input",
        "oracles.measure.example",
        "build_example",
        "b=_prediction(b, index, classes)",
        "b=_prediction(a, index, classes)",
        "tests/oracles/measure/test_example.py",
    ),
)

MUFFIN = (
    Mutation("chain structure with skips", _STRUCTURE, "_SKIP", "0.3", "0.0", _OF_NETWORKS, "skips"),
    Mutation(
        "one vertex of in-degree 0",
        _STRUCTURE,
        "random_dag",
        "tuple(sorted(unread))",
        "(size - 2,)",
        _OF_NETWORKS,
        "one_source",
    ),
    Mutation(
        "equal cells may have different",
        _STRUCTURE,
        "cells",
        "rng.random() < 0.5",
        "rng.random() < 0.1",
        _OF_NETWORKS,
        "about_half",
    ),
    Mutation(
        "equal cells may have different",
        "generators.networks.networks",
        "_Build._vertex",
        "if reducing and",
        "if not reducing and",
        "tests/generators/networks/test_networks_of_the_paper.py",
        "reduction_cell",
    ),
    Mutation(
        "template 50:50",
        _STRUCTURE,
        "draw_structure",
        "rng.random() < 0.5",
        "rng.random() < 0.35",
        _OF_NETWORKS,
        "both_templates",
    ),
    Mutation(
        "template 50:50",
        _STRUCTURE,
        "draw_structure",
        "rng.integers(1, max_vertices + 1)",
        "rng.integers(1, max_vertices)",
        _OF_NETWORKS,
        "either_template",
    ),
    Mutation("MAX_c = 5", _STRUCTURE, "MAX_CELLS", "5", "6", _OF_NETWORKS, "papers_sizes"),
    Mutation("MAX_c = 5", _STRUCTURE, "MAX_VERTICES", "30", "29", _OF_NETWORKS, "papers_sizes"),
    Mutation(
        "single-input and multiple-input",
        "generators.networks.networks",
        "_Build._vertex",
        "if len(sources) == 1 and self._single:",
        "if self._single:",
        _OF_NETWORKS,
        "in_degree",
    ),
    Mutation(
        "inputs of a merge",
        "generators.networks.placing",
        "Placer._common_shape",
        "        return draw_shape(self._rng, rank)\n",
        "        return sources[0].shape\n",
        _OF_NETWORKS,
        "multiple_input",
    ),
    Mutation(
        "output reshaped",
        "generators.networks.tasks",
        "Task.bare_head",
        "net.bring(end, self.shape)",
        "end",
        "tests/generators/networks/test_networks_of_the_paper.py",
        "unit_network",
    ),
    Mutation(
        "Equation 1, score 1",
        "generators.networks.coverage",
        "NetworkCoverage._score",
        "self.layers[name] + 1",
        "self.layers[name] + 2",
        _OF_NETWORKS,
        "proportional",
    ),
    Mutation(
        "six data sets",
        "generators.networks.palettes",
        "PAPER",
        '!= "palette"',
        'not in ("palette", "imagenet")',
        _OF_ENGINE,
        "Protocol",
    ),
    Mutation(
        "six data sets",
        "generators.networks.palettes",
        "DATA",
        "(224, 224, 3)",
        "(112, 112, 3)",
        _OF_ENGINE,
        "Protocol",
    ),
    Mutation(
        "samples of the data sets",
        "engines.muffin.samples",
        "_IN_THE_ZOO",
        '"sine"',
        '"no-such"',
        _OF_ENGINE,
        "samples",
    ),
    Mutation(
        "functionality coverage",
        "engines.muffin.engine",
        "_exercised_uses",
        "if facts.completed:",
        "if True:",
        _OF_ENGINE,
        "nobody_ran",
    ),
    Mutation(
        "300 models, 50 for each data set",
        "engines.muffin.engine",
        "PROTOCOLS",
        '"data": PAPER',
        '"data": PAPER[:5]',
        _OF_ENGINE,
        "Protocol",
    ),
    Mutation(
        "--protocol paper",
        "engines.muffin.engine",
        "PROTOCOLS",
        '"training": True',
        '"training": False',
        _OF_ENGINE,
        "Protocol",
    ),
    Mutation(
        "--protocol paper",
        "engines.muffin.engine",
        "PROTOCOLS",
        '"single_cases": ()',
        '"single_cases": ("losses",)',
        _OF_ENGINE,
        "Protocol",
    ),
    Mutation(
        "beyond the paper: dtype policies",
        "generators.networks.policies",
        "SHARES",
        "12 / 16",
        "6 / 16",
        "tests/generators/networks/test_policies.py",
        "shares",
    ),
    Mutation(
        "random layers",
        "generators.networks.placing",
        "Placer._choose",
        "spec.draws(spec.complete(params))",
        "False",
        _OF_NETWORKS,
    ),
    Mutation("Equation 2, Chebyshev", _MUFFIN, "chebyshev", ".max(initial=0.0)", ".mean()", _OF_MUFFIN),
    Mutation(
        "Inc_FC", _MUFFIN, "_Pair.forward", "all(apart[key] < self._epsilon for key in before)", "True", _OF_MUFFIN
    ),
    Mutation("Inc_LC", _MUFFIN, "_Pair.loss_calculation", ">= self._epsilon", ">= 1e9", _OF_MUFFIN),
    Mutation("Inc_BC", _MUFFIN, "_Pair.backward", "self._loss_apart() >= self._epsilon", "False", _OF_MUFFIN),
    Mutation("Inc_BC", _MUFFIN, "_Pair._agrees", "behind[node.key] < self._epsilon", "True", _OF_MUFFIN),
    Mutation("t = 0.15", _MUFFIN, "THRESHOLD", "0.15", "0.16", _OF_MUFFIN),
    Mutation("t = 0.15", _MUFFIN, "EPSILON", "1e-5", "2e-5", _OF_MUFFIN),
    Mutation("voting", _MUFFIN, "odd_ones", "> 1:", "> 0:", _OF_MUFFIN),
    Mutation("voting", _MUFFIN, "_camps", "if len(camp) > 1", "if False", _OF_MUFFIN),
    Mutation(
        "the step of an optimizer in native torch",
        "core.capabilities",
        "takes_step",
        "for value in others.values()",
        "for value in ()",
        "tests/targets/lowering/test_torch_steps.py",
        "asked_for",
    ),
    Mutation(
        "the step of an optimizer in native torch",
        "targets.lowering.pytorch.optimizers",
        "_adam",
        ' / sqrt(1.0 - p["beta_2"])',
        "",
        "tests/targets/lowering/test_torch_steps.py",
    ),
    Mutation(
        "a layer counts once",
        "engines.muffin.tables",
        "NetworkTally._count_inconsistencies",
        "if not item.nan]\n",
        "]\n",
        "tests/engines/muffin/test_tables.py",
    ),
    Mutation(
        "tables 3 to 6",
        "engines.muffin.tables",
        "NetworkTally._layers",
        'data in (e[2], "total")',
        "True",
        "tests/engines/muffin/test_tables.py",
    ),
    Mutation(
        "voted layers that only one way",
        "commands.voted_layers",
        "VotedRun.only_here",
        "not in",
        "in",
        "tests/commands/test_voted_layers.py",
    ),
    Mutation(
        "Muffin-UT",
        "generators.networks.networks",
        "_Build._structure",
        "((), (0,))",
        "((), (0,), (1,))",
        "tests/generators/networks/test_networks_of_the_paper.py",
        "unit_network",
    ),
)

PREDOO = (
    Mutation(
        "P' within rtol and atol",
        "oracles.measure.operator_errors",
        "measure_instances",
        "tolerance.rtol * np.abs(wide) + tolerance.atol",
        "tolerance.atol",
        _OF_ERRORS,
    ),
    Mutation(
        "shape resolver",
        "operators.functions.convolution",
        "_resolve",
        'shape[-1], int(p["filters"])',
        'int(p["filters"]), shape[-1]',
        _OF_ALGORITHM,
    ),
    Mutation(
        "parameters shape, size", "engines.predoo.paper", "shape_for", "wanted = wanted[1:]", "pass", _OF_ALGORITHM
    ),
    Mutation(
        "parameters shape, size", _ALGORITHM, "PaperSearch._params", "{**drawn, **self._given}", "drawn", _OF_ALGORITHM
    ),
    Mutation(
        "seeds from the standard normal",
        _ALGORITHM,
        "PaperSearch._refill",
        "self._rng.standard_normal(",
        "self._rng.random(",
        _OF_ALGORITHM,
    ),
    Mutation(
        "picked inputs", _ALGORITHM, "PaperSearch.ask", "self._corpus.popleft()", "self._corpus.pop()", _OF_ALGORITHM
    ),
    Mutation("i' = i + delta", _ALGORITHM, "THETAS", "1e-8", "1e-7", _OF_ALGORITHM),
    Mutation(
        "i' = i + delta",
        _ALGORITHM,
        "PaperSearch._mutated",
        "uniform(0.0, theta)",
        "uniform(-theta, theta)",
        _OF_ALGORITHM,
    ),
    Mutation(
        "input_mode, op_mode",
        "oracles.precision_instances",
        "OpMode.groups",
        "_in_dtype(case, dtype)",
        "_in_dtype(case, dtypes[-1])",
        _OF_INSTANCES,
    ),
    Mutation(
        "input_mode, op_mode",
        "oracles.precision_instances",
        "InputMode.groups",
        "instance=dtypes[-1]",
        "instance=dtype",
        _OF_INSTANCES,
    ),
    Mutation(
        "other parameters drawn",
        _ALGORITHM,
        "PaperSearch._params",
        "self._rng.integers(len(item.valid))",
        "0",
        _OF_ALGORITHM,
    ),
    Mutation(
        "an input that raises", _ALGORITHM, "PaperSearch.tell", "error > self.best", "error < self.best", _OF_ALGORITHM
    ),
    Mutation(
        "an input that raises",
        _ALGORITHM,
        "PaperSearch.tell",
        "self._corpus.append(row)",
        "self._corpus.appendleft(row)",
        _OF_ALGORITHM,
    ),
    Mutation("size, the seeds of a corpus", _ALGORITHM, "seeds_for", "total // GROUPS", "total", _OF_ALGORITHM),
    Mutation(
        "equations 1 to 6",
        "operators.functions.spec",
        "Operator.evaluate",
        "range(times - 1)",
        "range(times)",
        "tests/operators/functions/test_references.py",
        "times or repeated or twice or again",
    ),
    Mutation(
        "equations 1 to 6", "operators.functions.convolution", "again", '{"filters": shape[-1]}', "{}", _OF_ALGORITHM
    ),
    Mutation(
        "random, l-infinity, l1",
        "oracles.measure.operator_errors",
        "measure_instances",
        "counted.sum(axis=1)",
        "counted.max(axis=1, initial=0.0)",
        _OF_ERRORS,
    ),
    Mutation(
        "random, l-infinity, l1", _ALGORITHM, "PaperSearch.tell", 'self._strategy != "random"', "True", _OF_ALGORITHM
    ),
    Mutation(
        "overflow is recorded",
        "oracles.measure.operator_errors",
        "measure_instances",
        "(np.isfinite(wide) & ~np.isfinite(narrow)).any(axis=1)",
        "np.zeros(rows, bool)",
        _OF_ERRORS,
    ),
    Mutation("20,000 inputs, 20 groups", _ALGORITHM, "GROUPS", "20", "10", _OF_ALGORITHM),
    Mutation(
        "20,000 inputs, 20 groups", _ALGORITHM, "grouped_largest", "np.nanmax(part)", "np.nanmin(part)", _OF_ALGORITHM
    ),
    Mutation(
        "Table 1 and Table 2",
        "reporting.precision",
        "_best_mean",
        "run.largest_mean",
        "run.largest",
        "tests/reporting/test_precision.py",
    ),
    Mutation(
        "Table 1 and Table 2",
        "reporting.precision",
        "PAPER_TABLE_1",
        "3.56e-3",
        "3.57e-3",
        "tests/reporting/test_precision.py",
    ),
    Mutation(
        "Figures 2 to 5",
        "reporting.precision",
        "_threshold_figure",
        "run.over_tolerance)",
        "0.0)",
        "tests/reporting/test_precision.py",
    ),
)

MUTATIONS = (*CRADLE, *MUFFIN, *PREDOO)

#: Rows without a rule that a symbol holds, by how they begin, and why.
MEASURED = {
    "how T_C, T_M and p were chosen": "figures",
    "batch normalization bug": "planted in real libraries",
    "pooling scheme bug": "planted in real libraries",
    "padding scheme bugs": "planted in real libraries",
    "parameter organization": "planted in real libraries",
    "the map: layer type": "drawn in a browser",
    "how many layers the map leaves": "figures",
    "detection and localization time": "figures",
    "line coverage of the library": "runs in a worker",
    "mean_absolute_percentage_error": "no rule of the paper's: a false positive that is not repeated",
    "false alarms": "figures",
    "the paper's bugs from a cold start": "figures",
    "unsupported models": "words of real libraries",
    "an operator is an API call": "a type",
    "exceptions are recorded": "shows on real libraries",
    "the inputs with the largest errors": "shows on real libraries",
    "Table 3: LeNet": "shows on real libraries",
    "conv2d refuses NCHW": "planted in real libraries",
    "norm without a kernel": "planted in real libraries",
    "truncated Newton": "planted in real libraries",
}
