"""Scripts for Keras: a graph of layers forward, backward or in training, and single calls of ``keras.ops``."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection

import numpy as np

from ...core.arrays import Arrays, dtype_name, is_floating
from ...core.case import ApiCall, ArrayArg, Case
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph, Node, Ref
from ...core.jsontext import Json
from ...core.policies import policy_named
from ...core.procedure import Goal, Mode, Recipe
from ...operators.catalogue import layer
from ...operators.functions.api import returns_several
from ...operators.losses.weighed import weighed_loss_of
from ...operators.masks_and_states import is_stateful
from ...operators.metrics.catalogue import metric_of
from ...operators.reference.evaluate import declare_weights, infer_shapes
from ...operators.spec import ShapeError
from ...oracles.measure.penalties import has_penalties
from . import literals
from .calls import argument_lines, call_expression, position
from .claim import Claim
from .script import ScriptParts

_MODULES = {"tensorflow": "import tensorflow as tf", "torch": "import torch", "jax": "import jax"}


def keras_parts(case: Case, backend: str, claim: Claim | None, *, watched: bool) -> ScriptParts:
    """The parts of a script for Keras on a backend.

    Raises:
        Unprintable: if the case cannot be written down.
    """
    backward = case.procedure.goal in (Goal.REPLAY, Goal.GRADIENTS)
    needs_backend = claim.group == "gradients" if claim is not None else backward
    imports = [
        "import os",
        *(["import subprocess"] if watched else []),
        "import sys",
        "",
        f'os.environ["KERAS_BACKEND"] = {literals.value(backend)}',
        *(['os.environ["JAX_ENABLE_X64"] = "1"'] if backend == "jax" and case.procedure.dtype == "float64" else []),
        "import keras",
        "import numpy as np",
        *([_MODULES[backend]] if needs_backend and backend in _MODULES else []),
    ]
    if isinstance(case.subject, ApiCall) and metric_of(case.subject.api):
        return ScriptParts(imports, _metric(case, case.subject))
    if isinstance(case.subject, ApiCall) and weighed_loss_of(case.subject.api):
        return ScriptParts(imports, _weighed_loss(case, case.subject))
    if isinstance(case.subject, ApiCall) and case.subject.api.startswith("keras.layers."):
        return ScriptParts(imports, _called_layer(case, case.subject))
    if isinstance(case.subject, ApiCall):
        call = call_expression(case.subject)
        steps = [*argument_lines(case, ""), f"observed = keras.ops.convert_to_numpy({call})"]
        if returns_several(case.subject.api):
            steps[-1] = f"observed = keras.ops.convert_to_numpy({call}[{position(claim)}])"
        return ScriptParts(imports, steps)
    if not isinstance(case.subject, LayerGraph):
        raise literals.Unprintable("a model file is no text; the case file runs it")
    return ScriptParts(imports, _graph_steps(case, case.subject, backend, claim))


def _metric(case: Case, call: ApiCall) -> list[str]:
    """In two batches, as a training loop would and the worker does."""
    half = len(next(iter(case.inputs.values()))) // 2
    names = [literals.name(item.name) for item in call.args if isinstance(item, ArrayArg)]
    parts = [f"[:{half}]", f"[{half}:]"] if half else [""]
    return [
        *argument_lines(case, ""),
        f"metric = {literals.dotted_name(call.api)}({_arguments(dict(call.kwargs))})",
        *(f"metric.update_state({', '.join(name + part for name in names)})" for part in parts),
        "observed = keras.ops.convert_to_numpy(metric.result())",
    ]


def _weighed_loss(case: Case, call: ApiCall) -> list[str]:
    """Labels, predictions and weights, in this order."""
    labels, predictions, weights = (literals.name(item.name) for item in call.args if isinstance(item, ArrayArg))
    return [
        *argument_lines(case, ""),
        f"loss = {literals.dotted_name(call.api)}({_arguments(dict(call.kwargs))})",
        f"observed = keras.ops.convert_to_numpy(loss({labels}, {predictions}, sample_weight={weights}))",
    ]


def _called_layer(case: Case, call: ApiCall) -> list[str]:
    """A layer made with tuples, called on arrays; strings come out as bytes, or in a list, by the backend."""
    names = [literals.name(item.name) for item in call.args if isinstance(item, ArrayArg)]
    given = ", ".join(f"{literals.name(name)}={literals.value(item)}" for name, item in call.kwargs.items())
    lines = [
        *argument_lines(case, ""),
        f"layer = {literals.dotted_name(call.api)}({given})",
        f"output = layer({', '.join(names)})",
    ]
    if call.kwargs.get("invert"):
        words = "[w.decode() if isinstance(w, bytes) else w for w in np.ravel(np.array(output, object))]"
        return [*lines, f"observed = np.array({words}).reshape(np.shape(output))"]
    return [*lines, "observed = keras.ops.convert_to_numpy(output)"]


def _graph_steps(case: Case, graph: LayerGraph, backend: str, claim: Claim | None) -> list[str]:
    names = _names(graph)
    arrays = _input_arrays(case, graph)
    steps = []
    if case.procedure.dtype == "float64":
        steps.append('keras.config.set_floatx("float64")')
    elif case.procedure.dtype:
        steps.append(f"keras.config.set_dtype_policy({literals.value(case.procedure.dtype)})")
    steps += [f"{names[item.name]} = {literals.wide(arrays[item.name])}" for item in graph.inputs]
    steps += [f"{_layer_name(node)} = {_constructor(node)}" for node in graph.nodes if node.call == 0]
    if case.procedure.goal is Goal.REPLAY:
        return [*steps, *_backward(case, graph, names, backend, claim)]
    steps += _model(graph, _static_batch(case, graph))
    steps += _weights(case, graph)
    if not case.labels and claim is None:  # it ends before there is a loss
        return [*steps, *_forward(case, graph, names, claim)]
    if case.procedure.goal in (Goal.UPDATE, Goal.FIT):
        return [*steps, *_training_lines(case, graph, names, claim)]
    if case.procedure.goal is Goal.GRADIENTS:
        return [*steps, *_gradients(case, graph, names, backend, claim)]
    return [*steps, *_forward(case, graph, names, claim)]


def _static_batch(case: Case, graph: LayerGraph) -> int | None:
    if not is_stateful(graph):
        return None
    return case.procedure.batch_size or min(len(array) for array in case.inputs.values())


def _names(graph: LayerGraph) -> dict[str, str]:
    """Names for the inputs' arrays."""
    return {item.name: "x" if len(graph.inputs) == 1 else f"x{index}" for index, item in enumerate(graph.inputs)}


