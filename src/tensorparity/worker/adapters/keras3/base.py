"""What the Keras adapters share: everything but differentiation, which is each backend's own."""

import contextlib
import os
import random
import tempfile

import numpy as np

from ...contract import Adapter, Export, Result, Unsupported, import_library, inspected_path
from ...population import chromosomes, grouped
from ..call_runs import CallRuns, is_program, is_varied
from ..expressions import Expression, outputs_of
from . import program as programs
from .call_ways import KerasWays
from .exported import is_exported, run_exported
from .feeding import fed, feed_of
from .lives import LIVED, live
from .program import output_key, plain, unwatched
from .recipes import constructed, in_batches, make_loss, make_optimizer, scaled, weighed
from .recorded import Recorder
from .reloading import JIT, reloaded, way_of
from .states import moving_variables, reset_states, set_seeds, silence_random_layers

_DEFAULT_BATCH = 32  # Keras' own default for ``predict``
_MODELS_KEPT = 4  # a worker sees the same few models again and again


class KerasAdapter(Adapter):
    """Keras 3; subclasses say how their backend computes gradients."""

    ABILITIES = frozenset(
        ["forward", "gradients", "update", "fit", "replay", "call", "trace", "import", "train"]
        + ["layer-graph", "model-file", "api-call", "reload", "batch_size", "dtype", "mode:eager", "pack"]
    )
    LIBRARY = ""
    #: Who writes the file when Keras exports to ONNX on this backend; empty where nobody does.
    EXPORTER = ""
    #: Weights that are handed over in one call, of as many individuals as that makes; 0 for one at a time.
    GENES_AT_ONCE = 0

    def __init__(self, flavour, options):
        Adapter.__init__(self, flavour, options)
        self._programs = []
        self._runs = CallRuns(KerasWays(self))
        self.mode = "keras.Model.predict"

    def start(self):
        self.import_backend()
        import_library("keras", least=(3, 0))
        import keras

        if keras.backend.backend() != self.flavour:
            raise RuntimeError("Keras runs on {!r}, expected {!r}".format(keras.backend.backend(), self.flavour))

    def import_backend(self):
        """Import the backend before Keras, which the other order can crash, and pin its threads."""
        raise NotImplementedError

    def dtype_policy(self):
        import keras

        return keras.config.dtype_policy().name

    def run(self, job):
        self.current_node, self.current_stage = None, ""
        self.set_seed(job.seed, drawn=not job.option("population"))
        if job.subject["kind"] == "api-call":
            return self._runs.run(job) if is_varied(job) or is_program(job) else self._call(job)
        if job.option("data_format"):
            raise Unsupported("running in another data format is not supported by this target yet")
        with self._floats(job.option("dtype")):
            return self._run_program(job)

    def run_pack(self, jobs):
        if not all(job.subject["kind"] == "api-call" and is_varied(job) for job in jobs):
            raise Unsupported("only calls that are compiled are packed")
        return self._runs.run_pack(jobs)

    def _run_program(self, job):
        program = self.program(job)
        inputs = {name: plain(array) for name, array in job.inputs.items()}
        run = {
            "forward": self._forward,
            "gradients": self._gradients,
            "update": self._gradients,
            "replay": self._replay,
            "fit": self._fit,
        }.get(job.goal)
        if run is None:
            raise Unsupported("goal {!r} is not supported by this target".format(job.goal))
        set_seeds(program, job.seed)
        reset_states(program)
        with self._unchanged(program):
            result = self._recorded(program, inputs, job) if job.option("calls") else run(program, inputs, job)
        if job.subject["kind"] == "layer-graph":  # of a file nobody knows whether it is fed what it declares
            result.symbolic = program.symbolic()
        return result

    @contextlib.contextmanager
    def _floats(self, dtype):
        """Make float64 the default of all floats where layers are to compute in it, as users do.

        Otherwise ``Model.predict`` casts the inputs to float32, and so do losses, constants and learning rates.
        """
        import keras

        before, policy = keras.config.floatx(), keras.config.dtype_policy()
        keras.config.set_floatx("float64" if dtype == "float64" else before)
        try:
            yield
        finally:
            keras.config.set_floatx(before)
            keras.config.set_dtype_policy(policy)  # Keras makes the first one up when it is asked, of floatx

    def set_seed(self, seed, drawn=True):
        """Make what is drawn depend on the job alone; unless ``drawn``, nothing is.

        As ``keras.utils.set_random_seed`` does, but that one imports TensorFlow on every backend.
        """
        from keras.src.backend.common import global_state

        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 (what libraries draw from)
        global_state.set_global_attribute("global_seed_generator", None)  # drawn anew from Python's

    @contextlib.contextmanager
    def _unchanged(self, program):
        """Put back what a run leaves in a kept program: moving statistics. States are reset before each run."""
        before = [(variable, self.to_numpy(variable)) for variable in moving_variables(program)]
        try:
            yield
        finally:
            for variable, value in before:
                if self.to_numpy(variable).tobytes() != value.tobytes():
                    variable.assign(value)

    def program(self, job):
        """Return the job's model, built or loaded, from the last few if it is among them."""
        key = _program_key(job)
        for position, (known, program) in enumerate(self._programs):
            if known == key:
                self._programs.append(self._programs.pop(position))
                if job.subject["kind"] == "layer-graph":
                    program.set_weights(job.weights)
                return program
        del self._programs[: -(_MODELS_KEPT - 1)]
        program = self._make_program(job)
        self._programs.append((key, program))
        return program

    def _make_program(self, job):
        dtype = job.option("dtype")
        self.current_stage = "build"
        if job.subject["kind"] == "layer-graph":
            program = programs.build(job.subject, job.weights, dtype, job.trust, self._at, _static_batch(job))
        elif job.subject["kind"] == "model-file":
            if dtype:
                raise Unsupported("a model file keeps its own dtype policy")
            program = programs.load(inspected_path(job.subject), job.trust)
        else:
            raise Unsupported("subject {!r} is not supported by this target".format(job.subject["kind"]))
        if job.option("reload") and not is_exported(job):
            self.current_node = None  # loading is no longer the work of the layer built last
            program = reloaded(program, way_of(job.option("variant", "")), job.trust)
        self.current_node, self.current_stage = None, ""
        return program

    def _forward(self, program, inputs, job):
        if job.option("population"):
            return self._population(program, inputs, job)
        result = Result()
        training = bool(job.option("training"))
        if is_exported(job):
            result.outputs = run_exported(self, program, inputs, job.option("variant"))
        elif job.option("trace"):
            self._trace(program, inputs, training, result)
        elif training or job.option("mode") == "eager":
            self._eager(program, inputs, training, result)
        elif job.option("mode") == "compiled":
            raise Unsupported("compiling apart from Model.predict is not supported by this target")
        else:
            batch = job.option("batch_size") or _static_batch(job) or _DEFAULT_BATCH
            self._predict(program, inputs, batch, result, job.option("variant", ""))
        return result

    def _predict(self, program, inputs, batch_size, result, variant=""):
        """The way users get: whatever ``Model.predict`` compiles on this backend."""
        import keras

        given = {name: inputs[name] for name, _ in program.inputs}
        given = given if len(given) > 1 else inputs[program.inputs[0][0]]
        if variant.endswith(JIT):
            self.compile_whole(program)
        feed = feed_of(variant)
        if feed:
            outputs = program.model.predict(fed(feed, (given,), batch_size), verbose=0)
        else:
            outputs = program.model.predict(given, batch_size=batch_size, verbose=0)
        # In the order of the model's own outputs, which sorts a dictionary's.
        for (name, _), output in zip(program.outputs, keras.tree.flatten(outputs)):
            result.outputs[name] = np.asarray(output)

    def compile_whole(self, program):
        """Have what the model computes compiled as a whole; it is not the model that it was."""
        self._programs = []
        program.model.compile(jit_compile=True)

    def _population(self, program, inputs, job):
        """Run every individual with its own weights; outputs are stacked, a row per individual."""
        result, population = Result(), job.option("population")
        call = self.caller(program)
        each = min(len(array) for array in inputs.values()) > 1
        found, place = {}, 0
        for group in grouped(chromosomes(population, job.parents, job.weights), self.GENES_AT_ONCE):
            rows = slice(place, place + len(group)) if each else slice(0, 1)
            for name, array in call(group, {name: array[rows] for name, array in inputs.items()}).items():
                found.setdefault(name, []).append(array)
            place += len(group)
        result.outputs = {name: np.concatenate(arrays) for name, arrays in found.items()}
        return result

    def caller(self, program):
        """Return a function that gives the outputs of a few individuals as arrays: for many calls of one model.

        It takes a list of weights, and inputs with a row for each of them or one that they share. Unless
        ``GENES_AT_ONCE`` says otherwise, there is one.
        """
        variables = program.weights()

        def call(group, inputs):
            for name, array in group[0].items():
                variables[name].assign(array)
            with self.no_gradients():
                outputs = program.run(self.to_tensors(inputs), False, unwatched)
            return {name: self.to_numpy(tensor) for name, tensor in outputs.items()}

        return call

    def _eager(self, program, inputs, training, result):
        outputs = program.run(self.to_tensors(inputs), training, lambda key, tensor: tensor, self._at)
        for name, tensor in outputs.items():
            result.outputs[name] = self.to_numpy(tensor)

    def _trace(self, program, inputs, training, result):
        def watch(key, tensor):
            result.nodes[key] = self.to_numpy(tensor)
            return tensor

        outputs = program.run(self.to_tensors(inputs), training, watch, self._at)
        for name, tensor in outputs.items():
            result.outputs[name] = self.to_numpy(tensor)

    def _at(self, key):
        self.current_node = key

    def _come_to(self, stage):
        """Note that the forward pass is over: whatever fails now is no node's."""
        self.current_node, self.current_stage = None, stage

    def _replay(self, program, inputs, job):
        result = Result()
        training = bool(job.option("training"))
        for key in job.option("nodes", ()):
            self.current_node = key
            arrays = replay_inputs(inputs, key)
            if key in job.cotangents:
                self.replay_backward(program, key, arrays, plain(job.cotangents[key]), training, result)
            else:
                self.replay_forward(program, key, arrays, training, result)
        return result

    def _recorded(self, program, inputs, job):
        """Run forward, eagerly, and tell which public functions the layers call; what they raise ends no recording."""
        result, training = Result(), bool(job.option("training"))
        layers = [part for layer in program.layers.values() for part in programs.parts_of(layer)]
        answers = {name: plain(array) for name, array in job.answers.items()}
        with self.no_gradients(), Recorder(self.flavour, layers, self.to_tensor, self.to_numpy, answers) as recorder:
            try:
                self._run_recorded(program, inputs, training, job, result)
            except Exception:
                if answers:
                    raise
        if not answers:
            result.reply = recorder.reply()
            result.nodes.update({"call:" + name: array for name, array in recorder.arrays.items()})
        return result

    def _run_recorded(self, program, inputs, training, job, result):
        if job.goal == "replay":
            for key in job.option("nodes", ()):
                KerasAdapter.replay_forward(self, program, key, replay_inputs(inputs, key), training, result)
        elif job.goal == "forward":
            KerasAdapter._eager(self, program, inputs, training, result)
        else:
            raise Unsupported("calls are recorded forward only")

    def replay_forward(self, program, key, arrays, training, result):
        tensors = [self.to_tensor(array) for array in arrays]
        for index, output in enumerate(program.replay(key, tensors, training)):
            result.nodes[output_key(key, index)] = self.to_numpy(output)

    def replay_backward(self, program, key, arrays, cotangent, training, result):
        """Run one node and pull ``cotangent`` back to its inputs and weights.

        Gradients are named ``input:KEY/0`` and ``weight:LAYER/WEIGHT``.
        """
        raise NotImplementedError

    def _gradients(self, program, inputs, job):
        result = Result()
        training = bool(job.option("training"))
        loss = make_loss(job)
        before = {name: np.array(self.to_numpy(v)) for name, v in program.weights().items()}
        grads = self.differentiate(program, inputs, job.labels, loss, training, result)
        try:
            if job.goal == "update":
                self._come_to("update")
                self.update(program, job.option("optimizer"), grads)
                result.weights = {name: self.to_numpy(v) for name, v in program.weights().items()}
        finally:
            program.set_weights(before)  # the program is kept; the next job must find it as it was
        return result

    def _fit(self, program, inputs, job):
        """Train the way users do, ``train_on_batch`` with the model compiled, a batch a step."""
        import keras

        if job.option("variant", "").startswith(LIVED):
            self._programs = []  # it is not the model it was
            return live(program, inputs, job)
        result = Result()
        loss, optimizer = job.option("loss"), job.option("optimizer")
        program.model.compile(
            optimizer=make_optimizer(optimizer),
            loss=getattr(keras.losses, loss["name"]).from_config(dict(loss["params"])),
            auto_scale_loss=False,  # the optimizer is the one that was asked for
        )
        self._programs = []  # it is not the model it was
        silence_random_layers(program)
        steps = job.option("steps")
        for step in range(steps):
            x = [_batch(inputs[name], step, steps) for name, _ in program.inputs]
            y = [_batch(job.labels[name], step, steps) for name, _ in program.outputs]
            value = program.model.train_on_batch(x[0] if len(x) == 1 else x, y[0] if len(y) == 1 else y)
            result.losses.append(float(np.ravel(value)[0]))
            for name, variable in program.weights().items():
                result.weights["{}:{}".format(step, name)] = self.to_numpy(variable)
        return result

    def differentiate(self, program, inputs, labels, loss, training, result):
        """Fill outputs, nodes, loss and gradients; return the weights' gradients as tensors by name."""
        raise NotImplementedError

    def update(self, program, recipe, grads):
        """One step of the optimizer on the trainable weights that have a gradient."""
        optimizer = make_optimizer(recipe)
        trainable = {name: v for name, v in program.trainable().items() if grads.get(name) is not None}
        optimizer.build(list(trainable.values()))
        optimizer.apply(scaled(optimizer, [grads[name] for name in trainable]), list(trainable.values()))

    def to_tensor(self, array):
        import keras

        return keras.ops.convert_to_tensor(array)

    def to_tensors(self, arrays):
        return {name: self.to_tensor(array) for name, array in arrays.items()}

    def to_numpy(self, tensor):
        import keras

        return np.array(keras.ops.convert_to_numpy(tensor))

    def _call(self, job):
        result = Result()
        expression = Expression(job.subject, _CALLED, self.resolve_api)
        with self.no_gradients():
            tensors = expression.tensors(job.inputs, self.operand(job.option("dtype")))
            outputs = [self.to_numpy(output) for output in _flat(expression(tensors))]
        result.outputs = outputs_of(job, outputs)
        return result

    def operand(self, dtype):
        """Return what makes tensors of arrays, in this precision where it is one."""
        import keras

        def convert(array, perm=None):
            if isinstance(array, np.ndarray) and array.dtype.kind == "O":  # strings, of which few have tensors
                return array
            tensor = self.to_tensor(plain(array))
            if dtype and keras.backend.is_float_dtype(keras.backend.standardize_dtype(tensor.dtype)):
                tensor = keras.ops.cast(tensor, dtype)
            return keras.ops.transpose(tensor, perm) if perm else tensor

        return convert

    def list_apis(self):
        from ...apis.keras_apis import list_apis

        return list_apis()

    def list_samples(self, options):
        from ...apis.keras_samples import list_samples

        return list_samples(options)

    def resolve_api(self, name):
        import keras

        found = keras
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        if name.startswith("keras.metrics.") and isinstance(found, type):
            return in_batches(found)
        if name.startswith("keras.losses.") and isinstance(found, type):
            return weighed(found)
        return constructed(found) if name.startswith("keras.layers.") else found

    def import_model(self, path, trust):
        program = programs.load(path, trust)
        weights = {"weights:" + name: self.to_numpy(v) for name, v in program.weights().items()}
        return programs.describe(program), weights, []

    def export_model(self, path, form, trust):
        from .to_onnx import export_onnx

        self._require_export(form)
        program = programs.load(path, trust)
        with self.exporting():
            model, steps, layers = export_onnx(program, self.unoptimized_export)
        files = {"model": np.frombuffer(model, np.uint8), "steps": np.frombuffer(steps, np.uint8)}
        return Export(self.EXPORTER, files, layers, len(program.steps))

    def export_case(self, job, form):
        from .to_onnx import export_as_users

        self._require_export(form)
        program = self.program(job)
        with self.exporting():
            model = export_as_users(program).model.SerializeToString()
        return Export(self.EXPORTER, {"model": np.frombuffer(model, np.uint8)}, {}, len(program.steps))

    def _require_export(self, form):
        if form != "onnx":
            raise Unsupported("Keras models are exported to onnx, not {}".format(form))
        if not self.EXPORTER:
            raise Unsupported("Keras on {} does not export to ONNX here".format(self.flavour))

    def exporting(self):
        """Return a context in which the exporter is there, and silent."""
        return _nothing()

    def unoptimized_export(self):
        """Return a context in which Keras' export to ONNX does not optimize the file."""
        raise NotImplementedError(type(self).__name__ + ".unoptimized_export")

    def make_model(self, recipe):
        """Make a model of ``keras.applications``, or by a user's function; return its file's bytes and notes."""
        from ...factories import make_from_factory
        from .applications import make_application

        if recipe["kind"] == "factory":
            return make_from_factory(recipe)
        model, note = make_application(self, recipe)
        with open(_save(model), "rb") as file:
            return np.frombuffer(file.read(), np.uint8), [note]

    def no_gradients(self):
        """Return a context in which the backend records no gradients."""
        return _nothing()

    def train(self, job, training):
        """Fit the graph with ``Model.fit``, from the weights given; ``momentum`` is that of moving statistics."""
        import keras

        program = self.program(job)
        for layer in program.layers.values():
            if hasattr(layer, "moving_mean"):
                layer.momentum = training["momentum"]
        self.set_seed(job.seed)
        set_seeds(program, job.seed)
        optimizer, loss = training["optimizer"], training["loss"]
        program.model.compile(
            optimizer=keras.optimizers.get({"class_name": optimizer["name"], "config": optimizer["params"]}),
            loss=keras.losses.get({"class_name": loss["name"], "config": loss["params"]}),
            metrics=training.get("metrics", []),
        )
        inputs = [plain(job.inputs[name]) for name, _ in program.inputs]
        labels = [job.labels[name] for name, _ in program.outputs]
        history = program.model.fit(
            inputs[0] if len(inputs) == 1 else inputs,
            labels[0] if len(labels) == 1 else labels,
            batch_size=training["batch_size"],
            epochs=training["epochs"],
            shuffle=True,
            verbose=0,
        )
        self._programs = []
        weights = {"weights:" + name: self.to_numpy(v) for name, v in program.weights().items()}
        return weights, {name: [float(v) for v in values] for name, values in history.history.items()}


