"""Keras on JAX: one jit per model; node gradients with respect to zeros added to each node's output."""

from ...contract import Unsupported, import_library
from .base import KerasAdapter, is_float
from .program import output_key


class JaxAdapter(KerasAdapter):
    LIBRARIES = ("keras", "jax", "jaxlib")

    def import_backend(self):
        import_library("jax", least=(0, 4))

    def build(self):
        import jax

        return {"backend": jax.default_backend(), "x64": bool(jax.config.jax_enable_x64)}

    def run(self, job):
        import jax

        if job.option("dtype") == "float64" and not jax.config.jax_enable_x64:
            raise Unsupported("JAX computes in float64 only with JAX_ENABLE_X64=1")
        return KerasAdapter.run(self, job)

    def _state(self, program):
        return {name: variable.value for name, variable in program.weights().items()}

    def _stateless(self, program, state, compute):
        """Run ``compute`` with the weights taken from ``state``; return its value and the weights after it."""
        import keras

        variables = program.weights()
        mapping = [(variables[name], value) for name, value in state.items()]
        with keras.StatelessScope(state_mapping=mapping) as scope:
            value = compute()
        after = {name: scope.get_current_value(variable) for name, variable in variables.items()}
        return value, {name: state[name] if value is None else value for name, value in after.items()}

    def _trace(self, program, inputs, training, result):
        import jax

        def compute(state, tensors):
            nodes = {}

            def watch(key, tensor):
                nodes[key] = tensor
                return tensor

            outputs, _ = self._stateless(program, state, lambda: program.run(tensors, training, watch, self._at))
            return outputs, nodes

        outputs, nodes = jax.jit(compute)(self._state(program), self.to_tensors(inputs))
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

        outputs, grads = jax.jit(compute)(self._state(program), arrays, cotangents)
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
        weights, moved = pull(cotangent)
        found = {"weight:" + name: gradient for name, gradient in weights.items()}
        for index, gradient in zip(floats, moved):
            found["input:{}/{}".format(key, index)] = gradient
        return outputs, found

    def differentiate(self, program, inputs, labels, loss, training, result):
        import jax

        names = list(program.trainable())
        tensors = self.to_tensors(inputs)
        moved = {name: tensor for name, tensor in tensors.items() if is_float(tensor.dtype)}
        labels = self.to_tensors(labels)

        def run(state, tensors, offsets, nodes):
            def watch(key, tensor):
                if offsets is not None and key in offsets:
                    tensor = tensor + offsets[key]
                nodes[key] = tensor
                return tensor

            return self._stateless(program, state, lambda: program.run(tensors, training, watch, self._at))

        def shapes(state, tensors):
            nodes = {}
            run(state, tensors, None, nodes)
            return nodes

        state = self._state(program)
        specs = jax.eval_shape(shapes, state, tensors)
        offsets = {key: jax.numpy.zeros(s.shape, s.dtype) for key, s in specs.items() if is_float(s.dtype)}

        def compute(offsets, weights, moved):
            nodes = {}
            outputs, after = run(dict(state, **weights), dict(tensors, **moved), offsets, nodes)
            return loss(labels, outputs), (outputs, nodes, after)

        weights = {name: state[name] for name in names}
        value_and_grad = jax.jit(jax.value_and_grad(compute, argnums=(0, 1, 2), has_aux=True))
        (value, (outputs, nodes, after)), grads = value_and_grad(offsets, weights, moved)
        for name, variable in program.weights().items():
            if name not in weights:
                variable.assign(after[name])  # what training=True changed: moving statistics
        result.loss = float(value)
        result.outputs = {name: self.to_numpy(tensor) for name, tensor in outputs.items()}
        result.nodes = {key: self.to_numpy(tensor) for key, tensor in nodes.items()}
        self._collect(program, grads, labels, result)
        return grads[1]

    def _collect(self, program, grads, labels, result):
        """Name the gradients; JAX gives zeros where nothing is connected, so ask the graph which are."""
        reached = program.reaches_output(labels)
        connected = set()
        for step in program.steps:
            for index, identity in enumerate(step.results):
                if identity in reached:
                    connected.add(output_key(step.key, index))
        live_layers = set(step.layer_name for step in program.steps if reached.intersection(step.results))
        live_inputs = set(name for name, tensor in program.inputs if tensor in reached)
        for key, gradient in grads[0].items():
            if key in connected:
                result.gradients["node:" + key] = self.to_numpy(gradient)
        for name, gradient in grads[1].items():
            if name.split("/")[0] in live_layers:
                result.gradients["weight:" + name] = self.to_numpy(gradient)
        for name, gradient in grads[2].items():
            if name in live_inputs:
                result.gradients["input:" + name] = self.to_numpy(gradient)
