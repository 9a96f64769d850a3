"""A Keras model as a list of steps, each one call of one layer, keyed by layer and call index.

Both subjects end here: a model file is loaded, a LayerGraph is built with Keras' functional API, and
either becomes the same Program. What users get (``model.predict``) and what is traced are then two
ways to run one thing.
"""

import contextlib

import numpy as np

from ...contract import Unsupported
from ...protocol import Bits


class Step(object):
    """One call of one layer.

    ``sources`` and ``results`` are tokens of tensors: a tensor of a model inside the model is a new one
    at every call of it, so the symbolic tensor alone does not name it.
    """

    def __init__(self, layer_name, call, layer, node, sources, results):
        self.layer_name = layer_name
        self.call = call
        self.key = "{}#{}".format(layer_name, call)
        self.name = layer_name if call == 0 else "{}__{}".format(layer_name, call)
        self.layer = layer
        self.node = node
        self.sources = sources
        self.results = results

    def run(self, tensors, training):
        """Call the layer on the tensors found by token; return its outputs as a flat list."""
        import keras

        symbolic = [id(tensor) for tensor in self.node.arguments.keras_tensors]
        found = {identity: tensors[token] for identity, token in zip(symbolic, self.sources)}
        args, kwargs = self.node.arguments.fill_in(found)
        if getattr(self.layer, "_call_has_training_arg", False):
            kwargs["training"] = training
        return keras.tree.flatten(self.layer(*args, **kwargs))

    def penalties(self):
        """Return what the layer's last call has added to the loss; its next one forgets it."""
        return [loss for part in parts_of(self.layer) for loss in part._get_own_losses()]

    def penalizes(self):
        """Tell whether the layer, or one inside of it, adds something of its output to the loss."""
        return any(getattr(part, "activity_regularizer", None) is not None for part in parts_of(self.layer))


class Program(object):
    """A functional model taken apart, models inside it too: their layers are named ``model.layer``.

    ``inputs`` and ``outputs`` map names to tensor tokens; ``steps`` are in topological order.
    """

    def __init__(self, model):
        self.model = model
        functional = _functional(model)
        self.inputs = [(tensor._keras_history.operation.name, id(tensor)) for tensor in functional.inputs]
        self.input_tensors = {id(tensor): tensor for tensor in functional.inputs}
        walk = _Walk()
        tokens = walk.through(functional, "", {id(tensor): id(tensor) for tensor in functional.inputs})
        self.steps = walk.steps
        self.names = self._name_tensors()
        self.outputs = [(graph_output_name(self.names[token]), token) for token in tokens]
        self.by_key = {step.key: step for step in self.steps}
        self.layers = {step.layer_name: step.layer for step in self.steps}

    def _name_tensors(self):
        """Name every tensor as a LayerGraph does: by node and output index."""
        names = {tensor: [name, 0] for name, tensor in self.inputs}
        for step in self.steps:
            for index, identity in enumerate(step.results):
                names[identity] = [step.name, index]
        return names

    def symbolic(self):
        """Return by node key the shape and dtype that Keras inferred when the model was built."""
        found = {}
        for step in self.steps:
            for index, tensor in enumerate(step.node.outputs):
                sizes = [None if size is None else int(size) for size in tensor.shape]
                found[output_key(step.key, index)] = [sizes, str(tensor.dtype)]
        return found

    def weights(self):
        """Return the variables by ``layer/weight``."""
        found = {}
        for name, layer in self.layers.items():
            for variable in getattr(layer, "weights", ()):
                found[weight_name(name, layer, variable)] = variable
        return found

    def can_be_compiled(self):
        """Tell whether no layer is a lookup: these run in TensorFlow, whatever the backend."""
        return not any(type(layer).__name__ in LOOKUPS for layer in self.layers.values())

    def trainable(self):
        found = {}
        for name, layer in self.layers.items():
            for variable in getattr(layer, "trainable_weights", ()):
                found[weight_name(name, layer, variable)] = variable
        return found

    def set_weights(self, arrays):
        """Assign every weight; a missing or superfluous one is an error, never a random start."""
        variables = self.weights()
        missing, extra = sorted(set(variables) - set(arrays)), sorted(set(arrays) - set(variables))
        if missing or extra:
            raise ValueError("weights do not fit the model: missing {}, superfluous {}".format(missing, extra))
        for name, variable in variables.items():
            variable.assign(plain(arrays[name]))
        for layer in self.layers.values():
            if hasattr(layer, "finalize_state"):
                layer.finalize_state()  # Normalization computes with what it derived from its weights

    def run(self, inputs, training, watch, before=None, penalties=None):
        """Run step by step; ``watch(key, tensor)`` may replace each float output by another tensor.

        Return the outputs by name. The list ``penalties`` is given what the layers add to the loss, as Keras' own
        training step does: of their outputs with every call, of their weights once.
        """
        tensors = {tensor: inputs[name] for name, tensor in self.inputs}
        for step in self.steps:
            if before:
                before(step.key)
            outputs = step.run(tensors, training)
            if penalties is not None and step.penalizes():
                # Its gradient is that of what reads it. The penalty is pulled back with it, to the layer's inputs; and
                # a layer that passes its input on gives the very tensor that another one may have penalized.
                outputs = [_copied(output) for output in outputs]
            for index, (identity, output) in enumerate(zip(step.results, outputs)):
                tensors[identity] = watch(output_key(step.key, index), output)
            if penalties is not None:
                penalties.extend(step.penalties())
        if penalties is not None:
            penalties.extend(self.model._get_regularization_losses())
        return {name: tensors[tensor] for name, tensor in self.outputs}

    def replay(self, key, inputs, training):
        """Run one step alone on the given inputs; return its outputs as a list."""
        step = self.by_key[key]
        if len(inputs) != len(step.sources):
            raise ValueError("{} takes {} inputs, received {}".format(key, len(step.sources), len(inputs)))
        return step.run(dict(zip(step.sources, inputs)), training)

    def reaches_loss(self, names):
        """Return the ids of tensors that the loss of these outputs depends on: gradients of the others are unconnected.

        It depends on whatever flows into a layer that penalizes; what comes out of it is seen by its readers only.
        """
        reached = set(tensor for name, tensor in self.outputs if name in names)
        for step in reversed(self.steps):
            if reached.intersection(step.results) or step.penalizes():
                reached.update(step.sources)
        return reached