def _layer_name(node: Node) -> str:
    """A name for the layer's variable; ours for layers that stand alone says nothing."""
    name = re.sub(r"\W", "_", node.layer, flags=re.ASCII).lower()
    odd = not name.isidentifier() or keyword.iskeyword(name) or name in ("x", "model", "keras", "np", "sys", "os")
    return f"layer_{name}" if odd else name


def _input_arrays(case: Case, graph: LayerGraph) -> Arrays:
    if case.procedure.goal is not Goal.REPLAY:
        return case.inputs
    node = graph.nodes[-1]
    return {ref.node: case.inputs[f"{node.key}/{index}"] for index, ref in enumerate(node.inputs)}


def _constructor(node: Node) -> str:
    params = {name: item for name, item in node.params.items() if name != "name"}
    if any(isinstance(item, dict) for item in params.values()):  # a layer or policy inside: the way Keras saves it
        return f"keras.layers.{literals.dotted_name(node.op)}.from_config({params!r})"
    return f"keras.layers.{literals.dotted_name(node.op)}({_arguments(params)})"


def _arguments(params: dict[str, Json]) -> str:
    return ", ".join(f"{literals.name(name)}={literals.as_given(item)}" for name, item in params.items())


def _call(node: Node, tensors: list[str], training: str = "") -> str:
    listed = layer(node.op).listed or node.op in ("Attention", "AdditiveAttention")
    named = [f"{name}={tensor}" for name, tensor in zip(layer(node.op).further, tensors[1:], strict=False)]
    tensors = [*tensors[: len(tensors) - len(named)], *named]
    given = f"[{', '.join(tensors)}]" if listed else ", ".join(tensors)
    further = _arguments(dict(node.call_params))
    return f"{_layer_name(node)}({', '.join(part for part in (given, further, training) if part)})"


def _model(graph: LayerGraph, batch: int | None) -> list[str]:
    """The functional model; ``batch`` is the size of a batch, where a stateful layer has to know it."""
    tensors = {item.name: f"i{index}" for index, item in enumerate(graph.inputs)}
    static = f"batch_size={literals.value(batch)}, " if batch else ""
    lines = [
        f"{tensors[item.name]} = keras.Input({literals.value(list(item.shape))}, {static}"
        f"dtype={literals.value(item.dtype)})"
        for item in graph.inputs
    ]
    for index, node in enumerate(graph.nodes):
        call = _call(node, [_tensor(tensors, graph, ref) for ref in node.inputs])
        if len(graph.nodes) == 1:
            tensors[node.name] = call
        else:
            tensors[node.name] = f"t{index}"
            lines.append(f"t{index} = {call}")
    inputs = ", ".join(tensors[item.name] for item in graph.inputs)
    outputs = ", ".join(_tensor(tensors, graph, ref) for ref in graph.outputs)
    many_in, many_out = len(graph.inputs) > 1, len(graph.outputs) > 1
    model = f"keras.Model({f'[{inputs}]' if many_in else inputs}, {f'[{outputs}]' if many_out else outputs})"
    return [*lines, f"model = {model}"]