#: Where the names of calls begin.
_CALLED = ("keras.ops.", "keras.metrics.", "keras.activations.", "keras.layers.", "keras.losses.", "keras.utils.")


@contextlib.contextmanager
def _nothing():
    yield


def _batch(array, step, steps):
    size = len(array) // steps
    return plain(array)[step * size : (step + 1) * size]


def replay_inputs(inputs, key):
    """Return the arrays ``key/0``, ``key/1``, ... in order."""
    arrays = []
    while "{}/{}".format(key, len(arrays)) in inputs:
        arrays.append(inputs["{}/{}".format(key, len(arrays))])
    return arrays


def is_float(dtype):
    return "float" in str(dtype)


def _program_key(job):
    subject = job.subject
    variant = (job.option("dtype"), bool(job.option("reload")), job.option("variant"))
    if subject["kind"] == "model-file":
        return ("file", subject["sha256"], variant)
    return ("graph", repr(sorted(subject.items(), key=lambda item: item[0])), variant, _static_batch(job))


def _static_batch(job):
    """Return the size of a batch where a layer has to know it: a stateful one keeps a state per row."""
    if job.subject["kind"] != "layer-graph" or not programs.is_stateful(job.subject):
        return None
    return job.option("batch_size") or min(len(array) for array in job.inputs.values())


def _flat(value):
    if isinstance(value, dict):
        return [item for key in value for item in _flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    return [value]


def _save(model):
    path = os.path.join(tempfile.mkdtemp(), "model.keras")
    model.save(path)
    return path