def parts_of(layer):
    """Return a layer and the layers inside of it; a function (``x + 3``) is none and has none."""
    return list(layer._flatten_layers()) if hasattr(layer, "_flatten_layers") else []


def unwatched(key, tensor):
    """Return a node's output as it is: for runs that nobody watches."""
    return tensor


def output_key(key, index):
    return key if index == 0 else "{}.{}".format(key, index)


def weight_name(name, layer, variable):
    """Return ``layer/weight``; what stands before the layer's own name depends on how it was built."""
    parts = variable.path.split("/")
    if layer.name in parts:
        parts = parts[parts.index(layer.name) + 1 :]
    return "/".join([name] + parts)


def plain(array):
    """Return a NumPy array; bits of an extension dtype become that dtype (Keras brings ml_dtypes)."""
    if isinstance(array, Bits):
        import ml_dtypes

        return array.bits.view(getattr(ml_dtypes, array.dtype))
    return array


def _functional(model):
    import keras
    from keras.src.models.functional import Functional

    if isinstance(model, keras.Sequential):
        model = model._functional
    if not isinstance(model, Functional):
        raise Unsupported("only functional and sequential models can be taken apart, not {}".format(type(model)))
    return model


class _Walk(object):
    """Goes through a model and the models inside it, and collects the steps."""

    def __init__(self):
        self.steps = []
        self._calls = {}

    def through(self, functional, prefix, tokens):
        """Add the steps of one call of a model, given the tokens of its inputs; return those of its outputs."""
        members = set(id(node) for nodes in functional._nodes_by_depth.values() for node in nodes)
        for depth in sorted(functional._nodes_by_depth, reverse=True):
            for node in functional._nodes_by_depth[depth]:
                if not node.is_input:
                    self._add(node, prefix, tokens, members)
        return [tokens[id(tensor)] for tensor in functional.outputs]

    def _add(self, node, prefix, tokens, members):
        layer = node.operation
        name = prefix + layer.name
        sources = [tokens[id(tensor)] for tensor in node.arguments.keras_tensors]
        inner = _inner_model(layer, sources)
        if inner is not None:
            given = {id(tensor): token for tensor, token in zip(inner.inputs, sources)}
            results = self.through(inner, name + ".", given)
        else:
            call = self._call(name, layer, node, members, bool(prefix))
            results = [(name, call, index) for index in range(len(node.outputs))]
            self.steps.append(Step(name, call, layer, node, sources, results))
        for tensor, token in zip(node.outputs, results):
            tokens[id(tensor)] = token

    def _call(self, name, layer, node, members, nested):
        """Return the call index: by Keras' own order on top, by order of execution inside a model."""
        if nested:
            self._calls[name] = self._calls.get(name, -1) + 1
            return self._calls[name]
        return [id(other) for other in layer._inbound_nodes if id(other) in members].index(id(node))