def _tensor(tensors: dict[str, str], graph: LayerGraph, ref: Ref) -> str:
    node = next((node for node in graph.nodes if node.name == ref.node), None)
    several = node is not None and _gives_several(node, graph)
    return f"{tensors[ref.node]}[{literals.value(ref.index)}]" if several else tensors[ref.node]


def _gives_several(node: Node, graph: LayerGraph) -> bool:
    """Whether a call of the layer is a tuple."""
    try:
        return len(infer_shapes(graph, None)[node.name]) > 1
    except (ShapeError, TensorParityError):  # arguments that the catalogue rules out: by what is asked and read of it
        read = [*graph.outputs, *(ref for other in graph.nodes for ref in other.inputs)]
        asked = {**node.params, **node.call_params}
        tuples = ("return_state", "return_attention_scores")
        return any(asked.get(name) for name in tuples) or any(ref.node == node.name and ref.index for ref in read)


def _weights(case: Case, graph: LayerGraph) -> list[str]:
    lines = []
    try:
        declared = declare_weights(graph)
    except ShapeError:  # parameters that the catalogue rules out: which values the weights have does not matter
        return []
    for node in graph.nodes:
        own = [name for name in declared if name.startswith(f"{node.layer}/")]
        if own and node.call == 0:
            arrays = ", ".join(literals.wide(case.weights[name]) for name in own)
            lines.append(f"{_layer_name(node)}.set_weights([{arrays}])")
    return lines


def _arguments_text(graph: LayerGraph, names: dict[str, str]) -> str:
    arrays = ", ".join(names[item.name] for item in graph.inputs)
    return f"[{arrays}]" if len(graph.inputs) > 1 else arrays


def _forward(case: Case, graph: LayerGraph, names: dict[str, str], claim: Claim | None) -> list[str]:
    procedure, given = case.procedure, _arguments_text(graph, names)
    if procedure.training or procedure.mode is Mode.EAGER:
        call = f"keras.ops.convert_to_numpy(model({given}, {_training_flag(case)}))"
        if len(graph.outputs) > 1:
            call = f"keras.ops.convert_to_numpy(model({given}, {_training_flag(case)})[{_position(graph, claim)}])"
        return [f"observed = {call}"]
    size = f", batch_size={literals.value(procedure.batch_size)}" if procedure.batch_size else ""
    lines = ['model.save("model.keras")', 'model = keras.saving.load_model("model.keras")'] if procedure.reload else []
    part = f"[{_position(graph, claim)}]" if len(graph.outputs) > 1 else ""
    return [*lines, f"observed = model.predict({given}{size}, verbose=0){part}"]


def _training_flag(case: Case) -> str:
    return f"training={literals.value(case.procedure.training)}"


def _position(graph: LayerGraph, claim: Claim | None) -> int:
    names = [ref.node if ref.index == 0 else f"{ref.node}.{ref.index}" for ref in graph.outputs]
    return names.index(claim.name) if claim is not None and claim.name in names else 0


# --- backward


def _backward(case: Case, graph: LayerGraph, names: dict[str, str], backend: str, claim: Claim | None) -> list[str]:
    """The cotangent pulled back through one layer, by the backend's own means."""
    node = graph.nodes[-1]
    arrays = [names[ref.node] for ref in node.inputs]
    build = [f"{_call(node, [f'np.array({name})' for name in arrays])}  # builds its weights"]
    setting = _weights(case, graph)
    cotangent = case.cotangents[node.key]
    training = _training_flag(case)
    wanted = _wanted_tensor(node, graph, names, claim, case)
    given = {**{names[name]: array for name, array in _input_arrays(case, graph).items()}, "cotangent": cotangent}
    narrow = {name: dtype for name, array in given.items() if not literals.is_known(dtype := dtype_name(array))}
    return [
        *(build if setting else []),
        *setting,
        f"cotangent = {literals.wide(cotangent)}",
        *(f"{name} = keras.ops.cast({name}, {literals.value(dtype)})" for name, dtype in narrow.items()),
        *_pull(node, arrays, backend, training, wanted, narrow, policy_named(case.procedure.dtype).half),
    ]


