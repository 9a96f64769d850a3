"""Keras on JAX: one jit per model; node gradients with respect to zeros added to each node's output."""

from ...contract import Unsupported, import_library
from ...memory import give_back, resident_bytes
from .base import KerasAdapter, is_float
from .program import keep_mask, no_random_initializers, output_key, unwatched
from .recipes import make_optimizer, scaled


class _OtherShape(Exception):
    """A node's output is not of the shape or dtype that Keras said it would be."""


#: A network that is run once costs more to optimize than to run. XLA's fusion emitters go through MLIR and take four
#: times as long as those before them; and parts to be compiled in parallel are worth it on many cores only.
_QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}


#: Bytes, of which the library itself takes half a gigabyte; and jobs from one clearing to the next, which costs time.
_MOST_MEMORY = 3 << 29
_LEAST_BETWEEN = 64


def _symbolic_offsets(program, batch):
    """Return zeros for every node's output that Keras says is of floats, without asking the library to trace."""
    import ml_dtypes  # noqa: F401 (gives NumPy the names of the narrow dtypes)
    import numpy as np

    offsets = {}
    for step in program.steps:
        for index, tensor in enumerate(step.node.outputs):
            sizes = tuple(tensor.shape)
            if not is_float(tensor.dtype):
                continue
            if None in sizes[1:]:
                raise _OtherShape(step.key)
            shape = tuple(batch if size is None else size for size in sizes)
            offsets[output_key(step.key, index)] = np.zeros(shape, np.dtype(tensor.dtype))
    return offsets


