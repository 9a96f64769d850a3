"""Isolated checks: one layer, loss or optimizer alone, on identical numbers everywhere.

A screening of a whole training step only raises doubts. An isolated check is what decides: its case is run and judged
by the oracle of its kind, which confirms, reduces and replays it as well, and its case is what a finding keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.channels import is_finite
from ..core.errors import TensorParityError
from ..core.graph import LayerGraph, Node, Ref
from ..core.jsontext import Json, canonical
from ..core.model import node_inputs
from ..core.outcome import Outcome
from ..core.policies import PLAIN, policy_named
from ..core.procedure import Goal, Mode, Procedure, Recipe
from ..core.signature import policy_parameter, value_classes
from ..core.traits import Traits
from ..core.verdict import Stage
from ..operators.catalogue import layer
from ..operators.losses.alone import loss_alone
from ..operators.losses.catalogue import LOSSES
from ..operators.optimizers.catalogue import OPTIMIZERS
from ..operators.reference.evaluate import evaluate_batches
from ..operators.reference.penalties import adds_penalties
from ..operators.spec import Evaluation, Mask, ShapeError
from .masked_inputs import alone, any_mask, as_trace
from .measure.backward import loss_function
from .measure.diagnose import public_name
from .measure.isolated_nodes import measure_form, measure_node
from .measure.node_errors import NodeErrors
from .measure.steps import worst_weight


@dataclass(frozen=True)
class IsolatedCheck:
    """A case that runs one thing alone, and what is doubted of it.

    Args:
        suspects: whom the screening doubts.
        again: the same as the network had it (its mode, what was pulled back in it). It is tried first, being cheaper;
            this one where that convicts somebody or explains nothing. It has one of its own where its numbers are
            others than this one's: the same numbers in the mode that users get, which decides.
        explained: whether the doubt is rounding carried along; asked where no trial convicts. Without an answer the
            doubt stays open.
        doubted: something in the network is not as it should be; otherwise a look at what the network does not show.
        runs: there are numbers to run it on; otherwise the doubt stays open as it is.
        also: another stage that it is a part of: to the paper, the gradient of a loss is one of the loss.
    """

    stage: Stage
    case: Case
    node: Node
    api: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    suspects: tuple[str, ...] = ()
    again: IsolatedCheck | None = None
    explained: Callable[[], bool] | None = None
    doubted: bool = True
    runs: bool = True
    also: Stage | None = None

    def is_part_of(self, stages: Collection[Stage]) -> bool:
        """Whether one of these stages asks for it."""
        return self.stage in stages or self.also in stages

    def is_explained(self, by_reference: bool) -> bool:
        """Whether nothing is left to doubt where nobody is convicted.

        Args:
            by_reference: it was held against a reference.
        """
        if not self.doubted:
            return by_reference
        return self.explained is not None and self.explained()

    @property
    def key(self) -> tuple[str, ...]:
        """What two trials of one defect have in common: the place, and parameters of the same classes."""
        return (*self.place, canonical(value_classes(self.parameters)))

    @property
    def place(self) -> tuple[str, ...]:
        return (self.stage.value, self.api, ",".join(self.suspects))


# Layers


def forward_check(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    training: bool,
    suspects: Sequence[str],
    seed: int,
    dtype: str | None = None,
    masks: Sequence[Mask] = (),
    mode: Mode = Mode.USER,
) -> IsolatedCheck:
    """The layer alone in the mode that users get, all of its outputs; then in the mode of the network it comes from."""
    case = replace(alone(node, given, weights, seed, masks), procedure=Procedure(training=training, dtype=dtype))
    trial = _layer_check(node, case, suspects)
    if mode is Mode.USER:
        return trial
    # traced, because that is how networks are run: JAX then compiles it as one
    own = replace(case, procedure=replace(case.procedure, mode=mode, trace=True))
    return replace(trial, again=_layer_check(node, own, suspects))


def next_call_check(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    suspects: Sequence[str],
    seed: int,
    dtype: str | None = None,
) -> IsolatedCheck:
    """A stateful layer alone, called on one row after another: each but the first starts where the last one ended."""
    rows = [array if len(array) > 1 else np.concatenate([array, array]) for array in given]
    case = replace(alone(node, rows, weights, seed), procedure=Procedure(batch_size=1, dtype=dtype))
    return replace(_layer_check(node, case, suspects), doubted=False)


def _layer_check(node: Node, case: Case, suspects: Sequence[str]) -> IsolatedCheck:
    significant = _significant(node, case.procedure.dtype)
    return IsolatedCheck(Stage.FORWARD, case, _single_node(case), public_name(node.op), significant, tuple(suspects))


def judge_layer(case: Case, outcomes: Mapping[str, Outcome], traits: Traits) -> NodeErrors:
    """The one judge of the outputs of a layer that runs alone, in training or not."""
    own = _single_node(case)
    traced = {target: as_trace(own, outcome) for target, outcome in outcomes.items()}
    given = [case.inputs[name] for name in _input_names(case)]
    dtype = case.procedure.dtype or PLAIN.name
    asked = _outputs_wanted(case, own)
    if not _needs_more(case):
        training = case.procedure.training
        return measure_node(own, given, case.weights, traced, traits, training=training, dtype=dtype, asked=asked)
    return measure_node(own, given, case.weights, traced, traits, dtype=dtype, truth=_truth(case), asked=asked)


def _outputs_wanted(case: Case, node: Node) -> int:
    """How many of the layer's outputs, from the first on, the case asks for: of a reduced one, not always all."""
    assert isinstance(case.subject, LayerGraph)
    indices = {ref.index for ref in case.subject.outputs if ref.node == node.name}
    return next(count for count in range(len(indices) + 1) if count not in indices)