def _inner_model(layer, sources):
    """Return the functional model a layer is, if its inputs are just the tensors it is called on."""
    from keras.src.models.functional import Functional
    from keras.src.models.sequential import Sequential

    if isinstance(layer, Sequential):
        layer = layer._functional
    plain_call = isinstance(layer, Functional) and len(layer.inputs) == len(sources)
    return layer if plain_call else None


def load(path, trust):
    """Load a model file; weights come from the file, so nothing is drawn on the way."""
    import keras

    with no_random_initializers():
        return Program(keras.saving.load_model(path, compile=False, safe_mode=not trust))


def build(subject, weights, dtype=None, trust=False, before=None, batch=None):
    """Build a LayerGraph with the functional API and set its weights; ``before(key)`` is told of each node.

    ``batch`` is the size of a batch, which stateful layers have to know.
    """
    import keras

    tensors = {}
    with no_random_initializers(), default_policy(dtype):
        for spec in subject["inputs"]:
            tensors[spec["name"], 0] = keras.Input(
                tuple(spec["shape"]), batch_size=batch, name=spec["name"], dtype=spec["dtype"]
            )
        layers = {}
        for node in subject["nodes"]:
            if before:
                before("{}#{}".format(node["layer"], node["call"]))
            layer = layers.get(node["layer"])
            if layer is None:
                layer = layers[node["layer"]] = make_layer(node, dtype, trust)
            sources = [tensors[name, index] for name, index in node["inputs"]]
            outputs = keras.tree.flatten(_apply(layer, sources, node["call_params"]))
            for index, output in enumerate(outputs):
                tensors[node["name"], index] = output
        inputs = [tensors[spec["name"], 0] for spec in subject["inputs"]]
        model = keras.Model(inputs, [tensors[name, index] for name, index in subject["outputs"]])
    program = Program(model)
    program.set_weights(weights)
    return program


def is_stateful(subject):
    """Return whether a layer of a LayerGraph, or one inside of it, keeps its states from call to call."""
    values = [node["params"] for node in subject["nodes"]]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            if value.get("stateful") is True:
                return True
            values.extend(value.values())
        elif isinstance(value, (list, tuple)):
            values.extend(value)
    return False


def _copied(tensor):
    """Return another tensor of the same values, mask and, where an activation left them, logits."""
    import keras

    copied = keep_mask(tensor, keras.ops.copy(tensor))
    logits = getattr(tensor, "_keras_logits", None)
    if logits is not None:
        copied._keras_logits = logits
    return copied


def keep_mask(before, after):
    """Return the tensor ``after``, with the mask of the one it was made of: no operation hands it on by itself."""
    from keras.src import backend

    mask = backend.get_keras_mask(before)
    if mask is not None and after is not before:
        backend.set_keras_mask(after, mask)
    return after


@contextlib.contextmanager
def default_policy(name):
    """Make a dtype policy the default, as users do; layers inside of others have no other way to get it."""
    import keras

    if not name:
        yield
        return
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def graph_output_name(ref):
    """Return the name of a graph's output: the node's, with the index where it is not the first."""
    return ref[0] if ref[1] == 0 else "{}.{}".format(ref[0], ref[1])


#: Layers that run code, load files or import modules named in their configuration.
_UNSAFE_LAYERS = frozenset(["FlaxLayer", "JaxLayer", "Lambda", "TFSMLayer", "TorchModuleWrapper"])


#: Layers that look up or hash with TensorFlow's functions on every backend.
LOOKUPS = frozenset(["HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization"])


def make_layer(node, dtype, trust=False):
    """Make a node's layer; the host has refused what runs code of its own, and so does this, unless trusted."""
    unsafe = [] if trust else [name for name in _classes(node) if name in _UNSAFE_LAYERS or name == "__lambda__"]
    if unsafe:
        raise Unsupported("{} could run code of its own; refused without --trust".format(unsafe[0]))
    import keras

    cls = getattr(keras.layers, node["op"], None)
    if cls is None:
        raise Unsupported("keras.layers has no {}".format(node["op"]))
    config = dict(node["params"], name=node["layer"])
    if dtype and node["op"] not in LOOKUPS:  # a lookup's dtype is that of its indices
        config["dtype"] = dtype
    try:
        return cls.from_config(config)
    except KeyError:  # some, Rescaling for one, read a complete configuration only; ours leaves defaults out
        return cls(**config)