class JaxAdapter(KerasAdapter):
    LIBRARIES = ("keras", "jax", "jaxlib")
    #: How networks are compiled; None is the way users get.
    _compiler_options = None
    _since_forgetting = 0

    def import_backend(self):
        import_library("jax", least=(0, 4))

    def build(self):
        import jax

        return {"backend": jax.default_backend(), "x64": bool(jax.config.jax_enable_x64)}

    def run(self, job):
        import jax

        self._forget()
        self._compiler_options = _QUICK if job.option("mode") == "eager" else None
        if job.option("dtype") != "float64" or jax.config.jax_enable_x64:
            return KerasAdapter.run(self, job)
        switch = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
        with switch(True):
            return KerasAdapter.run(self, job)

    def _forget(self):
        """Give back what JAX keeps of all networks that it compiled, once that is much: hardly any comes again."""
        import jax

        self._since_forgetting += 1
        if self._since_forgetting > _LEAST_BETWEEN and resident_bytes() > _MOST_MEMORY:
            self._programs = []
            jax.clear_caches()
            give_back()
            self._since_forgetting = 0

    def program(self, job):
        program = KerasAdapter.program(self, job)
        if (job.goal != "forward" or job.option("trace")) and not program.can_be_compiled():
            raise Unsupported(
                "a layer is documented not to be compiled but on TensorFlow; predict alone runs it on JAX"
            )
        return program

    def _state(self, program):
        return {name: variable.value for name, variable in program.weights().items()}

    def _stateless(self, program, state, compute):
        """Run ``compute`` with the weights taken from ``state``; return its value and the weights after it."""
        import keras

        variables = program.weights()
        mapping = [(variables[name], value) for name, value in state.items()]
        with keras.StatelessScope(state_mapping=mapping, collect_losses=True) as scope:
            value = compute()
        after = {name: scope.get_current_value(variable) for name, variable in variables.items()}
        return value, {name: state[name] if value is None else value for name, value in after.items()}

    def caller(self, program):
        """Compile the model once, as a function of one vector of weights: an array is dear to hand over."""
        import jax
        import numpy as np

        state = self._state(program)

        def compile_for(names):
            shapes = [tuple(state[name].shape) for name in names]
            ends = np.cumsum([int(np.prod(shape, dtype=np.int64)) for shape in shapes]).tolist()
            places = [slice(start, end) for start, end in zip([0] + ends, ends)]

            def compute(vector, rest, tensors):
                own = {name: vector[place].reshape(shape) for name, place, shape in zip(names, places, shapes)}
                run = lambda: program.run(tensors, False, unwatched)  # noqa: E731
                return self._stateless(program, dict(rest, **own), run)[0]

            return jax.jit(compute)

        def call(group, inputs):
            (weights,) = group
            names = tuple(weights)
            kept = program.__dict__.setdefault("compiled", {})
            if names not in kept:
                kept[names] = compile_for(names)
            rest = {name: value for name, value in state.items() if name not in weights}
            outputs = kept[names](weights.vector, rest, dict(inputs))
            return {name: self.to_numpy(tensor) for name, tensor in outputs.items()}

        return call

    def _trace(self, program, inputs, training, result):
        import jax

        def compute(state, tensors):
            nodes = {}

            def watch(key, tensor):
                nodes[key] = tensor
                return tensor

            outputs, _ = self._stateless(program, state, lambda: program.run(tensors, training, watch, self._at))
            return outputs, nodes

        compiled = jax.jit(compute, compiler_options=self._compiler_options)
        outputs, nodes = compiled(self._state(program), self.to_tensors(inputs))
        result.outputs = {name: self.to_numpy(tensor) for name, tensor in outputs.items()}
        result.nodes = {key: self.to_numpy(tensor) for key, tensor in nodes.items()}

    def _replay(self, program, inputs, job):
        """All nodes of a replay in one compilation: their inputs are apart, so nothing can fuse across them."""
        import jax

        from ...contract import Result
        from .base import replay_inputs
        from .program import plain

        training = bool(job.option("training"))
        keys = list(job.option("nodes", ()))
        arrays = {key: [self.to_tensor(array) for array in replay_inputs(inputs, key)] for key in keys}
        cotangents = {key: self.to_tensor(plain(array)) for key, array in job.cotangents.items()}

        def one(key, state, tensors):
            return self._stateless(program, state, lambda: program.replay(key, tensors, training))[0]

        def compute(state, arrays, cotangents):
            outputs, grads = {}, {}
            for key in keys:
                self.current_node = key
                if key in cotangents:
                    outputs[key], grads[key] = self._pull_back(program, key, one, state, arrays[key], cotangents[key])
                else:
                    outputs[key] = one(key, state, arrays[key])
            return outputs, grads

        outputs, grads = jax.jit(compute, compiler_options=self._compiler_options)(
            self._state(program), arrays, cotangents
        )
        result = Result()
        for key, tensors in outputs.items():
            for index, tensor in enumerate(tensors):
                result.nodes[output_key(key, index)] = self.to_numpy(tensor)
        for named in grads.values():
            for name, gradient in named.items():
                result.gradients[name] = self.to_numpy(gradient)
        return result

    def _pull_back(self, program, key, one, state, tensors, cotangent):
        import jax

        layer = program.by_key[key].layer_name
        names = [name for name in program.trainable() if name.startswith(layer + "/")]
        floats = [index for index, tensor in enumerate(tensors) if is_float(tensor.dtype)]

        def compute(weights, moved):
            given = list(tensors)
            for index, tensor in zip(floats, moved):
                given[index] = tensor
            outputs = one(key, dict(state, **weights), given)
            return outputs[0], outputs

        _, pull, outputs = jax.vjp(
            compute, {name: state[name] for name in names}, [tensors[i] for i in floats], has_aux=True
        )
        weights, moved = pull(cotangent.astype(outputs[0].dtype))  # Keras may give another dtype elsewhere
        found = {"weight:" + name: gradient for name, gradient in weights.items()}
        for index, gradient in zip(floats, moved):
            found["input:{}/{}".format(key, index)] = gradient
        return outputs, found

    def differentiate(self, program, inputs, labels, loss, training, result):
        tensors = self.to_tensors(inputs)
        labels = self.to_tensors(labels)
        try:
            offsets = _symbolic_offsets(program, len(next(iter(inputs.values()))))
            return self._differentiate(program, tensors, labels, loss, training, offsets, result)
        except _OtherShape:  # the symbolic shape is not the real one: ask for it, which costs another tracing
            offsets = self._real_offsets(program, tensors, training)
            return self._differentiate(program, tensors, labels, loss, training, offsets, result)

    def _run_offset(self, program, state, tensors, training, offsets, nodes, penalties):
        """Run with ``offsets`` added to the nodes' outputs; collect those, and what is added to the loss."""

        def watch(key, tensor):
            offset = offsets.get(key) if offsets is not None else None
            if offset is not None:
                if offset.shape != tensor.shape or offset.dtype != tensor.dtype:
                    raise _OtherShape(key)
                tensor = keep_mask(tensor, tensor + offset)
            elif offsets is not None and is_float(tensor.dtype):
                raise _OtherShape(key)
            nodes[key] = tensor
            return tensor

        return self._stateless(program, state, lambda: program.run(tensors, training, watch, self._at, penalties))

    def _real_offsets(self, program, tensors, training):
        import jax
        import numpy as np

        def shapes(state, tensors):
            nodes = {}
            self._run_offset(program, state, tensors, training, None, nodes, [])
            return nodes

        specs = jax.eval_shape(shapes, self._state(program), tensors)
        return {key: np.zeros(s.shape, s.dtype) for key, s in specs.items() if is_float(s.dtype)}

    def _differentiate(self, program, tensors, labels, loss, training, offsets, result):
        import jax

        state = self._state(program)
        moved = {name: tensor for name, tensor in tensors.items() if is_float(tensor.dtype)}
        weights = {name: state[name] for name in program.trainable()}
        rest = {name: value for name, value in state.items() if name not in weights}

        def compute(offsets, weights, moved, rest, tensors, labels):
            nodes, penalties = {}, []
            given, state = dict(tensors, **moved), dict(rest, **weights)
            outputs, after = self._run_offset(program, state, given, training, offsets, nodes, penalties)
            self._come_to("loss")
            value = loss(labels, outputs, penalties)
            self._come_to("backward")  # what is traced behind this is the way back
            return value, (outputs, nodes, {name: after[name] for name in rest})

        value_and_grad = jax.value_and_grad(compute, argnums=(0, 1, 2), has_aux=True)
        compiled = jax.jit(value_and_grad, compiler_options=self._compiler_options)
        (value, (outputs, nodes, after)), grads = compiled(offsets, weights, moved, rest, tensors, labels)
        for name, variable in program.weights().items():
            if name in rest:
                variable.assign(after[name])  # what training=True changed: moving statistics
        result.loss = float(value)
        result.outputs = {name: self.to_numpy(tensor) for name, tensor in outputs.items()}
        result.nodes = {key: self.to_numpy(tensor) for key, tensor in nodes.items()}
        self._collect(program, grads, labels, result)
        return grads[1]

    def update(self, program, recipe, grads):
        """One step in one compilation: taken operation by operation, each of them would be compiled alone."""
        import jax

        with no_random_initializers():
            optimizer = make_optimizer(recipe)
            trainable = {name: v for name, v in program.trainable().items() if grads.get(name) is not None}
            optimizer.build(list(trainable.values()))
        step = jax.jit(optimizer.stateless_apply, compiler_options=self._compiler_options)
        slots = [variable.value for variable in optimizer.variables]
        weights = [variable.value for variable in trainable.values()]
        after, _ = step(slots, scaled(optimizer, [grads[name] for name in trainable]), weights)
        for variable, value in zip(trainable.values(), after):
            variable.assign(value)

    def _collect(self, program, grads, labels, result):
        """Name the gradients; JAX gives zeros where nothing is connected, so ask the graph which are."""
        reached = program.reaches_loss(labels)
        connected = set()
        for step in program.steps:
            for index, identity in enumerate(step.results):
                if identity in reached:
                    connected.add(output_key(step.key, index))
        live_layers = set(
            step.layer_name for step in program.steps if reached.intersection(step.results) or step.penalizes()
        )
        penalized = set(name for name, variable in program.trainable().items() if variable.regularizer is not None)
        live_inputs = set(name for name, tensor in program.inputs if tensor in reached)
        for key, gradient in grads[0].items():
            if key in connected:
                result.gradients["node:" + key] = self.to_numpy(gradient)
        for name, gradient in grads[1].items():
            if name.split("/")[0] in live_layers or name in penalized:
                result.gradients["weight:" + name] = self.to_numpy(gradient)
        for name, gradient in grads[2].items():
            if name in live_inputs:
                result.gradients["input:" + name] = self.to_numpy(gradient)