def judge_form(case: Case, outcomes: Mapping[str, Outcome], traits: Traits) -> NodeErrors | None:
    """Of a layer that runs alone and whose numbers are right, its shape and dtype; None where they are as well."""
    own = _single_node(case)
    return measure_form(own, {target: as_trace(own, outcome) for target, outcome in outcomes.items()}, traits)


def _needs_more(case: Case) -> bool:
    """The layer has masks in front of it, or its states go from one batch to the next."""
    assert isinstance(case.subject, LayerGraph)
    return len(case.subject.nodes) > 1 or bool(case.procedure.batch_size)


def _input_names(case: Case) -> list[str]:
    assert isinstance(case.subject, LayerGraph)
    return [item.name for item in case.subject.inputs]


def _truth(case: Case) -> list[Evaluation] | None:
    assert isinstance(case.subject, LayerGraph)
    procedure = case.procedure
    try:
        found = evaluate_batches(
            case.subject,
            case.inputs,
            case.weights,
            procedure.batch_size,
            training=procedure.training,
            dtype=procedure.dtype,
        )
    except (TensorParityError, ShapeError):
        return None
    return list(found[_single_node(case).key])


def backward_check(
    node: Node,
    given: Sequence[Array],
    output: Array,
    weights: Arrays,
    training: bool,
    suspects: Sequence[str],
    seed: int,
    dtype: str | None = None,
    masks: Sequence[Mask] = (),
    pulled: Array | None = None,
    mode: Mode = Mode.USER,
) -> IsolatedCheck:
    """One cotangent pulled back through the layer alone: a random one, then the network's own in the network's mode.

    Behind a mask, and of a layer that adds something to the loss, it is the gradient of a loss of its output.

    Args:
        pulled: the network's cotangent, where it is known.
    """
    if any_mask(masks):
        return _trained_alone(node, given, output, weights, training, suspects, seed, dtype, masks)
    plain = alone(node, given, weights, seed)
    own = _single_node(plain)
    rng = np.random.default_rng([seed, 0xBAC])
    random = np.asarray(rng.standard_normal(output.shape)).astype(output.dtype)
    case = replace(
        plain,
        procedure=Procedure(goal=Goal.REPLAY, nodes=(own.key,), training=training, dtype=dtype),
        inputs={f"{own.key}/{index}": array for index, array in enumerate(given)},
        cotangents={own.key: random},
    )
    trial = _backward(node, case, suspects)
    if adds_penalties(node):
        trained = _trained_alone(node, given, output, weights, training, suspects, seed, dtype)
        if loss_function(trained.case) is not None:  # a vote on gradients that cancel would convict anybody
            return replace(trained, again=trial)
    if pulled is None:
        return trial
    pulled = _scaled_to_one(pulled) if policy_named(dtype).compute == "float16" else pulled
    like = replace(case, procedure=replace(case.procedure, mode=mode), cotangents={own.key: pulled})
    again = _backward(node, like, suspects)
    if mode is not Mode.USER:
        users = replace(like, procedure=case.procedure)
        again = replace(again, again=_backward(node, users, suspects))
    return replace(trial, again=again)