def _wanted_tensor(node: Node, graph: LayerGraph, names: dict[str, str], claim: Claim | None, case: Case) -> str:
    """The tensor whose gradient is asked for: an input's name, or ``LAYER.weights[i]``."""
    name = claim.name if claim else f"input:{node.key}/0"
    if name.startswith("input:"):
        key = name[len("input:") :]
        if case.procedure.goal is not Goal.REPLAY:
            return names[key]
        return names[node.inputs[int(key.rpartition("/")[2])].node]
    weight = name[len("weight:") :]
    owner = next((other for other in graph.nodes if weight.startswith(f"{other.layer}/")), node)
    declared = [item for item in declare_weights(graph) if item.startswith(f"{owner.layer}/")]
    if weight not in declared:
        raise literals.Unprintable(f"the gradient of {name}")
    return f"{_layer_name(owner)}.weights[{declared.index(weight)}]"


def _pull(
    node: Node, arrays: list[str], backend: str, training: str, wanted: str, narrow: Collection[str], cast: bool
) -> list[str]:
    """The layer's call and the way back through it.

    Args:
        narrow: the names of arrays that are tensors already, because NumPy lacks their dtype.
        cast: the layer answers in another dtype than it is given, and the cotangent has to have that.
    """
    call = _call(node, arrays, training)
    half = bool(narrow) or cast
    widened = 'keras.ops.convert_to_numpy(keras.ops.cast({}, "float32"))' if half else "np.asarray({})"
    casting = ["cotangent = keras.ops.cast(cotangent, y.dtype)"] if cast else []
    source = wanted if wanted in arrays else f"{wanted}.value"
    if backend == "torch":
        tensors = [
            f"{name}.requires_grad_()" if name in narrow else f"{name} = torch.tensor({name}, requires_grad=True)"
            for name in arrays
        ]
        seed = "cotangent" if cast or "cotangent" in narrow else "torch.tensor(cotangent)"
        gradient = f"{source}.grad"
        return [
            *tensors,
            f"y = {call}",
            *casting,
            f"y.backward({seed})",
            f"observed = {widened.format(gradient) if half else gradient + '.numpy()'}",
        ]
    if backend == "tensorflow":
        gradient = f"tf.convert_to_tensor(tape.gradient(y, {source}, output_gradients=cotangent))"
        return [
            *(f"{name} = tf.constant({name})" for name in arrays if name not in narrow),
            "with tf.GradientTape() as tape:",
            f"    tape.watch([{', '.join(arrays)}])",
            f"    y = {call}",
            *casting,
            f"observed = {widened.format(gradient) if half else gradient + '.numpy()'}",
        ]
    if backend == "jax" and wanted in arrays:
        given = ", ".join(arrays)
        return [
            f"y, pull_back = jax.vjp(lambda {given}: {call}, {given})",
            *casting,
            f"observed = {widened.format(f'pull_back(cotangent)[{arrays.index(wanted)}]')}",
        ]
    if backend == "jax":
        name = wanted.partition(".")[0]
        index = wanted[wanted.index("[") + 1 : -1]
        stateless = call.replace(f"{name}(", f"{name}.stateless_call(t, n, ", 1)
        return [
            f"t, n = {name}.trainable_variables, {name}.non_trainable_variables",
            "t, n = [v.value for v in t], [v.value for v in n]",
            f"y, pull_back = jax.vjp(lambda t: {stateless}[0], t)",
            *casting,
            f"observed = {widened.format(f'pull_back(cotangent)[0][{index}]')}",
        ]
    raise literals.Unprintable(f"gradients on {backend}")


# --- training


def _recipe(kind: str, recipe: Recipe | None) -> str:
    assert recipe is not None
    params = dict(recipe.params)
    if any(isinstance(item, dict) for item in params.values()):  # a schedule or an optimizer inside
        return f"keras.{kind}.{literals.dotted_name(recipe.name)}.from_config({params!r})"
    return f"keras.{kind}.{literals.dotted_name(recipe.name)}({_arguments(params)})"


def _labels(case: Case, graph: LayerGraph) -> tuple[list[str], str]:
    order = [ref.node for ref in graph.outputs if ref.node in case.labels]
    if not order:
        raise literals.Unprintable("a loss without labels")
    lines = [f"y{index} = {literals.wide(case.labels[name])}" for index, name in enumerate(order)]
    given = ", ".join(f"y{index}" for index in range(len(order)))
    return lines, f"[{given}]" if len(order) > 1 else given