def _classes(node):
    """Return the names of a node's layer and of all classes in its parameters."""
    found, values = [node["op"]], [node["params"]]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            found.append(str(value.get("class_name")))
            values.extend(value.values())
        elif isinstance(value, (list, tuple)):
            values.extend(value)
    return found


def _apply(layer, sources, call_params):
    if BY_NAME in call_params.values():
        raise Unsupported("{} takes a tensor by name, which only its file can say".format(layer.name))
    import keras
    from keras.src.layers.merging.base_merge import Merge

    # These take their inputs as one list.
    if isinstance(layer, (Merge, keras.layers.Attention, keras.layers.HashedCrossing)):
        return layer(sources, **call_params)
    if isinstance(layer, keras.layers.CategoryEncoding) and len(sources) > 1:
        return layer(sources[0], count_weights=sources[1], **call_params)
    return layer(*sources, **call_params)


@contextlib.contextmanager
def no_random_initializers():
    """Make initializers give NumPy's arrays, random ones zeros: weights are set, and JAX need not compile for each."""
    import keras
    from keras.src.initializers import constant_initializers, random_initializers

    def filled(value):
        def initialize(self, shape, dtype=None, **kwargs):
            array = np.full(shape, value, "float32")
            return keras.ops.convert_to_tensor(array, dtype=dtype or keras.config.floatx())

        return initialize

    classes = [
        (cls, filled(0.0))
        for cls in vars(random_initializers).values()
        if isinstance(cls, type) and "__call__" in vars(cls) and cls.__module__ == random_initializers.__name__
    ]
    classes.append((constant_initializers.Zeros, filled(0.0)))
    classes.append((constant_initializers.Ones, filled(1.0)))
    saved = [(cls, cls.__call__) for cls, _ in classes]
    for cls, call in classes:
        cls.__call__ = call
    try:
        yield
    finally:
        for cls, call in saved:
            cls.__call__ = call


#: Classes whose public name is another.
_PUBLIC = {"GroupedQueryAttention": "GroupQueryAttention"}


def describe(program):
    """Return the program as LayerGraph JSON, with every layer's whole configuration as its parameters."""
    nodes = []
    for step in program.steps:
        nodes.append(
            {
                "name": step.name,
                "op": _public_name(step.layer),
                "inputs": [program.names[source] for source in step.sources],
                "params": _jsonable(step.layer.get_config()) if hasattr(step.layer, "get_config") else {},
                "layer": step.layer_name,
                "call": step.call,
                "call_params": _call_params(step),
            }
        )
    inputs = [
        {
            "name": name,
            "shape": list(program.input_tensors[tensor].shape[1:]),
            "dtype": program.input_tensors[tensor].dtype,
        }
        for name, tensor in program.inputs
    ]
    return {
        "kind": "layer-graph",
        "name": program.model.name,
        "inputs": inputs,
        "nodes": nodes,
        "outputs": [program.names[tensor] for _, tensor in program.outputs],
    }


#: Stands for a tensor that is not given by position: no LayerGraph can say that, only the file itself.
BY_NAME = "<tensor>"


def _public_name(layer):
    """Return the name of a layer's class; a function's (``x + 3``) with its module: there are layers of that name.

    So has a class of the user's: it may be called like one of Keras' own, and is another.
    """
    import keras

    name, module = type(layer).__name__, type(layer).__module__
    if not isinstance(layer, keras.layers.Layer):
        return "keras.ops." + name
    return _PUBLIC.get(name, name) if module.partition(".")[0] == "keras" else module + "." + name


def _call_params(step):
    """Return what a layer was called with besides tensors by position; a mask is an input like others."""
    found = {}
    arguments = step.node.arguments
    for position, value in enumerate(arguments.args):
        if value is not None and not _holds_tensors(value):
            found[str(position)] = _jsonable(value)
    for name, value in arguments.kwargs.items():
        if _holds_tensors(value):
            if name != "mask":
                found[name] = BY_NAME
        elif value is not None and (name, value) != ("training", False):
            found[name] = _jsonable(value)
    return found


def _holds_tensors(value):
    import keras

    return any(isinstance(item, keras.KerasTensor) for item in keras.tree.flatten(value))


def _jsonable(value):
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return repr(value)