def _scaled_to_one(cotangent: Array) -> Array:
    """As large as 1, by a power of two: what is small vanishes in float16, which is why users scale their losses."""
    numbers = np.abs(cotangent.astype(np.float64))
    largest = float(numbers[np.isfinite(numbers)].max(initial=0.0))
    if not 0.0 < largest < 1.0:
        return cotangent
    factor = 2.0 ** -math.floor(math.log2(largest))
    return np.asarray(cotangent.astype(np.float64) * factor).astype(cotangent.dtype)


def _backward(node: Node, case: Case, suspects: Sequence[str]) -> IsolatedCheck:
    own, significant = _single_node(case), _significant(node, case.procedure.dtype)
    return IsolatedCheck(Stage.BACKWARD, case, own, public_name(node.op), significant, tuple(suspects))


def check_without_numbers(stage: Stage, case: Case, node: Node, api: str, suspects: Sequence[str]) -> IsolatedCheck:
    """A doubt that no numbers are there to try."""
    return IsolatedCheck(stage, case, node, api, suspects=tuple(suspects), runs=False)


def _trained_alone(
    node: Node,
    given: Sequence[Array],
    output: Array,
    weights: Arrays,
    training: bool,
    suspects: Sequence[str],
    seed: int,
    dtype: str | None,
    masks: Sequence[Mask] = (),
) -> IsolatedCheck:
    """A replay feeds a layer no masks and asks for no penalties, a graph with a loss does.

    The gradient of a squared error is as random as its labels.
    """
    whole = alone(node, given, weights, seed, masks)
    assert isinstance(whole.subject, LayerGraph)
    own = _single_node(whole)
    labels = np.random.default_rng([seed, 0xBAC]).standard_normal(output.shape)
    case = replace(
        whole,
        subject=replace(whole.subject, outputs=(Ref(own.name),)),
        procedure=Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"), training=training, dtype=dtype),
        labels={own.name: np.asarray(labels, np.float32)},
    )
    return IsolatedCheck(Stage.BACKWARD, case, own, public_name(node.op), _significant(node, dtype), tuple(suspects))


def _single_node(case: Case) -> Node:
    assert isinstance(case.subject, LayerGraph)
    return case.subject.nodes[-1]


def _significant(node: Node, dtype: str | None) -> dict[str, Json]:
    return {**layer(node.op).significant({**node.params, **node.call_params}), **policy_parameter(dtype)}


# Loss


def loss_checks(case: Case, outputs: Arrays, suspects: Sequence[str]) -> tuple[IsolatedCheck, IsolatedCheck]:
    """The loss alone, predictions in: its value, and its gradient."""
    recipe = case.procedure.loss
    assert recipe is not None
    dtype = case.procedure.dtype
    single = loss_alone(recipe, outputs, case.labels, dtype=dtype, seed=case.seed)
    node = Node(recipe.name, recipe.name, ())
    api, params = LOSSES[recipe.name].api, {**recipe.params, **policy_parameter(dtype)}
    return (
        IsolatedCheck(Stage.LOSS, single, node, api, params, tuple(suspects)),
        IsolatedCheck(Stage.BACKWARD, single, node, api, params, tuple(suspects), also=Stage.LOSS),
    )