def _training_lines(case: Case, graph: LayerGraph, names: dict[str, str], claim: Claim | None) -> list[str]:
    lines, labels = _labels(case, graph)
    procedure = case.procedure
    lines.append(f"optimizer = {_recipe('optimizers', procedure.optimizer)}")
    unscaled = ", auto_scale_loss=False" if procedure.dtype == "mixed_float16" else ""  # the optimizer as it is
    lines.append(f"model.compile(optimizer=optimizer, loss={_recipe('losses', procedure.loss)}{unscaled})")
    lines += _steps(case, _arguments_text(graph, names), labels, claim)
    if claim is None or claim.group == "losses":
        return [*lines, "observed = np.asarray(loss)"]
    weight = claim.name.partition(":")[2] if claim.name[:1].isdigit() else claim.name
    node = next((node for node in graph.nodes if weight.startswith(f"{node.layer}/")), graph.nodes[-1])
    declared = [item for item in declare_weights(graph) if item.startswith(f"{node.layer}/")]
    if weight not in declared:
        raise literals.Unprintable(f"the weight {weight}")
    index = declared.index(weight)
    return [*lines, f"observed = keras.ops.convert_to_numpy({_layer_name(node)}.weights[{index}])"]


def _steps(case: Case, given: str, labels: str, claim: Claim | None) -> list[str]:
    """As many steps as it takes to see it; the inputs are the batches, one after another."""
    steps = case.procedure.steps or 1
    if steps == 1:
        return [f"loss = model.train_on_batch({given}, {labels})"]
    if given.startswith("[") or labels.startswith("["):
        raise literals.Unprintable(f"a training of {steps} steps with several inputs or outputs")
    size = len(next(iter(case.inputs.values()))) // steps
    name = claim.name.partition(":")[0] if claim else ""
    count = int(name) + 1 if name.isdigit() else steps
    part = f"[k * {size} : (k + 1) * {size}]"
    return [f"for k in range({count}):", f"    loss = model.train_on_batch({given}{part}, {labels}{part})"]


def _gradients(case: Case, graph: LayerGraph, names: dict[str, str], backend: str, claim: Claim | None) -> list[str]:
    lines, labels = _labels(case, graph)
    arrays = [names[item.name] for item in graph.inputs]
    given, loss = _arguments_text(graph, names), _recipe("losses", case.procedure.loss)
    call = f"loss({labels}, model({given}, {_training_flag(case)}))"
    if has_penalties(case):
        call = f"({call} + sum(model.losses))"
    lines.append(f"loss = {loss}")
    floats = [names[item.name] for item in graph.inputs if is_floating(item.dtype)]
    ends = claim is None
    if ends and floats:  # the way back may be why
        first = next(item.name for item in graph.inputs if is_floating(item.dtype))
        claim = Claim("gradients", f"input:{first}", np.zeros(()), 0.0, "")
    if claim is None or claim.group == "losses":
        return [*lines, f"observed = keras.ops.convert_to_numpy({call})"]
    if claim.group == "outputs":
        return [*lines, f"observed = keras.ops.convert_to_numpy(model({given}, {_training_flag(case)}))"]
    wanted = _wanted_tensor(graph.nodes[-1], graph, names, claim, case)
    if backend == "torch":
        source = wanted if wanted in arrays else f"{wanted}.value"
        lines += [f"{name} = torch.tensor({name}, requires_grad={name in floats})" for name in arrays]
        if ends:
            return [*lines, f"{call}.backward()", "observed = 0"]
        return [*lines, f"{call}.backward()", f"observed = keras.ops.convert_to_numpy({source}.grad)"]
    if backend == "tensorflow":
        source = wanted if wanted in arrays else f"{wanted}.value"
        lines += [f"{name} = tf.constant({name})" for name in arrays]
        lines += ["with tf.GradientTape() as tape:", f"    tape.watch([{', '.join(floats)}])", f"    value = {call}"]
        if ends:
            return [*lines, f"tape.gradient(value, {source})", "observed = 0"]
        return [*lines, f"observed = tf.convert_to_tensor(tape.gradient(value, {source})).numpy()"]
    if backend == "jax" and wanted in arrays:
        return [*lines, f"observed = np.asarray(jax.grad(lambda {wanted}: {call})({wanted}))"]
    if backend == "jax" and not has_penalties(case):
        stateless = f"model.stateless_call(t, n, {given}, {_training_flag(case)})[0]"
        return [
            *lines,
            "t, n = model.trainable_variables, model.non_trainable_variables",
            f"index = [v.path for v in t].index({wanted}.path)",
            "t, n = [v.value for v in t], [v.value for v in n]",
            f"observed = np.asarray(jax.grad(lambda t: loss({labels}, {stateless}))(t)[index])",
        ]
    raise literals.Unprintable(f"the gradient of {claim.name} on {backend}")