def penalty_check(
    node: Node,
    given: Sequence[Array],
    output: Array,
    weights: Arrays,
    training: bool,
    suspects: Sequence[str],
    seed: int,
) -> IsolatedCheck:
    """A layer alone, and what it adds to a loss that is next to nothing, because the labels are what it gives."""
    whole = alone(node, given, weights, seed)
    assert isinstance(whole.subject, LayerGraph)
    own = _single_node(whole)
    case = replace(
        whole,
        subject=replace(whole.subject, outputs=(Ref(own.name),)),
        procedure=Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"), training=training),
        labels={own.name: np.asarray(output)},
    )
    return IsolatedCheck(Stage.LOSS, case, own, public_name(node.op), _significant(node, None), tuple(suspects))


# Optimizers


def update_check(case: Case, suspects: Sequence[str]) -> IsolatedCheck:
    """The whole step again: every target's weights against its own gradients."""
    recipe = case.procedure.optimizer
    assert recipe is not None
    node = Node(recipe.name, recipe.name, ())
    api, params = OPTIMIZERS[recipe.name].api, {**recipe.params, **policy_parameter(case.procedure.dtype)}
    return IsolatedCheck(Stage.UPDATE, case, node, api, params, tuple(suspects))


def step_alone(trial: IsolatedCheck, outcomes: Mapping[str, Outcome]) -> IsolatedCheck | None:
    """The same step of the one layer whose weight is furthest off, alone; None where it cannot be had.

    What an optimizer makes of a gradient hardly depends on the network around the weight; where it does (a norm of all
    gradients), the layer alone has other numbers and is judged by those.

    Args:
        outcomes: of the trial's own case.
    """
    graph = trial.case.subject
    suspect = next((outcomes[target] for target in outcomes if target in trial.suspects), None)
    if not isinstance(graph, LayerGraph) or suspect is None or not suspect.completed or len(graph.nodes) < 2:
        return None
    of_optimizer = trial.node.op in OPTIMIZERS
    weight = worst_weight(trial.case, suspect) if of_optimizer else None
    owner = weight.partition("/")[0] if weight else "" if of_optimizer else trial.node.layer
    node = next((node for node in graph.nodes if node.layer == owner), None)
    if node is None or node.key not in suspect.trace.nodes:
        return None
    try:
        given = node_inputs(graph, node, trial.case.inputs, suspect.trace.nodes)
        pull = suspect.trace.gradients.get(f"node:{node.key}")
        single = stepping_alone(trial.case, node, given, suspect.trace.nodes[node.key], pull)
    except (KeyError, ValueError, ShapeError):
        return None
    return replace(trial, case=single, node=trial.node if of_optimizer else _single_node(single))


def stepping_alone(case: Case, node: Node, given: Sequence[Array], output: Array, pull: Array | None = None) -> Case:
    """The optimizer's step of one layer alone, by a squared error.

    Args:
        pull: what the network passed back to the layer. Where float32 can say such labels, the error passes back about
            the same, and 0 where that was 0: some steps go wrong only there.

    Raises:
        ValueError, KeyError, ShapeError: if the layer cannot be run alone.
    """
    like = case.procedure
    single = _trained_alone(node, given, output, case.weights, like.training, (), case.seed, like.dtype).case
    procedure = replace(single.procedure, goal=Goal.UPDATE, optimizer=like.optimizer)
    wanted = _labels_for(pull, output) if pull is not None and pull.shape == output.shape else None
    labels = single.labels if wanted is None else dict.fromkeys(single.labels, wanted)
    return replace(single, labels=labels, procedure=procedure)


def _labels_for(pull: Array, output: Array) -> Array | None:
    """Labels whose mean squared error has this gradient at the output; None where float32 has none."""
    with np.errstate(all="ignore"):
        predicted = output.astype(np.float64)
        labels = (predicted - pull.astype(np.float64) * pull.size / 2.0).astype(np.float32)
        back = predicted - labels
    same = np.array_equal(back == 0.0, pull == 0.0) and bool(is_finite(labels).all() and is_finite(back).all())
    return labels if same else None


def held_trial(case: Case, node: Node, suspects: Sequence[str]) -> IsolatedCheck:
    """The whole step again: what the layer holds its weights to, or holds that no optimizer moved."""
    significant = _significant(node, case.procedure.dtype)
    return IsolatedCheck(Stage.UPDATE, case, node, public_name(node.op), significant, tuple(suspects))
